"""What helps a person who plays: hints, notes, the score, the transcript as a file."""

from __future__ import annotations

from engine.errors import JitrlError
from jitrl_tui import steer_texts
from jitrl_tui.hints import Hints
from jitrl_tui.screens.run_dialogs import ExportDialog, NotesDialog
from jitrl_tui.screens.shown_run import ShownRun, Surface
from jitrl_tui.transcript_files import export_as
from jitrl_tui.view import points


class PlayHelp:
    """Answers a person who plays.

    Args:
        run: The run.
        screen: Its screen.
    """

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        self._run, self._screen = run, screen
        self._hints = Hints()

    def all_actions(self) -> None:
        """Tell what can be done."""
        choice = self._run.view.choice
        self._screen.notify(steer_texts.all_actions(choice.decision) if choice is not None else "None is known.")

    def score(self) -> None:
        """Tell the score."""
        view = self._run.view
        score = points(view.seen.score) if view.seen is not None else "0"
        top = f" of {points(view.max_score)}" if view.max_score else ""
        self._screen.notify(f"Score {score}{top}, step {view.step}, episode {view.episode}.")

    def hint(self) -> None:
        """Show a hint at the best-known action: its first word; again: all of it."""
        view = self._run.view
        if self._run.source.live:
            self._screen.notify(self._hints.next(view.choice, view.pending), title="hint", timeout=8)
        else:
            self._screen.notify("This is a recording: → shows what was done next.", severity="warning")

    def notes(self, text: str | None = "") -> None:
        """Keep a note; without a text, show the notes of the session, and take a new one."""
        files, view = self._run.files, self._run.view
        if files is None:
            self._screen.notify("There is no place for notes here.", severity="warning")
        elif text == "":
            self._screen.app.push_screen(NotesDialog(files.notes.all(), self._run.source.live), self.notes)
        elif text is not None:
            try:
                files.notes.add(text, view.episode, view.step)
            except JitrlError as error:
                self._screen.notify(str(error), severity="error")
            else:
                self._screen.notify("Noted. N shows the notes.", timeout=3)

    def export(self, name: str | None = "") -> None:
        """Write the transcript to a file; ask for one if none is named."""
        files = self._run.files
        if files is None:
            self._screen.notify("There is nothing on disk to write a transcript from.", severity="warning")
        elif name == "":
            recording = files.recording
            stem = recording.name if recording.is_dir() else recording.parent.name
            self._screen.app.push_screen(ExportDialog(stem or "transcript"), self.export)
        elif name is not None:
            try:
                target = export_as(files.recording, name)
            except JitrlError as error:
                self._screen.notify(str(error), severity="error")
            else:
                self._screen.notify(f"Wrote {target}.", timeout=5)

"""What helps a person who plays: hints, notes, the map, the transcript as a file, and the commands with a slash."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import JitrlError
from jitrl_tui import steer_texts
from jitrl_tui.hints import Hints
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.run_actions import KeepingScreen
from jitrl_tui.screens.run_dialogs import ExportDialog, NotesDialog
from jitrl_tui.session_files import SessionFiles
from jitrl_tui.transcript_files import export_as
from jitrl_tui.view import points

if TYPE_CHECKING:
    from jitrl_tui.source import Source


class PlayingScreen(KeepingScreen):
    """A screen for one run, with hints, notes and transcripts.

    Attributes:
        files: What lies beside the session on disk, None if there is none.
    """

    files: SessionFiles | None = None
    _hints: Hints | None = None

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._ours: dict[str, bool] = {}
        """By word that is typed for the game and that is a command of ours, too: whether it is for us."""

    def one_of_ours(self, word: str, send: Callable[[], None]) -> None:
        """Run the command with this name, or send the word to the game. The first time, ask which; Esc does neither."""

        def answered(ours: bool | None) -> None:
            if ours is None:
                return
            self._ours[word] = ours
            self.command(word) if ours else send()

        if word in self._ours:
            answered(self._ours[word])
            return
        text = f"'{word}' could be for the game, or mean jitrl's own /{word}. The answer holds for this session."
        no = ("s", "send it to the game")
        self.app.push_screen(dialogs.ConfirmDialog(word, text, f"/{word}", no=no, esc="neither"), answered)

    def action_all_actions(self) -> None:
        """Tell what can be done."""
        decision = self.view.choice.decision if self.view.choice is not None else None
        self.notify(steer_texts.all_actions(decision) if decision is not None else "None is known.")

    def action_score(self) -> None:
        """Tell the score."""
        seen, most = self.view.seen, self.view.max_score
        score = points(seen.score) if seen is not None else "0"
        top = f" of {points(most)}" if most else ""
        self.notify(f"Score {score}{top}, step {self.view.step}, episode {self.view.episode}.")

    # ------------------------------------------------------------------------------------------ hints

    def action_hint(self) -> None:
        """Show a hint at the best-known action: its first word; again: all of it."""
        if not self.source.live:
            self.notify("This is a recording: → shows what was done next.", severity="warning")
            return
        self._hints = self._hints or Hints()
        self.notify(self._hints.next(self.view.choice, self.view.pending), title="hint", timeout=8)

    # ------------------------------------------------------------------------------------------ notes

    def action_notes(self) -> None:
        """Show the notes of the session, and take a new one."""
        if self.files is None:
            self.notify("There is no place for notes here.", severity="warning")
        else:
            self.app.push_screen(NotesDialog(self.files.notes.all(), self.source.live), self.keep_note_typed)

    def keep_note_typed(self, text: str | None) -> None:
        """Keep a note."""
        if text is None or self.files is None:
            return
        try:
            self.files.notes.add(text, self.view.episode, self.view.step)
        except JitrlError as error:
            self.notify(str(error), severity="error")
        else:
            self.notify("Noted. N shows the notes.", timeout=3)

    # ------------------------------------------------------------------------------------- transcript

    def action_export(self) -> None:
        """Ask for a file, and write the transcript to it."""
        if self.files is None:
            self.notify("There is nothing on disk to write a transcript from.", severity="warning")
        else:
            recording = self.files.recording
            stem = recording.name if recording.is_dir() else recording.parent.name
            self.app.push_screen(ExportDialog(stem or "transcript"), self.export_typed)

    def export_typed(self, name: str | None) -> None:
        """Write the transcript to a file."""
        if name is None or self.files is None:
            return
        try:
            target = export_as(self.files.recording, name)
        except JitrlError as error:
            self.notify(str(error), severity="error")
        else:
            self.notify(f"Wrote {target}.", timeout=5)

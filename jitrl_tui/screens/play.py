"""What a person who plays types, and is told: hints, notes, the score, the transcript as a file."""

from __future__ import annotations

from collections.abc import Callable

from engine.errors import JitrlError
from jitrl_tui import command_table
from jitrl_tui.command_table import Commands, do
from jitrl_tui.runs import steer_texts
from jitrl_tui.runs.hits import Hints
from jitrl_tui.runs.session_files import export_as
from jitrl_tui.runs.view import meant, points
from jitrl_tui.screens.dialogs import ConfirmDialog
from jitrl_tui.screens.run_dialogs import NotesDialog, export_dialog
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface


class PlayHelp(Service):
    """Answers a person who plays."""

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        super().__init__(run, screen)
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
            self._warn("This is a recording: → shows what was done next.")

    def notes(self, text: str | None = "") -> None:
        """Keep a note; without a text, show the notes of the session, and take a new one."""
        files, view = self._run.files, self._run.view
        if files is None:
            self._warn("There is no place for notes here.")
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
            self._warn("There is nothing on disk to write a transcript from.")
        elif name == "":
            recording = files.recording
            stem = recording.name if recording.is_dir() else recording.parent.name
            self._screen.app.push_screen(export_dialog(stem or "transcript"), self.export)
        elif name is not None:
            try:
                target = export_as(files.recording, name)
            except JitrlError as error:
                self._screen.notify(str(error), severity="error")
            else:
                self._screen.notify(f"Wrote {target}.", timeout=5)


class TypedCommands(Service):
    """Sends what is typed to the game, or does it.

    Args:
        run: The run.
        screen: Its screen.
        commands: What the screen can do.
    """

    def __init__(self, run: ShownRun, screen: Surface, commands: Commands) -> None:
        super().__init__(run, screen)
        self._commands = commands
        self._ours: dict[str, bool] = {}
        """By word that is typed for the game and that is a command of ours, too: whether it is for us."""

    def take(self, text: str) -> None:
        """Take a line; an empty one is the agent's action."""
        run = self._run
        if text.startswith("/"):
            self._do(text[1:])
        elif run.over:
            self._warn("The session is over; q leaves.")
        elif (word := text.casefold()) in command_table.OURS:
            self._ask_whose(word, lambda: run.source.overrule(0, text))
        elif text:
            run.source.overrule(0, meant(text, run.view, run.pages))
        else:
            run.source.step_once()

    def _do(self, text: str) -> None:
        """Run a command, given without its slash."""
        word, _, rest = text.partition(" ")
        one = command_table.command(word)
        if one is not None and one.action:
            do(self._commands, one.action, *filter(None, [one.takes and rest.strip()]))
        else:
            self._warn(f"There is no command /{word}; /help lists them.")

    def _ask_whose(self, word: str, send: Callable[[], object]) -> None:
        """Run the command with this name, or send the word to the game. The first time, ask which; Esc does neither."""

        def answered(ours: bool | None) -> None:
            if ours is not None:
                self._ours[word] = ours
                self._do(word) if ours else send()

        if word in self._ours:
            answered(self._ours[word])
            return
        text = f"'{word}' could be for the game, or mean jitrl's own /{word}. The answer holds for this session."
        no = ("s", "send it to the game")
        self._screen.app.push_screen(ConfirmDialog(word, text, f"/{word}", no=no, esc="neither"), answered)

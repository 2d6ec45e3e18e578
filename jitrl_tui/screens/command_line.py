"""What a person types into the command line: an action for the game, or one of our commands."""

from __future__ import annotations

from collections.abc import Callable

from jitrl_tui import slash_commands
from jitrl_tui.keymap import Commands, do
from jitrl_tui.screens.dialogs import ConfirmDialog
from jitrl_tui.screens.shown_run import ShownRun, Surface
from jitrl_tui.view import meant


class TypedCommands:
    """Sends what is typed to the game, or does it.

    Args:
        run: The run.
        screen: Its screen.
        commands: What the screen can do.
    """

    def __init__(self, run: ShownRun, screen: Surface, commands: Commands) -> None:
        self._run, self._screen, self._commands = run, screen, commands
        self._ours: dict[str, bool] = {}
        """By word that is typed for the game and that is a command of ours, too: whether it is for us."""

    def take(self, text: str) -> None:
        """Take a line; an empty one is the agent's action."""
        run = self._run
        if text.startswith("/"):
            self._do(text[1:])
        elif run.over:
            self._screen.notify("The session is over; q leaves.", severity="warning")
        elif (word := text.casefold()) in slash_commands.OURS:
            self._ask_whose(word, lambda: run.source.overrule(0, text))
        elif text:
            run.source.overrule(0, meant(text, run.view, run.pages))
        else:
            run.source.step_once()

    def _do(self, text: str) -> None:
        """Run a command, given without its slash."""
        word, _, rest = text.partition(" ")
        one = slash_commands.command(word)
        if one is not None and one.action:
            do(self._commands, one.action, *filter(None, [one.takes and rest.strip()]))
        else:
            self._screen.notify(f"There is no command /{word}; /help lists them.", severity="warning")

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

"""The command line for a person who plays."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.binding import Binding
from textual.message import Message
from textual.suggester import SuggestFromList

from engine.records import Decision
from jitrl_tui import command_table
from jitrl_tui.runs.session_files import TypedHistory
from jitrl_tui.system.output import clean, one_line
from jitrl_tui.widgets.options import Entry


class CommandLine(Entry):
    """An input with history and completion of valid actions."""

    BINDINGS: ClassVar = [
        Binding("up", "older", show=False),
        Binding("down", "newer", show=False),
        Binding("tab", "complete(1)", show=False),
        Binding("shift+tab", "complete(-1)", show=False),
    ]

    class Given(Message):
        """A command was entered; "" for the agent's own choice."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    def __init__(self, id: str, history: TypedHistory | None = None) -> None:
        super().__init__(id=id, placeholder="your command")
        self._history = history or TypedHistory()
        self._at = len(self._history.lines)
        self._draft = ""
        self.private = False
        """What is typed is not written to the file of the history: on the web it may be a password."""
        self._decision: Decision | None = None
        self._completions: list[str] = []

    def suggest_actions(self, decision: Decision) -> None:
        """Suggest the valid actions, and say that a command is awaited. What the agent would do is not told."""
        if decision is not self._decision:
            self._decision = decision
            self.suggester = SuggestFromList(decision.possible, case_sensitive=False)
        self.placeholder = "your command (empty: the agent takes this step; /hint gives a hint)"

    async def action_submit(self) -> None:
        """Send the command and add it to the history, before keys that were typed at once after Enter are taken."""
        text = clean(self.value).strip()
        self._history.add(text, keep=not self.private)
        self._at = len(self._history.lines)
        self.value = self._draft = ""
        self.post_message(self.Given(text))

    async def on_paste(self, event: events.Paste) -> None:
        """Enter pasted lines one after the other; what stands after the last line end waits for Enter."""
        event.stop()
        event.prevent_default()
        for line in event.text.splitlines(keepends=True):
            self.replace(line.splitlines()[0], *self.selection)
            if line.splitlines()[0] != line and self.value.strip():  # An empty line is no command here.
                await self.action_submit()

    def action_complete(self, by: int) -> None:
        """Complete what is typed to a valid action, one of our commands or an earlier line; again for the next one.

        Args:
            by: 1 for the next completion, -1 for the one before.
        """
        if self.value in self._completions:
            at = self._completions.index(self.value) + by
        else:
            valid = self._decision.possible if self._decision is not None else ()
            known = dict.fromkeys([*map(one_line, valid), *command_table.words(), *reversed(self._history.lines)])
            given = self.value.casefold()
            self._completions = [line for line in known if line.casefold().startswith(given)]
            at = 0 if by > 0 else -1
        if self._completions:
            self.value = self._completions[at % len(self._completions)]
            self.cursor_position = len(self.value)

    def action_older(self) -> None:
        """Show the previous command of the history."""
        self._go(-1)

    def action_newer(self) -> None:
        """Show the next command of the history."""
        self._go(1)

    def _go(self, by: int) -> None:
        lines = self._history.lines
        if self._at >= len(lines):
            self._draft = self.value
        self._at = min(max(self._at + by, 0), len(lines))
        self.value = lines[self._at] if self._at < len(lines) else self._draft
        self.cursor_position = len(self.value)

"""The command line for a person who plays."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding
from textual.message import Message
from textual.suggester import SuggestFromList

from engine.records import Decision
from jitrl_tui.output import clean, one_line
from jitrl_tui.widgets.entry import Entry


class CommandLine(Entry):
    """An input with history and completion of valid actions, which shows the agent's choice."""

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

    def __init__(self, id: str) -> None:
        super().__init__(id=id, placeholder="your command", select_on_focus=False)
        self.cursor_blink = False
        self._history: list[str] = []
        self._at = 0
        self._offered: Decision | None = None
        self._completions: list[str] = []

    def offer(self, decision: Decision) -> None:
        """Suggest the valid actions, and show the agent's choice."""
        if decision is not self._offered:
            self._offered = decision
            self.suggester = SuggestFromList(decision.valid_actions, case_sensitive=False)
            self.placeholder = f"your command (the agent would: {one_line(decision.action)})"

    async def action_submit(self) -> None:
        """Send the command and add it to the history, before keys that were typed at once after Enter are taken."""
        text = clean(self.value).strip()
        if text:
            self._history.append(text)
        self._at = len(self._history)
        self.value = ""
        self.post_message(self.Given(text))

    def action_complete(self, by: int) -> None:
        """Complete what is typed to a valid action or an earlier command; again for the next one (or with -1, back)."""
        if self.value in self._completions:
            at = self._completions.index(self.value) + by
        else:
            valid = self._offered.valid_actions if self._offered is not None else ()
            known = dict.fromkeys([*map(one_line, valid), *reversed(self._history)])
            typed = self.value.casefold()
            self._completions = [action for action in known if action.casefold().startswith(typed)]
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
        self._at = min(max(self._at + by, 0), len(self._history))
        self.value = self._history[self._at] if self._at < len(self._history) else ""
        self.cursor_position = len(self.value)

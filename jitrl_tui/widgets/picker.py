"""A choice among a few values in one line. The keys left and right change it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, MUTED, STRONG, wrap


class Picker(Widget, can_focus=True):
    """A labelled choice.

    Args:
        options: (value, meaning) pairs.
        label: Text before the value, "" for none.
    """

    BINDINGS: ClassVar = [
        Binding("left", "turn(-1)", show=False),
        Binding("right,space", "turn(1)", show=False),
    ]

    class Changed(Message):
        """Another value was chosen."""

    def __init__(self, id: str, options: list[tuple[str, str]], value: str = "", label: str = "") -> None:
        super().__init__(id=id, classes="field")
        self._options = options
        self._label = f"{label} " if label else ""
        values = [option[0] for option in options]
        self._at = values.index(value) if value in values else 0

    @property
    def value(self) -> str:
        """The chosen value."""
        return self._options[self._at][0]

    def render(self) -> Content:
        """Return the value between its arrows, with its meaning."""
        value, meaning = self._options[self._at]
        arrow = ACCENT if self.has_focus else MUTED
        picked = Content.assemble((self._label, MUTED), ("‹ ", arrow), (value, STRONG), (" ›", arrow))
        if self.size.height > 1:
            lines = wrap(meaning, max(1, self.size.width - 2))
            return Content("\n").join([picked, *(Content.styled(f"  {line}", MUTED) for line in lines)])
        return Content.assemble(picked, (f"  {meaning}", MUTED)).truncate(
            max(1, self.size.width), ellipsis=True
        )

    def action_turn(self, by: int) -> None:
        """Go to the next value."""
        self._at = (self._at + by) % len(self._options)
        self.post_message(self.Changed())
        self.refresh()

    def on_click(self) -> None:
        """Go to the next value."""
        self.action_turn(1)

    def on_focus(self) -> None:
        """Show that it has the focus."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that it has not the focus."""
        self.refresh()

"""Widgets to choose or type with: a list whose page keys never fail, a choice in a line, a field that keeps order."""

from __future__ import annotations

import contextlib
from typing import Any, ClassVar

from textual import events
from textual.binding import Binding
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Input, OptionList

from jitrl_tui.widgets.lines import ACCENT, MUTED, STRONG, wrap


class Options(OptionList):
    """A list of options. Page up and page down do nothing while it is empty or has no room.

    Textual's own list raises KeyError then, which ends the app.
    """

    def action_page_up(self) -> None:
        """Go up one page."""
        with contextlib.suppress(KeyError):
            super().action_page_up()  # type: ignore[no-untyped-call]  # Textual gives it no types

    def action_page_down(self) -> None:
        """Go down one page."""
        with contextlib.suppress(KeyError):
            super().action_page_down()  # type: ignore[no-untyped-call]  # Textual gives it no types


class Entry(Input):
    """A field whose keys take effect in the order in which they were typed. Its cursor does not blink.

    Textual runs the bindings of a widget after the key has passed the queues of all widgets above it. Letters that were
    typed soon after Backspace or Ctrl-U would be in the field by then, and would be deleted with the old text.

    Args:
        value: The text to begin with.
        select_on_focus: Whether all of the text is selected when the field gets the focus, so that typing replaces it.
        more: As for Textual's `Input`.
    """

    def __init__(self, value: str = "", *, select_on_focus: bool = False, **more: Any) -> None:
        super().__init__(value, select_on_focus=select_on_focus, **more)
        self.cursor_blink = False

    async def on_key(self, event: events.Key) -> None:
        """Run the binding of a key at once."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return


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

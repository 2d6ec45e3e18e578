"""A list of options whose page keys never fail, and an input that takes keys in the order in which they were typed."""

from __future__ import annotations

import contextlib
from typing import Any

from textual import events
from textual.widgets import Input, OptionList


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

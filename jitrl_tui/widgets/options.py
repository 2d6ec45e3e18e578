"""A list of options whose page keys never fail, and an input that takes keys in the order in which they were typed."""

from __future__ import annotations

import contextlib

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
    """An input whose editing keys take effect before the next key is read.

    Textual runs the bindings of a widget after the key has passed the queues of all widgets above it. Letters that came
    in the same burst as Ctrl-U would be in the input by then, and would be deleted with the old text.
    """

    async def on_key(self, event: events.Key) -> None:
        """Run the binding of a key at once."""
        for binding in self._bindings.key_to_bindings.get(event.key, ()):
            if await self.app.run_action(binding.action, self):
                event.stop()
                event.prevent_default()
                return

"""A list of options whose page keys never fail."""

from __future__ import annotations

import contextlib

from textual.widgets import OptionList


class Options(OptionList):
    """A list of options. Page up and page down do nothing while it is empty or has no room.

    Textual's own list raises KeyError then, which ends the app.
    """

    def action_page_up(self) -> None:
        """Go up one page."""
        with contextlib.suppress(KeyError):
            super().action_page_up()

    def action_page_down(self) -> None:
        """Go down one page."""
        with contextlib.suppress(KeyError):
            super().action_page_down()

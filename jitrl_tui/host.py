"""What screens and panes ask of the app around them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.app import App

from jitrl_tui.pictures.terminal import Graphics
from jitrl_tui.source import Source

if TYPE_CHECKING:
    from engine.session.store import SavedSession


class Host(App[int]):
    """An app that screens of ours can stand in.

    Attributes:
        graphics: How the terminal shows pictures.
        last_source: The run that was shown last, None before the first.
    """

    graphics: Graphics
    last_source: Source | None = None

    @property
    def has_home(self) -> bool:
        """Whether another game can be chosen from here."""
        raise NotImplementedError

    def go_home(self) -> None:
        """Show what can be played, in place of the present screen."""
        raise NotImplementedError

    def go_on_with(self, saved: SavedSession) -> None:
        """Show a session in place of the present screen."""
        raise NotImplementedError

    def leave_now(self) -> None:
        """Leave without waiting for anything."""
        raise NotImplementedError

    def next_theme(self) -> None:
        """Go to the next of our themes."""
        raise NotImplementedError

    def place_picture(self) -> None:
        """Bring the real picture of a page to where its pane is now."""
        raise NotImplementedError

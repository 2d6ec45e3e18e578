"""The interface of the app for its screens and panes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App

from jitrl_tui.palette import KeyCommands
from jitrl_tui.pictures.terminal import Graphics
from jitrl_tui.source import Source

if TYPE_CHECKING:
    from engine.session.store import SavedSession


class Host(App[int]):
    """The base class of apps with our screens.

    Attributes:
        graphics: The terminal's support for pictures.
        last_source: The source of the last shown run, None before the first.
    """

    COMMANDS: ClassVar = {KeyCommands}
    graphics: Graphics
    last_source: Source | None = None

    @property
    def has_home(self) -> bool:
        """Whether the home screen can be reached."""
        raise NotImplementedError

    def go_home(self) -> None:
        """Replace the present screen with the home screen."""
        raise NotImplementedError

    def go_on_with(self, saved: SavedSession, *, paused: bool = False) -> None:
        """Replace the present screen with that of a saved session; it waits at its first decision if it is `paused`."""
        raise NotImplementedError

    def hang_up(self) -> None:
        """End the app within seconds, because its terminal has closed."""
        raise NotImplementedError

    def leave_now(self) -> None:
        """Leave without waiting for anything."""
        raise NotImplementedError

    def action_theme(self) -> None:
        """Change to the next theme."""
        raise NotImplementedError

    def remember(self, key: str, value: object) -> None:
        """Keep a value for the next start, unless something sets it anyway.

        Args:
            key: Name of a setting with its section.
        """
        raise NotImplementedError

    def action_settings(self) -> None:
        """Show the settings."""
        raise NotImplementedError

    def replay(self, folder: Path, uid: str = "") -> None:
        """Show a recording over the present screen.

        Args:
            folder: The session's folder.
            uid: The episode to begin with, "" for the first one.
        """
        raise NotImplementedError

    def place_picture(self) -> None:
        """Put the real picture of a page over its pane."""
        raise NotImplementedError

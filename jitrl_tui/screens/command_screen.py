"""A screen that does what its part of the command table says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.help import page
from jitrl_tui.host import Host
from jitrl_tui.screens import help


class CommandScreen(Screen[int]):
    """A screen with keys of the command table.

    Attributes:
        screen_name: Name of its keys in the table, and of its page of help.
        help_pages: Names of the pages behind its own in the help.
        key_table: Its keys, as the user has chosen them.
        commands: What they do, by the names of their actions.
    """

    app: Host
    screen_name: ClassVar[str]
    help_pages: ClassVar[tuple[str, ...]] = ("terminal",)
    focused: Reactive[Widget | None] = Reactive(None, repaint=False)
    """The widget with the focus. Both widgets draw themselves when it changes; Textual would draw the whole screen."""
    commands: dict[str, Callable[..., object]]

    def __init__(self) -> None:
        super().__init__()
        self.key_table = self.keys_of_screen()
        self._bindings = keymap.bound(self._bindings, self.key_table, self.screen_name)

    def keys_of_screen(self) -> tuple[Key, ...]:
        """Return its keys, as the user has chosen them."""
        return keymap.of(self.screen_name)

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now, for the footer and the help."""
        return self.key_table

    def commands_now(self) -> Sequence[Key]:
        """Return the same for the command palette."""
        return self.keys_now()

    def show_help(self) -> None:
        """Show the help."""
        self.app.push_screen(help.of_screen(self.screen_name, self.keys_now(), text=[*map(page, self.help_pages)]))

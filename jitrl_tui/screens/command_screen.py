"""Screens and windows that do what their part of the command table says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

from textual.containers import Vertical
from textual.reactive import Reactive
from textual.screen import Screen
from textual.widget import Widget

from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.help import page
from jitrl_tui.host import Host
from jitrl_tui.screens import help
from jitrl_tui.screens.dialogs import Dialog
from jitrl_tui.widgets.clickable import KeyBar

Result = TypeVar("Result")


class CommandScreen(Screen[Result]):
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

    def __init__(self, name: str | None = None, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(name, id, classes)
        self.key_table = self.keys_of_screen()
        self._bindings = keymap.bound(self._bindings, self.key_table, self.screen_name)

    async def _invoke_and_clear_callbacks(self) -> None:
        """Call what was to be called after a drawing.

        Textual does so in the middle of a batch, too. Then what a command asks for after the layout finds the old one.
        """
        if not self.app._batch_count:
            await super()._invoke_and_clear_callbacks()

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
        title = "here" if keymap.own_keys(self.focused) else ""
        text = [*map(page, self.help_pages)]
        here = ("", self.focused, title)
        self.app.push_screen(help.of_screen(self.screen_name, self.keys_now(), here=here, text=text))


class CommandDialog(Dialog[Result], CommandScreen[Result]):
    """A window with keys of the command table. `compose` yields its box, then a `KeyBar`, which shows them."""

    # Textual takes the styles of the first base class.

    help_pages = ()

    def box(self, title: str) -> Vertical:
        """Return the frame with its title. The keys stand below it."""
        box = super().box(title)
        box.border_subtitle = ""
        return box

    def on_mount(self) -> None:
        """Show the keys."""
        self._show_keys()

    def on_descendant_focus(self) -> None:
        """Show the keys of what has the focus now."""
        self._show_keys()

    def _show_keys(self) -> None:
        self.query_one(KeyBar).show(keymap.footer(self.keys_now(), self.focused))

"""The help of a screen: its keys on one page, then what it shows. And the help of one pane."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from jitrl_tui import keymap
from jitrl_tui.command_table import Key
from jitrl_tui.help import page, pane_page
from jitrl_tui.screens.dialogs import Dialog
from jitrl_tui.widgets.lines import ACCENT, STRONG
from jitrl_tui.widgets.pane import PaneKind

_GAP = 2
Entry = tuple[str, str]
"""A key as people write it, and what it does in a few words."""


class KeySheet(Static):
    """Keys under headings, in as many columns as fit.

    Args:
        parts: Headings, each with its keys. A part without keys is left out.
    """

    def __init__(self, parts: Sequence[tuple[str, Sequence[Entry]]]) -> None:
        super().__init__(classes="sheet")
        self._parts = parts

    def render(self) -> Content:
        """Return the lines."""
        return Content("\n").join(
            itertools.chain.from_iterable(
                [Content.styled(title, STRONG), *_columns(keys, self.size.width)] for title, keys in self._parts if keys
            )
        )


def _columns(keys: Sequence[Entry], width: int) -> list[Content]:
    """Return keys in lines of a width, one below the other first."""
    for count in range(min(len(keys), 6), 0, -1):
        height = -(-len(keys) // count)
        columns = [keys[at : at + height] for at in range(0, len(keys), height)]
        sizes = [(max(len(k) for k, _ in one), max(len(label) for _, label in one)) for one in columns]
        if count == 1 or sum(k + 1 + label + _GAP for k, label in sizes) - _GAP <= width:
            break
    lines = []
    for row in itertools.zip_longest(*columns, fillvalue=("", "")):
        parts: list[tuple[str, str]] = []
        for (key, label), (wide, long) in zip(row, sizes, strict=True):
            parts += [(key.rjust(wide), ACCENT), (f" {label.ljust(long + _GAP)}", "")]
        lines.append(Content.assemble(*parts))
    return lines


class HelpDialog(Dialog[None]):
    """A page of help.

    Args:
        sheet: The keys, shown first; the page comes with `?` then. None for the page alone.
    """

    BINDINGS = [  # noqa: RUF012
        Binding("question_mark", "turn", show=False),
        Binding("q,f1", "dismiss(None)", show=False),
    ]

    def __init__(self, title: str, markdown: str, sheet: KeySheet | None = None) -> None:
        super().__init__(classes="-page" if sheet is None else "-sheet")
        self._title, self._markdown, self._sheet = title, markdown, sheet

    def compose(self) -> ComposeResult:
        """Lay out the first page."""
        box = self.box(self._title)
        if self._sheet is not None:
            box.border_subtitle = Content("? what the screen shows · Esc closes")
        with box:
            yield self._sheet or self._page()

    def _page(self) -> Widget:
        from textual.widgets import Markdown  # takes long to import, and is rarely needed

        return VerticalScroll(Markdown(self._markdown, open_links=False))

    async def action_turn(self) -> None:
        """Go from the keys to the page, from the page back to the screen."""
        if self._sheet is None:
            self.dismiss(None)
            return
        sheet, self._sheet = self._sheet, None
        box = self.query_one("#box")
        box.border_subtitle = Content("Esc closes")
        self.set_classes("-page")
        await sheet.remove()
        page = self._page()
        await box.mount(page)
        page.focus()


def of_screen(
    name: str,
    keys: Sequence[Key],
    *,
    here: tuple[str, Widget | None, str] = ("", None, ""),
    text: Sequence[str] = (),
) -> HelpDialog:
    """Return the help of a screen.

    Args:
        name: Of its page.
        keys: Those that do something now.
        here: The name of the pane with the focus, its widget, and its title.
        text: Other parts of the page.
    """
    pane, focused, title = here
    own = keymap.own_keys(focused)
    taken = {one for names, *_ in own for one in names.split(",")}
    free = [key for key in keys if key.first not in taken]
    sheet = KeySheet(
        [
            (title, [*((w, label) for _, w, label in own), *((k.written, k.label) for k in free if pane in k.panes)]),
            ("everywhere" if title else "keys", [(k.written, k.label) for k in free if pane not in k.panes]),
        ]
    )
    parts = (page(name), keymap.help_table(keys), *text)
    return HelpDialog("help", "\n\n".join(filter(None, parts)), sheet)


def of_watching(
    name: str, kinds: Sequence[PaneKind], keys: Sequence[Key], kind: PaneKind | None, focused: Widget | None, typed: str
) -> HelpDialog:
    """Return the help of a screen that shows a run in panes.

    Args:
        kind: Kind of the pane with the focus, None if no pane has it.
        typed: A sentence about commands that can be typed, "" for none.
    """
    here = (kind.name, focused, f"{kind.title}") if kind else ("", None, "")
    return of_screen(
        name, keys, here=here, text=[typed, page("terminal"), *(_of(kind) for kind in kinds), page("explain")]
    )


def of_pane(kind: PaneKind) -> HelpDialog:
    """Return the help of one pane."""
    text = _of(kind) or f"# {kind.title}\n\nThe package that adds this pane has no help for it."
    return HelpDialog(f"help: {kind.title}", text)


def _of(kind: PaneKind) -> str:
    return kind.help or pane_page(kind.name)

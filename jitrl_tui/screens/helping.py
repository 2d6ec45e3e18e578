"""The help of the watch screen: the whole page, and the page of one pane."""

from __future__ import annotations

from collections.abc import Sequence

from jitrl_tui import keymap
from jitrl_tui.help import page, pane_page
from jitrl_tui.keymap import Key
from jitrl_tui.screens.dialogs import HelpDialog
from jitrl_tui.widgets.pane import PaneKind


def of_screen(kinds: Sequence[PaneKind], table: Sequence[Key], typed: str) -> HelpDialog:
    """Return the whole help: what is shown, the keys, each pane.

    Args:
        typed: A sentence about commands that can be typed, "" for none.
    """
    panes = [_of(kind) for kind in kinds]
    parts = (page("watch"), keymap.help_table(table), typed, page("terminal"), *panes, page("explain"))
    return HelpDialog("help", "\n\n".join(filter(None, parts)))


def of_pane(kind: PaneKind) -> HelpDialog:
    """Return the help of one pane."""
    text = _of(kind) or f"# {kind.title}\n\nThe package that adds this pane has no help for it."
    return HelpDialog(f"help: {kind.title}", text)


def _of(kind: PaneKind) -> str:
    return kind.help or pane_page(kind.name)

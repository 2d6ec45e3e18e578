"""Tabs of panes that share a place, in a line of their own or in the title of a frame."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, MUTED, STRONG
from jitrl_tui.widgets.pane import PaneKind


def stage_title(kinds: Sequence[PaneKind], front: str, width: int = 80) -> Content:
    """Return the title of the panes that share the stage, the one in front marked."""
    gap = " " if width >= 54 else ""
    parts: list[tuple[str, str]] = []
    for kind in kinds:
        parts += [
            (kind.number, ACCENT),
            (
                f"{gap}[{kind.title}] " if kind.name == front else f"{gap} {kind.title} {gap}",
                STRONG if kind.name == front else MUTED,
            ),
        ]
    return Content.assemble(*parts).rstrip()


class TabLine(Widget):
    """Panes that share one place."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._kinds: list[PaneKind] = []
        self._active = ""
        self._focused = False

    def show(self, kinds: list[PaneKind], active: str, focused: bool) -> None:
        """Show a tab for each pane, with `active` in front. `focused` is whether that pane has the focus."""
        if (kinds, active, focused) != (self._kinds, self._active, self._focused):
            self._kinds, self._active, self._focused = kinds, active, focused
            self.refresh()

    def _tabs(self) -> list[tuple[str, str, str]]:
        """Return the displayed (pane, key, title) of each tab.

        If the titles do not fit into the line, only the tab in front has its title.
        """
        tabs = [
            (kind.name, f" {kind.number} ", f"[{kind.title}]" if kind.name == self._active else f" {kind.title} ")
            for kind in self._kinds
        ]
        if not tabs:
            return tabs
        *others, (_, last_key, last_title) = tabs
        needed = sum(cell_len(key + title) for _, key, title in others) + cell_len(last_key)
        if needed + 1 + cell_len(last_title.split()[0]) <= self.size.width:
            return tabs
        return [(name, key, title if name == self._active else "") for name, key, title in tabs]

    def render(self) -> Content:
        """Return the line."""
        parts: list[tuple[str, str]] = []
        style = "bold reverse" if self._focused else "bold"
        for pane, key, title in self._tabs():
            parts += [(key, ACCENT), (title, style if pane == self._active else MUTED)]
        return Content.assemble(*parts)

    def on_click(self, event: object) -> None:
        """Bring the clicked pane to the front."""
        x, at = getattr(event, "x", -1), 0
        for pane, key, title in self._tabs():
            width = cell_len(key) + cell_len(title)
            if at <= x < at + width:
                self.post_message(self.Chosen(pane))
                return
            at += width

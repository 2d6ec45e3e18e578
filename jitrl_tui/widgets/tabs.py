"""One line that says which panes there are and which one is in front."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, MUTED


class TabLine(Widget):
    """Panes that share one place."""

    class Chosen(Message):
        """A tab was clicked."""

        def __init__(self, pane: str) -> None:
            super().__init__()
            self.pane = pane

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._tabs: list[tuple[str, str, str]] = []
        self._active = ""
        self._focused = False

    def show(self, tabs: list[tuple[str, str, str]], active: str, focused: bool) -> None:
        """Show (pane, key, title) of each, with `active` in front and perhaps the focus on it."""
        if (tabs, active, focused) != (self._tabs, self._active, self._focused):
            self._tabs, self._active, self._focused = tabs, active, focused
            self.refresh()

    def render(self) -> Content:
        """Return the line."""
        parts: list[tuple[str, str]] = []
        style = "bold reverse" if self._focused else "bold"
        for pane, key, title in self._tabs:
            front = pane == self._active
            parts.append((f" {key} ", ACCENT))
            parts.append((f"[{title}]" if front else f" {title} ", style if front else MUTED))
        return Content.assemble(*parts)

    def on_click(self, event: object) -> None:
        """Bring the clicked pane to the front."""
        x, at = getattr(event, "x", -1), 0
        for pane, key, title in self._tabs:
            width = len(key) + 2 + len(title) + 2
            if at <= x < at + width:
                self.post_message(self.Chosen(pane))
                return
            at += width

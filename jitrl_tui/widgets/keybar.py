"""The keys that matter now, in one line at the bottom; as many as fit, each one clickable."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, MUTED


class KeyBar(Widget):
    """Keys and what they do; the first are the last to go when the line is short."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._keys: list[tuple[str, str, str]] = []
        self._spans: list[tuple[int, int, str]] = []

    def show(self, keys: list[tuple[str, str, str]]) -> None:
        """Show (key as written, label, key as Textual names it)."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render(self) -> Content:
        """Return the line."""
        width, at = self.size.width, 1
        parts: list[tuple[str, str] | str] = [" "]
        self._spans = []
        for written, label, name in self._keys:
            size = len(written) + 1 + len(label)
            if at + size > width:
                break
            parts += [(written, ACCENT), (f" {label}  ", MUTED)]
            self._spans.append((at, at + size, name))
            at += size + 2
        return Content.assemble(*parts)

    def on_click(self, event: object) -> None:
        """A click on a key presses it."""
        x = getattr(event, "x", -1)
        for start, end, name in self._spans:
            if start <= x < end:
                self.app.simulate_key(name)
                return

"""The footer: the present keys in one line, as many as fit. Each can be clicked."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, MUTED


class KeyBar(Widget):
    """Keys with labels. Keys with the highest rank are left out first if the line is too short."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._keys: list[tuple[str, str, str, int]] = []
        self._spans: list[tuple[int, int, str]] = []

    def show(self, keys: list[tuple[str, str, str, int]]) -> None:
        """Show (key as written, label, key as Textual names it, rank)."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def render(self) -> Content:
        """Return the line."""
        at = 1
        parts: list[tuple[str, str] | str] = [" "]
        self._spans = []
        for written, label, name, _ in self._fitting():
            size = len(written) + 1 + len(label)
            parts += [(written, ACCENT), (f" {label}  ", MUTED)]
            self._spans.append((at, at + size, name))
            at += size + 2
        return Content.assemble(*parts)

    def _fitting(self) -> list[tuple[str, str, str, int]]:
        kept = list(self._keys)
        while kept and sum(len(k[0]) + len(k[1]) + 3 for k in kept) > self.size.width + 1:
            worst = max(k[3] for k in kept)
            del kept[max(i for i, k in enumerate(kept) if k[3] == worst)]
        return kept

    def on_click(self, event: object) -> None:
        """Press the clicked key."""
        x = getattr(event, "x", -1)
        for start, end, name in self._spans:
            if start <= x < end:
                self.app.simulate_key(name)
                return

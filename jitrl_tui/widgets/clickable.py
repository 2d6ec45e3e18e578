"""Lines of which parts can be clicked: the keys of the footer, the sections of a screen, the places of a recording."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, FAINT, MUTED
from jitrl_tui.widgets.plots import thin


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


class Scrubber(Widget):
    """A bar over all decisions of a recording."""

    class Sought(Message):
        """A position in the recording was chosen, as a share from 0 to 1."""

        def __init__(self, share: float) -> None:
            super().__init__()
            self.share = share

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._done, self._total = 0, 0

    def show(self, done: int, total: int) -> None:
        """Show how far the recording has been played."""
        if (done, total) != (self._done, self._total):
            self._done, self._total = done, total
            self.refresh()

    def render(self) -> Content:
        """Return the bar with its numbers."""
        count = f" {self._done}/{self._total} "
        left = "◂ ← "
        right = " → ▸"
        size = max(4, self.size.width - len(count) - len(left) - len(right))
        bar, rest = thin(self._done / self._total if self._total else 0.0, size)
        return Content.assemble((left, MUTED), (bar, ACCENT), (rest, FAINT), (right, MUTED), count)

    def on_click(self, event: object) -> None:
        """Go to the clicked position."""
        x = getattr(event, "x", 0) - self.gutter.left - 4
        size = max(1, self.size.width - len(f" {self._done}/{self._total} ") - 9)
        self.post_message(self.Sought(min(max(x / size, 0.0), 1.0)))


class Sections(Widget):
    """Titles of sections, each with its key."""

    class Chosen(Message):
        """A title was clicked."""

        def __init__(self, section: str) -> None:
            super().__init__()
            self.section = section

    def __init__(self, id: str) -> None:
        super().__init__(id=id)
        self._sections: list[tuple[str, str, str]] = []
        self._open = ""

    def show(self, sections: Sequence[tuple[str, str, str]], opened: str) -> None:
        """Show (name, key, title) of each section, with `opened` as the open one."""
        self._sections, self._open = list(sections), opened
        self.refresh()

    def _parts(self) -> list[tuple[str, str, str]]:
        """Return name, key and title of each section, as they are drawn."""
        parts = [
            (name, f" {key} ", f"[{title}]" if name == self._open else title) for name, key, title in self._sections
        ]
        room = self.size.width - sum(cell_len(key + title) for _, key, title in parts)
        gap = " " * max(0, min(2, room // max(1, len(parts))))
        return [(name, key, title + gap) for name, key, title in parts]

    def render(self) -> Content:
        """Return the line."""
        parts: list[tuple[str, str]] = []
        for name, key, title in self._parts():
            parts += [(key, ACCENT), (title, "bold" if name == self._open else MUTED)]
        return Content.assemble(*parts)

    def on_click(self, event: object) -> None:
        """Open the clicked section."""
        x, at = getattr(event, "x", -1), 0
        for name, key, title in self._parts():
            at += cell_len(key) + cell_len(title)
            if x < at:
                self.post_message(self.Chosen(name))
                return

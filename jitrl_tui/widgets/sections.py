"""The sections of a screen in one line, one of them open. A click opens another."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from jitrl_tui.widgets.lines import ACCENT, MUTED


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

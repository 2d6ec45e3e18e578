"""The position in a recording, as a bar that can be clicked."""

from __future__ import annotations

from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from jitrl_tui.widgets.bars import thin
from jitrl_tui.widgets.lines import ACCENT, FAINT, MUTED


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

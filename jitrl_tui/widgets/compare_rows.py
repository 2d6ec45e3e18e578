"""The rows of two sessions side by side, with a cursor."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.visual import Visual

from engine.session.compare import ACTION, ALONE, ANSWER, SAME, Comparison, Row, Side
from jitrl_tui.comparing import SIGNS, done, place
from jitrl_tui.view import points
from jitrl_tui.widgets.lines import ACCENT, BAD, HUMAN, MUTED, STRONG, fit
from jitrl_tui.widgets.pane import Pane

_STYLES = {SAME: MUTED, ACTION: BAD, ANSWER: HUMAN, ALONE: MUTED}
_SCORE = 5
_BETWEEN = 3
"""Columns of the sign between the sessions, with its spaces."""


class CompareRows(Pane):
    """One row for each step below a header that stays. Only visible rows are drawn."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go(0)", show=False),
        Binding("end,G", "go(-1)", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

    def __init__(self, id: str, comparison: Comparison) -> None:
        super().__init__(id)
        self._comparison = comparison
        self._places = max((len(place(row)) for row in comparison.rows), default=0)
        self.at = comparison.first or 0

    @property
    def allow_select(self) -> bool:
        """Whether text can be marked with the mouse."""
        return False

    @property
    def row(self) -> Row | None:
        """The row that the cursor is on, None if there are none."""
        return self._comparison.rows[self.at] if self._comparison.rows else None

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.size.width, len(self._comparison.rows) + 1)
        self.call_after_refresh(self._reveal)

    def line(self, y: int) -> Strip:
        """Return the header or a row."""
        room, rows = self.scrollable_content_region.width, self._comparison.rows
        at = round(self.scroll_y) + y - 1
        if y == 0:
            half = self._half(room)
            head = fit("A", half) + "score".rjust(_SCORE) + " " * _BETWEEN + fit("B", half) + "score".rjust(_SCORE)
            content = Content.styled("  " + " " * self._places + " " + head, MUTED)
        elif not rows and y == 2:
            content = Content.styled("  Neither of them has a step.", MUTED)
        elif 0 <= at < len(rows):
            content = self._row(at, room)
        else:
            content = Content("")
        style = self.visual_style
        strip = Visual.to_strips(self, content.truncate(room, pad=True), room, 1, style)[0]
        return strip.crop_extend(0, self.size.width, style.rich_style)

    def _half(self, room: int) -> int:
        """Return the columns of an action."""
        return max(1, (room - self._places - 3 - _BETWEEN) // 2 - _SCORE)

    def _row(self, at: int, room: int) -> Content:
        row, half = self._comparison.rows[at], self._half(room)
        mark = "► " if at == self._comparison.first else "  "
        left, right = _half_row(row.left, half), _half_row(row.right, half)
        head, sign = f"{mark}{place(row):>{self._places}} ", f" {SIGNS[row.kind]} "
        if at == self.at:
            return Content.styled(fit(head + left + sign + right, room), "bold reverse")
        style, mine = (MUTED, MUTED) if row.kind == SAME else ("", STRONG)
        return Content.assemble(
            (mark, ACCENT), (head[len(mark) :], MUTED), (left, style), (sign, _STYLES[row.kind]), (right, mine)
        )

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row."""
        at = round(self.scroll_y) + event.get_content_offset_capture(self).y - 1
        if 0 <= at < len(self._comparison.rows):
            self.go_to(at)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.go_to(self.at + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a page."""
        self.go_to(self.at + by * max(1, self.size.height - 2))

    def action_go(self, at: int) -> None:
        """Move the cursor to a row; -1 is the last one."""
        self.go_to(len(self._comparison.rows) - 1 if at < 0 else at)

    def go_to(self, at: int) -> None:
        """Put the cursor on the row of an index, or on the nearest one."""
        if self._comparison.rows:
            self.at = min(max(at, 0), len(self._comparison.rows) - 1)
            self._reveal()
            self.refresh()
            self.post_message(self.Moved())

    def _reveal(self) -> None:
        """Scroll so that the row of the cursor is in sight."""
        shown, first = max(1, self.size.height - 1), round(self.scroll_y)
        if not first <= self.at < first + shown:
            self.scroll_to(y=max(0, self.at - shown // 2), animate=False)

    def plain_text(self) -> str:
        """Return all rows as text."""
        return "\n".join(
            f"{place(row)} {done(row.left)} {SIGNS[row.kind]} {done(row.right)}" for row in self._comparison.rows
        )


def _half_row(side: Side | None, width: int) -> str:
    if side is None:
        return fit("-", width) + " " * _SCORE
    return fit(done(side), width) + points(side.score)[-_SCORE:].rjust(_SCORE)

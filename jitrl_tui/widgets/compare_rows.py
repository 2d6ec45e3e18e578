"""The rows of two sessions side by side, with a cursor."""

from __future__ import annotations

from textual.content import Content

from engine.session.compare import ACTION, ALONE, ANSWER, SAME, Comparison, Row, Side
from jitrl_tui.comparing import SIGNS, done, place
from jitrl_tui.view import points
from jitrl_tui.widgets.lines import ACCENT, BAD, HUMAN, MUTED, STRONG, fit
from jitrl_tui.widgets.rows import RowList

_STYLES = {SAME: MUTED, ACTION: BAD, ANSWER: HUMAN, ALONE: MUTED}
_SCORE = 5
_BETWEEN = 3
"""Columns of the sign between the sessions, with its spaces."""


class CompareRows(RowList):
    """One row for each step of a comparison. The cursor begins at the first difference."""

    class Moved(RowList.Moved):
        """The cursor is on another row."""

    def __init__(self, id: str, comparison: Comparison) -> None:
        super().__init__(id, self._row, self._title)
        self._comparison = comparison
        self._places = max((len(place(row)) for row in comparison.rows), default=0)
        self.message = "  Neither of them has a step."
        self.count, self.at = len(comparison.rows), comparison.first or 0

    @property
    def row(self) -> Row | None:
        """The row that the cursor is on, None if there are none."""
        return self._comparison.rows[self.at] if self._comparison.rows else None

    def _title(self, room: int) -> str:
        half = self._half(room)
        head = fit("A", half) + "score".rjust(_SCORE) + " " * _BETWEEN + fit("B", half) + "score".rjust(_SCORE)
        return "  " + " " * self._places + " " + head

    def _half(self, room: int) -> int:
        """Return the columns of an action."""
        return max(1, (room - self._places - 3 - _BETWEEN) // 2 - _SCORE)

    def _row(self, at: int, room: int) -> Content:
        row, half = self._comparison.rows[at], self._half(room)
        mark = "► " if at == self._comparison.first else "  "
        left, right = _half_row(row.left, half), _half_row(row.right, half)
        head, sign = f"{mark}{place(row):>{self._places}} ", f" {SIGNS[row.kind]} "
        style, mine = (MUTED, MUTED) if row.kind == SAME else ("", STRONG)
        return Content.assemble(
            (mark, ACCENT), (head[len(mark) :], MUTED), (left, style), (sign, _STYLES[row.kind]), (right, mine)
        )

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

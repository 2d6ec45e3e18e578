"""The list of the cells of a benchmark, with a cursor."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine.bench.progress import CellProgress
from jitrl_tui.runs.bench_view import COLUMNS, SIGNS, fields
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, fit
from jitrl_tui.widgets.rows import RowList

_STYLES = {"running": ACCENT, "failed": BAD, "stopped": HUMAN, "finished": GOOD, "waiting": MUTED}
_GAP = 2


class CellList(RowList):
    """One row for each cell.

    The cursor keeps to its cell when the order changes. Until it is first moved, and after `follow`, it is on the
    first row.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id, self._row, self._title)
        self._rows: list[CellProgress] = []
        self._hidden: Sequence[str] = ()
        self._fields: dict[str, tuple[str, ...]] = {}
        self._widths: dict[int, int] = {}
        self._name = ""

    @property
    def cursor(self) -> CellProgress | None:
        """The cell that the cursor is on, None if there are no rows."""
        return self._rows[self.at] if self._rows else None

    @property
    def shown(self) -> tuple[CellProgress, ...]:
        """The cells of all rows, also of those out of sight."""
        return tuple(self._rows)

    def show_cells(self, rows: Sequence[CellProgress], hidden: Sequence[str] = ()) -> None:
        """Show these cells in this order, without the columns of the names in `hidden`."""
        place = self.at - round(self.scroll_y)
        self._rows, self._hidden = list(rows), hidden
        self._fields = {one.cell.name: fields(one) for one in rows}
        self._measure()
        at = next((at for at, one in enumerate(rows) if one.cell.name == self._name), 0)
        self.show(len(rows), at, reveal=False)
        if self._name and 0 <= place < self.size.height - 1:
            self.scroll_to(y=max(0, self.at - place), animate=False)

    def follow(self) -> None:
        """Put the cursor on the first row, whatever cell comes to stand there."""
        self.go_to(0)
        self._name = ""

    def go_to(self, at: int) -> None:
        """Put the cursor on a row by its number, or on the nearest one."""
        super().go_to(at)
        self._name = self._rows[self.at].cell.name if self._rows else ""

    def _measure(self) -> None:
        """Choose the columns for the present width, and their widths."""
        room = self.scrollable_content_region.width - 2
        whole = {}
        for at, column in enumerate(COLUMNS):
            longest = max((cell_len(row[at]) for row in self._fields.values()), default=0)
            if longest and column.name not in self._hidden:
                whole[at] = max(longest, len(column.name))
        kept = dict(whole)
        for rank in sorted({column.rank for column in COLUMNS}, reverse=True):
            kept = {at: min(width, COLUMNS[at].cut or width) for at, width in whole.items() if COLUMNS[at].rank <= rank}
            if _total(kept) <= room:
                break
        for at in kept:
            kept[at] += max(0, min(whole[at] - kept[at], room - _total(kept)))
        self._widths = kept

    def on_resize(self) -> None:
        """Choose the columns for the new width, and keep the cursor in sight."""
        self._measure()
        super().on_resize()

    def _title(self, room: int) -> str:
        return "  " + self._joined(tuple(column.name for column in COLUMNS))

    def _row(self, at: int, room: int) -> Content:
        one = self._rows[at]
        text = self._joined(self._fields[one.cell.name])
        return Content.assemble(
            (f"{SIGNS[one.state]} ", _STYLES[one.state]), (text, MUTED if one.state == "waiting" else "")
        )

    def _joined(self, row: Sequence[str]) -> str:
        parts = []
        for at, width in self._widths.items():
            parts.append(row[at].rjust(width) if COLUMNS[at].right else _cut(row[at], width))
        return (" " * _GAP).join(parts)

    def plain_text(self) -> str:
        """Return all rows as text."""
        return "\n".join(self._joined(self._fields[one.cell.name]).rstrip() for one in self._rows)


def _cut(text: str, width: int) -> str:
    """Return text of exactly `width` cells. It is cut in the middle, because long names often differ at their ends."""
    if cell_len(text) <= width:
        return fit(text, width)
    end = text[-(width // 2) :]
    while cell_len(end) > width // 2:
        end = end[1:]
    return fit(text, width - cell_len(end)) + end


def _total(widths: dict[int, int]) -> int:
    return sum(widths.values()) + _GAP * (len(widths) - 1)

"""The list of the cells of a benchmark, with a cursor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len
from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.visual import Visual

from engine.bench.progress import CellProgress
from jitrl_tui.bench_view import COLUMNS, SIGNS, fields
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, fit
from jitrl_tui.widgets.pane import Pane

_STYLES = {"running": ACCENT, "failed": BAD, "stopped": HUMAN, "finished": GOOD, "waiting": MUTED}
_GAP = 2


class CellList(Pane):
    """One row for each cell below a header that stays. Only visible rows are drawn.

    The cursor keeps to its cell when the order changes. Until it is first moved, and after `follow`, it is on the
    first row.
    """

    ALLOW_SELECT = False
    BINDINGS: ClassVar = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,g", "go(0)", show=False),
        Binding("end,G", "go(-1)", show=False),
        Binding("enter", "choose", show=False),
    ]

    class Moved(Message):
        """The cursor is on another cell."""

    class Chosen(Message):
        """Enter was pressed on the cell of the cursor."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._rows: list[CellProgress] = []
        self._hidden: Sequence[str] = ()
        self._fields: dict[str, tuple[str, ...]] = {}
        self._widths: dict[int, int] = {}
        self._name = ""
        self.message = ""
        """What stands in place of the rows if there are none."""

    @property
    def allow_select(self) -> bool:
        """Whether text can be marked with the mouse."""
        return False

    @property
    def at(self) -> int:
        """Number of the row that the cursor is on."""
        return next((at for at, one in enumerate(self._rows) if one.cell.name == self._name), 0)

    @property
    def cursor(self) -> CellProgress | None:
        """The cell that the cursor is on, None if there are no rows."""
        return self._rows[self.at] if self._rows else None

    @property
    def shown(self) -> tuple[CellProgress, ...]:
        """The cells of all rows, also of those out of sight."""
        return tuple(self._rows)

    def show(self, rows: Sequence[CellProgress], hidden: Sequence[str] = ()) -> None:
        """Show these cells in this order, without the columns of the names in `hidden`."""
        place = self.at - round(self.scroll_y)
        self._rows, self._hidden = list(rows), hidden
        self._fields = {one.cell.name: fields(one) for one in rows}
        self._measure()
        self.virtual_size = Size(self.size.width, len(self._rows) + 1)
        if self._name and 0 <= place < self.size.height - 1:
            self.scroll_to(y=max(0, self.at - place), animate=False)
        self.refresh()

    def follow(self) -> None:
        """Put the cursor on the first row, whatever cell comes to stand there."""
        self._name = ""
        self.scroll_to(y=0, animate=False)
        self.refresh()
        self.post_message(self.Moved())

    @property
    def _room(self) -> int:
        """Columns of a row."""
        return self.scrollable_content_region.width

    def _measure(self) -> None:
        """Choose the columns for the present width, and their widths."""
        room = self._room - 2
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
        self.virtual_size = Size(self.size.width, len(self._rows) + 1)
        self._reveal()

    def line(self, y: int) -> Strip:
        """Return the header or a row."""
        width = self.size.width
        at = round(self.scroll_y) + y - 1
        if y == 0:
            content = Content.styled("  " + self._joined(tuple(column.name for column in COLUMNS)), MUTED)
        elif not self._rows and y == 2:
            content = Content.styled("  " + self.message, MUTED)
        elif 0 <= at < len(self._rows):
            content = self._row(at)
        else:
            content = Content("")
        style = self.visual_style
        strip = Visual.to_strips(self, content.truncate(self._room, pad=True), self._room, 1, style)[0]
        return strip.crop_extend(0, width, style.rich_style)

    def _row(self, at: int) -> Content:
        one = self._rows[at]
        sign, text = f"{SIGNS[one.state]} ", self._joined(self._fields[one.cell.name])
        if at == self.at:
            return Content.styled(fit(sign + text, self._room), "bold reverse")
        return Content.assemble((sign, _STYLES[one.state]), (text, MUTED if one.state == "waiting" else ""))

    def _joined(self, row: Sequence[str]) -> str:
        parts = []
        for at, width in self._widths.items():
            parts.append(row[at].rjust(width) if COLUMNS[at].right else _cut(row[at], width))
        return (" " * _GAP).join(parts)

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row."""
        at = round(self.scroll_y) + event.get_content_offset_capture(self).y - 1
        if 0 <= at < len(self._rows):
            self._go_to(at)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self._go_to(self.at + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a page."""
        self._go_to(self.at + by * max(1, self.size.height - 2))

    def action_go(self, at: int) -> None:
        """Move the cursor to a row; -1 is the last one."""
        self._go_to(len(self._rows) - 1 if at < 0 else at)

    def action_choose(self) -> None:
        """Choose the cell of the cursor."""
        if self._rows:
            self.post_message(self.Chosen())

    def _go_to(self, at: int) -> None:
        if self._rows:
            self._name = self._rows[min(max(at, 0), len(self._rows) - 1)].cell.name
            self._reveal()
            self.refresh()
            self.post_message(self.Moved())

    def _reveal(self) -> None:
        """Scroll so that the row of the cursor is in sight."""
        shown, first = max(1, self.size.height - 1), round(self.scroll_y)
        if self.at < first:
            self.scroll_to(y=self.at, animate=False)
        elif self.at >= first + shown:
            self.scroll_to(y=self.at - shown + 1, animate=False)

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

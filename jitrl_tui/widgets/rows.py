"""A list of any length with a cursor, of which only the visible rows are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.events import Click
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip
from textual.visual import Visual

from jitrl_tui.widgets.lines import MUTED, fit
from jitrl_tui.widgets.pane import Pane


class RowList(Pane):
    """Rows below a header that stays.

    Args:
        make: Returns a row by its number and the width in cells. It is called for visible rows only.
        head: Returns the header for a width.
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
        """The cursor is on another row."""

    class Chosen(Message):
        """Enter was pressed on the row of the cursor."""

    def __init__(self, id: str, make: Callable[[int, int], Content], head: Callable[[int], str]) -> None:
        super().__init__(id)
        self._make, self._head = make, head
        self.count = 0
        self.at = 0
        self.message = ""
        """What stands in place of the rows if there are none."""

    @property
    def allow_select(self) -> bool:
        """Whether text can be marked with the mouse."""
        return False

    def show(self, count: int, at: int | None = None, *, reveal: bool = True) -> None:
        """Show so many rows; with a number, the cursor goes there, and with `reveal` it is in sight then."""
        self.count = count
        self.at = min(max(self.at if at is None else at, 0), max(0, count - 1))
        self.virtual_size = Size(self.size.width, count + 1)
        if reveal:
            self._reveal()
        self.refresh()

    def on_resize(self) -> None:
        """Keep the cursor in sight."""
        self.virtual_size = Size(self.size.width, self.count + 1)
        self._reveal()

    def line(self, y: int) -> Strip:
        """Return the header or a row."""
        width, room = self.size.width, self.scrollable_content_region.width
        at = round(self.scroll_y) + y - 1
        if y == 0:
            content = Content.styled(fit(self._head(room), room), MUTED)
        elif not self.count and y == 2:
            content = Content.styled(fit(self.message, room), MUTED)
        elif 0 <= at < self.count:
            content = self._make(at, room)
            if at == self.at:
                content = Content.styled(fit(content.plain, room), "bold reverse" if self.has_focus else "bold")
        else:
            content = Content("")
        strip = Visual.to_strips(self, content.truncate(room, pad=True), room, 1, self.visual_style)[0]
        return strip.crop_extend(0, width, self.visual_style.rich_style)

    def on_focus(self) -> None:
        """Show the cursor."""
        self.refresh()

    def on_blur(self) -> None:
        """Show that the focus is elsewhere."""
        self.refresh()

    def on_click(self, event: Click) -> None:
        """Move the cursor to the clicked row."""
        at = round(self.scroll_y) + event.get_content_offset_capture(self).y - 1
        if 0 <= at < self.count:
            self.go_to(at)

    def action_move(self, by: int) -> None:
        """Move the cursor."""
        self.go_to(self.at + by)

    def action_page(self, by: int) -> None:
        """Move the cursor by a page."""
        self.go_to(self.at + by * max(1, self.size.height - 2))

    def action_go(self, at: int) -> None:
        """Move the cursor to a row; -1 is the last one."""
        self.go_to(self.count - 1 if at < 0 else at)

    def action_choose(self) -> None:
        """Choose the row of the cursor."""
        if self.count:
            self.post_message(self.Chosen())

    def go_to(self, at: int) -> None:
        """Put the cursor on a row by its number, or on the nearest one."""
        if self.count:
            self.at = min(max(at, 0), self.count - 1)
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
        """Return the visible rows as text."""
        first = round(self.scroll_y)
        rows = range(first, min(self.count, first + self.size.height))
        return "\n".join(self._make(at, self.size.width).plain.rstrip() for at in rows)

"""A screenshot of the page of a web session: a real picture if the terminal supports it, otherwise half-blocks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from textual.content import Content
from textual.geometry import Region
from textual.strip import Strip
from textual.visual import Visual

from jitrl_tui.host import Host
from jitrl_tui.panes.page import OfPage
from jitrl_tui.pictures.image import Box, area, blocks, decode
from jitrl_tui.pictures.overlay import Pictured
from jitrl_tui.pictures.terminal import Graphics
from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.widgets.lines import MUTED, fit, wrap
from jitrl_tui.widgets.pane import ActionClicked, How, PaneKind

if TYPE_CHECKING:
    from PIL.Image import Image

    from engine.web.browser.pages import PageStore
    from engine.web.drawing.items import Item

_HINT = (
    "Half-blocks: this terminal shows no pictures. One with kitty's graphics or sixel does; 6 has the text."
)


class PicturePane(OfPage, Pictured):
    """The screenshot, with a frame around the element that was chosen."""

    app: Host

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._store: PageStore | None = None
        self._image: Image | None = None
        self._source: tuple[bytes, tuple[Box, ...]] | None = None
        """The data from which the picture was made."""
        self._cells = self._drawn = (0, 0)
        self._number = 0

    @property
    def graphics(self) -> Graphics:
        """The terminal's support for pictures."""
        return self.app.graphics

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the picture of the page of a decision, or of the latest page."""
        self._store = how.pages
        super().look(view, choice, how)

    def rebuild(self) -> None:
        """Decode and cut the picture if the picture or the size has changed."""
        width, height = self.scrollable_content_region.size
        if width > 0 and height > 0 and self.display and (self._stale or self._built != (width, height)):
            self._decode()
        super().rebuild()

    def _decode(self) -> None:
        shown = self._shown
        if shown is None or self._store is None:
            self._image, self._source = None, None
            return
        marks = tuple(
            item.node.box
            for item in self._items()
            if f"<{item.node.label}>" in self._action and item.node.box
        )
        source = self._store.picture(shown), marks
        if source != self._source:
            self._source = source
            self._image = decode(source[0], marks, (shown.width, shown.height))
            self._number += 1

    def _items(self) -> tuple[Item, ...]:
        from engine.web.drawing.items import items_of

        return items_of(self._page) if self._page is not None else ()

    def build(self, width: int, height: int) -> list[Content]:
        """Return the lines below the picture, or in its place."""
        image, shown = self._image, self._shown
        self._cells = (0, 0)
        if image is None or shown is None:
            return self._missing(width)
        lines = [Content(fit(f"{shown.title}  {shown.url}".strip(), width).rstrip())]
        room = height - len(lines) if height >= 16 else height
        self._cells = area(image.size, width, max(1, room), self.graphics.cell)
        hint = wrap(_HINT, width) if self.graphics.protocol == "blocks" else []
        if self._cells[1] + len(lines) + len(hint) <= height:
            lines += [Content.styled(line, MUTED) for line in hint]
        return lines

    def _render_strips(self, lines: Any, width: int) -> None:
        content = Content("\n").join(lines)
        below = Visual.to_strips(self, content, width, None, self.visual_style)
        columns, rows = self._cells
        above: list[Strip] = []
        if self._image is not None and columns:
            style = self.visual_style.rich_style
            if self.graphics.protocol == "sixel":
                # The real picture may be a few pixels smaller than the cells, so half-blocks would show at
                # its edges.
                above = [Strip.blank(width, style)] * rows
            else:
                above = [
                    strip.crop_extend(0, width, style)
                    for strip in blocks(self._image, columns, rows, grey=self.app.no_color)
                ]
        self._strips = [*above, *below]
        if self._top is not None:
            self._top = self._first_row(rows)

    def redraw(self) -> None:
        """Draw, except over a sixel picture that another one of the same size will soon cover, to avoid flicker."""
        size = self.scrollable_content_region.size
        drawn, self._drawn = self._drawn, self._cells
        if self.graphics.protocol == "sixel" and drawn == self._cells and 0 < drawn[1] < size.height:
            self.refresh(Region(0, drawn[1], size.width, size.height - drawn[1]))
        else:
            self.refresh()
        if self.graphics.protocol != "blocks":
            self.call_after_refresh(self.app.place_picture)

    def _first_row(self, rows: int) -> int:
        """Return the first row to show, so that the marked element is visible."""
        shown, height = self._shown, self.scrollable_content_region.height
        marked = [i.node.box for i in self._items() if f"<{i.node.label}>" in self._action and i.node.box]
        if shown is None or not marked or not shown.height or rows <= height:
            return 0
        at = round((marked[0][1] + marked[0][3] / 2) / shown.height * rows)
        return max(0, min(rows, at) - height // 2) if at >= height else 0

    # ------------------------------------------------------------------------------ the real picture

    def placed(self) -> tuple[Any, Region, Image] | None:
        """Return the picture's identity, the screen cells it covers, and the picture cut to these cells."""
        image, (columns, rows) = self._image, self._cells
        if image is None or not columns:
            return None
        inside = self.scrollable_content_region
        top = min(max(0, round(self.scroll_y)), rows)
        count = min(rows - top, inside.height)
        if count <= 0 or columns > inside.width:
            return None
        if (top, count) != (0, rows):
            down = image.height / rows
            image = image.crop((0, round(top * down), image.width, round((top + count) * down)))
        place = Region(inside.x, inside.y, columns, count)
        return (self._number, top), place, image

    # --------------------------------------------------------------------------------------- clicking

    def on_click(self, event: object) -> None:
        """Choose the clicked element."""
        shown, (columns, rows) = self._shown, self._cells
        x = getattr(event, "x", -1) - self.gutter.left
        y = round(self.scroll_y) + getattr(event, "y", 0) - self.gutter.top
        if shown is None or not (0 <= x < columns and 0 <= y < rows) or self.text_selection is not None:
            return
        at = (x + 0.5) * shown.width / columns, (y + 0.5) * shown.height / rows
        item = self._at(*at)
        if item is not None:
            self.post_message(ActionClicked(item.action))

    def _at(self, x: float, y: float) -> Item | None:
        """Return the smallest element with an action at a position in CSS pixels."""
        found: list[tuple[float, int, Item]] = []
        for number, item in enumerate(self._items()):
            box = item.node.box
            if item.action and box and box[0] <= x <= box[0] + box[2] and box[1] <= y <= box[1] + box[3]:
                found.append((box[2] * box[3], -number, item))
        return min(found, key=lambda each: each[:2])[2] if found else None


KIND = PaneKind("picture", "picture", lambda: PicturePane("picture"), "on the web: the page as the browser drew it",
                "i", "stage", web=True)  # fmt: skip

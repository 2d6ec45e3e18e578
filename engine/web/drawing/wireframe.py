"""Draws a page as text, to show where things are, with a number on every element that can be acted on.

The snapshot's boxes give the positions. The horizontal axis is to scale. On the vertical axis a line of the page
becomes a line of text and empty space shrinks, because 720 pixels would not fit into 20 lines. Dividing lines mark the
top and the bottom of the browser's window. This module does not depend on the screen or the browser.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from engine.redaction import REDACTED
from engine.web.browser.snapshot import Page, plain_name
from engine.web.choices import CONTROLS, SELECTED, TYPED, is_secret
from engine.web.drawing.canvas import CanvasRun, TextCanvas, cut, filled, width_of, wrapped
from engine.web.drawing.items import Item, items_of

FRAMED = frozenset({
    "banner", "navigation", "main", "complementary", "contentinfo", "form", "search", "region", "dialog",
    "alertdialog", "alert", "table", "grid", "iframe", "article", "menu", "toolbar", "tabpanel", "figure",
})  # fmt: skip
LINE = 20.0
"""Height of a usual line of text, in pixels."""
SAME_LINE = 10.0
"""Largest distance between the middles of two elements on the same line, in pixels."""
MOST_ROWS = 400
LEAST = 6
"""Least number of cells of an element, if its line has room."""
_MARKS = {"checkbox": ("[ ]", "[x]"), "menuitemcheckbox": ("[ ]", "[x]"), "switch": ("[ ]", "[x]"),
          "radio": ("( )", "(•)"), "menuitemradio": ("( )", "(•)")}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Wireframe:
    """A drawn page.

    Attributes:
        rows: Rows of runs; the texts of each row fill exactly the requested width.
        items: The elements that are drawn.
        window: First row of the browser's window, and the row after its last one.
        outside: Number of elements above, below, left and right of the window.
    """

    rows: tuple[tuple[CanvasRun, ...], ...] = ()
    items: tuple[Item, ...] = ()
    window: tuple[int, int] = (0, 0)
    outside: tuple[int, int, int, int] = (0, 0, 0, 0)

    @property
    def text(self) -> str:
        """All rows as text, without trailing spaces."""
        return "\n".join("".join(run.text for run in row).rstrip() for row in self.rows)

    def at(self, column: int, row: int) -> Item | None:
        """Return the item that is drawn in a cell, None for none."""
        if 0 <= row < len(self.rows):
            for run in self.rows[row]:
                column -= width_of(run.text)
                if column < 0:
                    return self.items[run.item] if run.item >= 0 else None
        return None


# places


@dataclass(slots=True)
class _Piece:
    """One line of an item's text, with its position in pixels."""

    item: int
    x: float
    y: float
    text: str
    kind: str
    prefix: str = ""
    suffix: str = ""
    fill: int = 0
    """Least width in cells, for text boxes."""


@dataclass(slots=True)
class _Frame:
    title: str
    left: int
    right: int
    top: float
    bottom: float
    depth: int = 0
    rows: tuple[int, int] = (0, 0)


def _boxes(page: Page) -> list[tuple[float, float, float, float]]:
    """Return a box for each node. A node without a box is placed after the node before it."""
    made: list[tuple[float, float, float, float]] = []
    pen: dict[int, tuple[float, float]] = {}  # By parent: position of its next child without a box.
    last = 0.0
    for node in page.nodes:
        box = node.box
        if box is None or not all(math.isfinite(v) and abs(v) < 1e7 for v in box):
            if 0 <= node.parent < len(made):
                around = made[node.parent]
                x, y = pen.get(node.parent, (around[0], around[1]))
                box = (x, y, max(0.0, around[0] + around[2] - x), LINE)
            else:
                box = (0.0, last, 0.0, LINE)
        x, y, width, height = box
        made.append((x, y, max(0.0, width), max(0.0, height)))
        last = max(last, y + LINE) if node.box is None else last
        one_line = node.box is not None and height < 2 * LINE
        pen[node.parent] = (x + width, y) if one_line else (x, y + height)
    return made


def _extent(
    places: list[tuple[float, float, float, float]], items: list[tuple[int, Item]], view: float
) -> float:
    """Return the width to draw, in pixels: the window's, or less if only a part of it is used."""
    right = max((b[0] + b[2] for b in (places[i] for i, _ in items) if b[0] < view), default=view)
    return min(max(right, 160.0), view)


def _indexed(page: Page, items: tuple[Item, ...]) -> list[tuple[int, Item]]:
    """Return each item with the index of its node."""
    at, found = 0, []
    for item in items:
        while page.nodes[at] is not item.node:
            at += 1
        found.append((at, item))
        at += 1
    return found


# ------------------------------------------------------------------------------------------- drawing


def draw(page: Page, width: int, height: int = 40, view: tuple[int, int] = (1280, 720)) -> Wireframe:
    """Draw a page `width` cells wide, in as many rows as needed, at most about `MOST_ROWS`.

    Args:
        page: The page.
        width: Width in cells.
        height: Available rows. If there are few, frames and empty rows are left out.
        view: Width and height of the browser's window, in CSS pixels.
    """
    width = max(1, width)
    across, down = max(1.0, float(view[0])), max(1.0, float(view[1]))
    items = items_of(page)
    places = _boxes(page)
    shown, left, right = [], 0, 0
    for index, item in _indexed(page, items):
        box = places[index]
        if 0 < box[2] <= 1.5 and 0 < box[3] <= 1.5:
            continue  # Visible to screen readers only.
        left += box[0] + box[2] <= 0 and box[0] < 0
        right += box[0] >= across
        if (box[0] + box[2] > 0 or box[0] >= 0) and box[0] < across:
            shown.append((index, item))
    number = {id(item): at for at, item in enumerate(items)}
    scale = width / _extent(places, shown, across)
    pieces = [
        p for index, item in shown for p in _pieces(page, index, item, number[id(item)], places[index], scale)
    ]
    above = sum(1 for i, _ in shown if _middle(places[i]) < 0)
    below = sum(1 for i, _ in shown if _middle(places[i]) >= down)
    frames = _frames(page, places, scale, width, down) if height >= 16 and width >= 40 else []
    rows, window = _rows(pieces, frames, width, scale, down, (above, below, left, right), roomy=height >= 16)
    return Wireframe(rows, items, window, (above, below, left, right))


def _middle(box: tuple[float, float, float, float]) -> float:
    return box[1] + min(box[3], LINE) / 2


def _pieces(
    page: Page, index: int, item: Item, number: int, box: tuple[float, float, float, float], scale: float
) -> Iterator[_Piece]:
    """Yield an item's lines."""
    node = item.node
    x, y, width, height = box
    cells = max(LEAST, int(width * scale))
    middle = y + min(height, LINE) / 2
    if item.number:
        yield _control(page, index, item, number, (x, middle, y + height / 2), cells)
        return
    text = " ".join(f"{node.value or node.name}".split())
    if is_secret(node):
        text = REDACTED
    if node.role == "img":
        text = f"▨ {text}"
    kind = "heading" if node.role in ("heading", "columnheader") else "text"
    room = min(6, max(1, round(height / LINE))) if height >= 1.6 * LINE else 1
    lines, apart = wrapped(text, cells - 1) if room > 1 else [text], LINE
    if len(lines) > room:  # Letters are narrower on the page: its lines move closer, as far as they stay lines.
        room = max(room, int(height / (SAME_LINE + 1)))
        lines = lines if len(lines) <= room else [*lines[: room - 1], " ".join(lines[room - 1 :])]
        apart = height / len(lines)
    for at, line in enumerate(lines):
        yield _Piece(number, x, middle + at * apart, line, kind)


def _control(
    page: Page, index: int, item: Item, number: int, at: tuple[float, float, float], cells: int
) -> _Piece:
    node = item.node
    x, top, centre = at
    name, value = " ".join(node.name.split()), " ".join(node.value.split())
    tag = f"{item.number}"
    if node.role in TYPED or node.role in SELECTED:
        if is_secret(node) and value:
            value = "•" * 8
        chosen = next(
            (c.name for c in page.children(index) if c.role == "option" and c.state("selected")), ""
        )
        value = value or " ".join(chosen.split())
        text = ": ".join(filter(None, [name.rstrip(": "), value])) or (
            "" if node.role in TYPED else node.role
        )
        end = " ▾│" if node.role in SELECTED else "│"
        return _Piece(number, x, centre, text, "field", f"│{tag} ", end, max(8, cells))
    if node.role in _MARKS:
        mark = _MARKS[node.role][node.state("checked") in ("true", "mixed")]
        return _Piece(number, x, centre, name, "button", f"{tag} {mark} ")
    text = name or value or _tail(node.url) or node.role
    if node.role not in CONTROLS:
        return _Piece(number, x, top, name or value or "▢", "button", f"{tag}·")
    if node.box is not None and node.box[3] < 3 * LINE and width_of(text) * 6 < node.box[2]:
        top = centre  # One line of text in a taller box: aligned with the buttons of its row.
    if node.role in ("link", "treeitem"):
        return _Piece(number, x, top, text, "link", f"{tag}·")
    if node.role in ("tab", "menuitem", "option", "gridcell"):
        on = node.state("selected") or node.state("expanded") == "true"
        return _Piece(number, x, centre, text, "button", f"{tag}{'▸' if on else '·'}")
    return _Piece(number, x, centre, text, "button", f"┤{tag} ", "├")


def _tail(url: str) -> str:
    """Return the last part of a URL, as text for a link without a name."""
    return url.partition("?")[0].rstrip("/").rpartition("/")[2][:40]


def _frames(
    page: Page, places: list[tuple[float, float, float, float]], scale: float, width: int, down: float
) -> list[_Frame]:
    """Return the areas to frame, outer ones first, nested at most three deep."""
    found: list[_Frame] = []
    inside: list[tuple[int, int]] = []  # (depth in the tree, depth of frames)
    for index, node in enumerate(page.nodes):
        while inside and inside[-1][0] >= node.depth:
            inside.pop()
        if node.role not in FRAMED or node.box is None:
            continue
        x, y, w, h = places[index]
        frame = _Frame(
            " ".join([node.role, *plain_name(node.name).split()]),
            max(0, int(x * scale)), min(width - 1, math.ceil((x + w) * scale) - 1),
            y, y + h, inside[-1][1] + 1 if inside else 0,
        )  # fmt: skip
        whole = node.role == "main" or (w * scale >= width - 2 and h > 0.9 * down)
        if frame.right - frame.left < 14 or h < 1.5 * LINE or whole or frame.depth > 2:
            continue
        inside.append((node.depth, frame.depth))
        found.append(frame)
    return found[:60]


def _rows(
    pieces: list[_Piece], frames: list[_Frame], width: int, scale: float, down: float,
    outside: tuple[int, int, int, int], *, roomy: bool,
) -> tuple[tuple[tuple[CanvasRun, ...], ...], tuple[int, int]]:  # fmt: skip
    """Lay out pieces and frames; return the rows, and first and end row of the window."""
    canvas = TextCanvas(width)
    pieces.sort(key=lambda p: (p.y, p.x))
    tops = sorted(frames, key=lambda f: (f.top, f.depth))
    bottoms = sorted(frames, key=lambda f: (f.bottom, -f.depth))
    placed: list[tuple[int, list[_Piece]]] = []
    first, last, before = -1, -1, -math.inf
    opened = opening = 0
    at = 0

    def edges(until: float) -> None:
        """Add rows for the borders of frames that begin or end above `until`."""
        nonlocal opened, opening, before
        while True:
            begins = tops[opening].top if opening < len(tops) else math.inf
            ends = bottoms[opened].bottom if opened < len(bottoms) else math.inf
            if min(begins, ends) > until or math.isinf(min(begins, ends)):
                return
            row, before = canvas.row(), -math.inf
            if ends <= begins:
                while opened < len(bottoms) and bottoms[opened].bottom <= ends + SAME_LINE / 2:
                    _shut(canvas, bottoms[opened], row)
                    opened += 1
            else:
                while opening < len(tops) and tops[opening].top <= begins + SAME_LINE / 2:
                    tops[opening].rows = (row, 0)
                    opening += 1

    above, below, left, right = outside
    if not above:
        first = 0
    while at < len(pieces) and len(canvas.cells) < MOST_ROWS:
        band = [pieces[at]]
        at += 1
        while at < len(pieces) and pieces[at].y - band[0].y <= SAME_LINE:
            band.append(pieces[at])
            at += 1
        y = band[0].y
        if first < 0 and y >= 0:
            _edge(canvas, f"▲ above: {above} element{'s' if above != 1 else ''}")
            first = len(canvas.cells)
        if last < 0 and y >= down:
            last = len(canvas.cells)
            _edge(canvas, f"▼ the window ends here; below: {below} element{'s' if below != 1 else ''}")
        edges(y)
        if roomy and before > -math.inf and y - before > 2.2 * LINE:
            canvas.row()
        before = y
        while band:
            row = canvas.row()
            fits, band = _share(sorted(band, key=lambda p: p.x), width, scale)
            placed.append((row, fits))
    if at < len(pieces):
        _edge(canvas, f"… {len(pieces) - at} more further down")
    edges(1e9 if pieces else -math.inf)
    for frame in sorted(frames, key=lambda f: f.depth):
        _outline(canvas, frame)
    for row, fits in placed:
        _write(canvas, row, fits, width, scale)
    if left or right:
        _edge(
            canvas,
            "  ".join(
                filter(None, [f"◂ left: {left}" if left else "", f"▸ right: {right}" if right else ""])
            ),
        )
    if not canvas.cells:
        _edge(canvas, "the page is empty")
    end = last if last >= 0 else len(canvas.cells)
    begin = first if first >= 0 else end
    return tuple(tuple(canvas.runs(row)) for row in range(len(canvas.cells))), (begin, end)


def _shut(canvas: TextCanvas, frame: _Frame, row: int) -> None:
    frame.rows = (frame.rows[0], row)


def _edge(canvas: TextCanvas, text: str) -> None:
    row = canvas.row()
    canvas.put(row, 0, cut(f"╌╌ {text} ", canvas.width), "edge")
    for column in range(canvas.width):
        if canvas.kinds[row][column] == "blank":
            canvas.cells[row][column], canvas.kinds[row][column] = "╌", "edge"


def _start(piece: _Piece, scale: float, width: int) -> int:
    return min(max(0, round(piece.x * scale)), max(0, width - LEAST))


def _least(piece: _Piece) -> int:
    """Return the least number of cells that a piece needs."""
    fixed = width_of(piece.prefix) + width_of(piece.suffix)
    return fixed + min(width_of(piece.text), LEAST)


def _share(band: list[_Piece], width: int, scale: float) -> tuple[list[_Piece], list[_Piece]]:
    """Return the pieces that fit into one row, and the rest."""
    fits: list[_Piece] = []
    rest: list[_Piece] = []
    column = 0
    for piece in band:
        start = max(_start(piece, scale, width), column)
        if fits and start + _least(piece) > width:
            rest.append(piece)
            continue
        fits.append(piece)
        column = start + _least(piece) + 1
    return fits, rest


def _outline(canvas: TextCanvas, frame: _Frame) -> None:
    top, bottom = frame.rows
    if bottom <= top:
        return
    for column in range(frame.left + 1, frame.right):
        canvas.line(top, column, "─")
        canvas.line(bottom, column, "─")
    for row in range(top + 1, bottom):
        canvas.line(row, frame.left, "│")
        canvas.line(row, frame.right, "│")
    corners = (
        (top, frame.left, "┌"),
        (top, frame.right, "┐"),
        (bottom, frame.left, "└"),
        (bottom, frame.right, "┘"),
    )
    for row, column, corner in corners:
        canvas.line(row, column, corner)
    title = cut(f" {frame.title} ", frame.right - frame.left - 3)
    canvas.put(top, frame.left + 2, title, "line")


def _starts(canvas: TextCanvas, row: int, fits: list[_Piece], width: int, scale: float) -> list[int]:
    """Return the column of each piece of a row: to scale, or further left if it would be cut otherwise."""
    column = 0
    starts: list[int] = []
    for piece in fits:
        start = max(_start(piece, scale, width), column)
        if canvas.kinds[row][min(start, width - 1)] == "line" and start + 2 + _least(piece) <= width:
            start += 2
        starts.append(start)
        column = start + _least(piece) + 1
    end = width
    for at in range(len(fits) - 1, -1, -1):
        lowest = starts[at - 1] + _natural(fits[at - 1]) + 1 if at else 0
        for cell in range(min(starts[at], width) - 1, lowest - 1, -1):
            if canvas.kinds[row][cell] == "line":
                lowest = cell + 2
                break
        starts[at] = min(starts[at], max(lowest, end - _natural(fits[at])))
        end = starts[at] - 1
    return starts


def _natural(piece: _Piece) -> int:
    return width_of(piece.prefix) + width_of(piece.text) + width_of(piece.suffix)


def _write(canvas: TextCanvas, row: int, fits: list[_Piece], width: int, scale: float) -> None:
    """Write one row. A piece may be as long as the space before the next one."""
    starts = _starts(canvas, row, fits, width, scale)
    for at, piece in enumerate(fits):
        end = starts[at + 1] - 1 if at + 1 < len(starts) else width
        border = next((c for c in range(starts[at] + 1, end) if canvas.kinds[row][c] == "line"), end)
        if border - 1 - starts[at] >= _least(piece):
            end = min(end, border - 1 if border < end else end)
        fixed = width_of(piece.prefix) + width_of(piece.suffix)
        text = cut(piece.text, max(1, end - starts[at] - fixed))
        if piece.fill:
            wanted = min(piece.fill, end - starts[at]) - fixed
            text = filled(text, max(width_of(text), wanted))
        column = canvas.put(
            row, starts[at], piece.prefix, "number" if piece.prefix else piece.kind, piece.item
        )
        column = canvas.put(row, column, text, piece.kind, piece.item)
        canvas.put(row, column, piece.suffix, "number", piece.item)

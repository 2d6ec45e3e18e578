"""A page's picture, decoded and cut to cells. Pillow is loaded by the first picture, never by the start."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.color import Color
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_PIXELS = 40_000_000
_CELL = (1, 2)
"""A cell is about twice as high as wide; where its size is known, that counts."""
MARK = (255, 120, 0)
HALF = "▀"

Box = tuple[float, float, float, float]


def decoded(jpeg: bytes, marks: tuple[Box, ...] = (), view: tuple[int, int] = (0, 0)) -> Image | None:
    """Return a picture with frames around what is marked, None if it is no JPEG, or damaged. Never raises.

    Args:
        marks: x, y, width, height in CSS pixels of the window.
        view: Of the browser's window, in CSS pixels.
    """
    from PIL import Image, ImageDraw

    try:
        with Image.open(io.BytesIO(jpeg), formats=("JPEG",)) as opened:
            if opened.width * opened.height > MOST_PIXELS:
                return None
            image = opened.convert("RGB")
    except Exception:  # Pillow's decoders raise many kinds, and a recording may come from anywhere.
        return None
    if marks and view[0] > 0:
        scale, pen = image.width / view[0], ImageDraw.Draw(image)
        for x, y, width, height in marks:
            edges = [v * scale for v in (x - 4, y - 4, x + width + 4, y + height + 4)]
            if edges[2] > edges[0] and edges[3] > edges[1]:
                pen.rectangle(edges, outline=MARK, width=max(2, round(5 * scale)))
    return image


def area(image: tuple[int, int], columns: int, rows: int, cell: tuple[int, int] = (0, 0)) -> tuple[int, int]:
    """Return the cells a picture takes, its proportions kept: all of it in sight, or, where that would leave
    most of the width empty, as wide as there is room for and longer than there are rows.

    Args:
        image: Pixels across and down.
        cell: Pixels of a cell, (0, 0) if unknown.
    """
    columns, rows = max(1, columns), max(1, rows)
    across, down = cell if all(cell) else _CELL
    tall = image[1] / image[0] * across / down  # rows for each column
    if columns * tall <= rows:
        return columns, max(1, round(columns * tall))
    whole = max(1, int(rows / tall))
    if whole * 5 >= columns * 3:
        return whole, rows
    return columns, max(1, round(columns * tall))


def blocks(image: Image, columns: int, rows: int, *, grey: bool = False) -> list[Strip]:
    """Return a picture as half-blocks: two pixels a cell, the upper in front, the lower behind."""
    from PIL.Image import Resampling

    small = image.resize((columns, rows * 2), Resampling.LANCZOS)
    if grey:
        small = small.convert("L").convert("RGB")
    pixels, strips = small.tobytes(), []
    styles: dict[bytes, Style] = {}
    for row in range(rows):
        upper, lower = 2 * row * columns * 3, (2 * row + 1) * columns * 3
        segments: list[Segment] = []
        last, count = b"", 0
        for column in range(columns + 1):
            at = column * 3
            pair = pixels[upper + at : upper + at + 3] + pixels[lower + at : lower + at + 3]
            if column < columns and pair == last:
                count += 1
                continue
            if count:
                style = styles.get(last)
                if style is None:
                    style = styles[last] = Style(
                        color=Color.from_rgb(*last[:3]), bgcolor=Color.from_rgb(*last[3:])
                    )
                segments.append(Segment(HALF * count, style))
            last, count = pair, 1
        strips.append(Strip(segments, columns))
    return strips

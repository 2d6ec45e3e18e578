"""Decodes the picture of a page and fits it to cells. Pillow is imported with the first picture, not at the start."""

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
"""Proportions of a cell if its size is unknown: twice as high as wide."""
MARK = (255, 120, 0)
HALF = "▀"

Box = tuple[float, float, float, float]


def decode(jpeg: bytes, marks: tuple[Box, ...] = (), view: tuple[int, int] = (0, 0)) -> Image | None:
    """Decode a JPEG and draw frames around marked areas; None if it is damaged or no JPEG. Never raises.

    Args:
        jpeg: The file's contents.
        marks: Areas as x, y, width, height in CSS pixels of the browser's window.
        view: Width and height of the browser's window, in CSS pixels.
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
    """Return the columns and rows of a picture with its proportions kept.

    The whole picture is made to fit, unless that would leave more than two fifths of the width empty. Then it fills
    the width and has more rows than there is room for.

    Args:
        image: Width and height in pixels.
        columns: Available columns.
        rows: Available rows.
        cell: Width and height of a cell in pixels, (0, 0) if unknown.
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
    """Draw a picture with half-blocks: two pixels per cell, the upper as foreground, the lower as background."""
    from PIL.Image import Resampling

    small = image.resize((columns, rows * 2), Resampling.LANCZOS)
    if grey:
        small = small.convert("L").convert("RGB")
    pixels, lines = small.tobytes(), []
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
        lines.append(Strip(segments, columns))
    return lines

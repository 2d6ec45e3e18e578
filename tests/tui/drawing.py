"""Draws the screen of an app with Pillow, cell by cell, so that pictures need no browser and no network."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import matplotlib
from PIL import Image, ImageDraw, ImageFont
from rich.cells import cell_len
from rich.style import Style
from textual.app import App

SIZE, CELL = 15, (9, 18)
"""Size of the font, and width and height of a cell, in pixels."""
_FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
_FACES = {(False, False): "DejaVuSansMono", (True, False): "DejaVuSansMono-Bold",
          (False, True): "DejaVuSansMono-Oblique", (True, True): "DejaVuSansMono-BoldOblique"}  # fmt: skip
_BRAILLE = ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2), (0, 3), (1, 3))
"""Column and row of each bit's dot. The font has no braille."""
_MARKS = {"\u0302": "ˆ", "\u0303": "˜", "\u0304": "ˉ"}
"""Marks that stand over the letter before them, and the signs that are drawn for them."""
_INK, _GROUND = (232, 232, 234), (21, 23, 30)


def draw(app: App) -> Image.Image:
    """Return a picture of what an app shows now."""
    width, height = app.size
    image = Image.new("RGB", (width * CELL[0], height * CELL[1]), _GROUND)
    pen = ImageDraw.Draw(image)
    for row, strip in enumerate(app.screen._compositor.render_strips(app.size)[:height]):
        column = 0
        for segment in strip:
            ink, ground, bold, italic = _look(segment.style)
            first = column
            for character in segment.text:
                if character in _MARKS:  # over the letter before it
                    mark = (column - 1) * CELL[0], (row + 1) * CELL[1] - 7
                    pen.text(mark, _MARKS[character], fill=ink, font=_font(bold, italic), anchor="ls")
                    continue
                for part in range(cell_len(character)):
                    _cell(pen, column + part, row, " " if part else character, ink, ground, _font(bold, italic))
                column += cell_len(character)
            if segment.style is not None and segment.style.underline:
                down = (row + 1) * CELL[1] - 2
                pen.line((first * CELL[0], down, column * CELL[0] - 1, down), fill=ink)
    return image


def _look(style: Style | None) -> tuple[tuple[int, ...], tuple[int, ...], bool, bool]:
    """Return colour of the text and of the ground, and whether it is bold and italic."""
    ink, ground = _INK, _GROUND
    if style is None:
        return ink, ground, False, False
    if style.color is not None:
        ink = tuple(style.color.get_truecolor())
    if style.bgcolor is not None:
        ground = tuple(style.bgcolor.get_truecolor(foreground=False))
    if style.reverse:
        ink, ground = ground, ink
    if style.dim:
        ink = tuple((a + b) // 2 for a, b in zip(ink, ground, strict=True))
    return ink, ground, bool(style.bold), bool(style.italic)


def _cell(pen, column, row, character, ink, ground, font) -> None:
    x, y = column * CELL[0], row * CELL[1]
    pen.rectangle((x, y, x + CELL[0] - 1, y + CELL[1] - 1), fill=ground)
    if "\u2800" <= character <= "\u28ff":
        for bit, (across, down) in enumerate(_BRAILLE):
            if ord(character) >> bit & 1:
                left, top = x + 1 + across * 4, y + 2 + down * 4
                pen.rectangle((left, top, left + 1, top + 1), fill=ink)
    elif character != " ":
        pen.text((x, y + CELL[1] - 4), character, fill=ink, font=font, anchor="ls")


@cache
def _font(bold: bool, italic: bool) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(str(_FONTS / f"{_FACES[bold, italic]}.ttf"), SIZE)

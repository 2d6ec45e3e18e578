"""The pictures of the docs: the script makes all of them, and draws what the screen shows."""

from __future__ import annotations

import asyncio

from PIL import Image
from textual.app import App
from textual.widgets import Static

from tests.tui import pictures
from tests.tui.drawing import CELL, draw


def drawn(text: str) -> Image.Image:
    class Small(App):
        def compose(self):
            yield Static(text, markup=False)

    async def take():
        app = Small()
        async with app.run_test(size=(8, 2)) as pilot:
            await pilot.pause()
            return draw(app)

    return asyncio.run(take())


def cell(image: Image.Image, column: int) -> Image.Image:
    return image.crop((column * CELL[0], 0, (column + 1) * CELL[0], CELL[1]))


def test_each_character_is_in_its_cell_and_marks_stand_over_the_letter_before():
    plain, marked, braille = drawn("VxV"), drawn("V\u0302xV"), drawn("\u28c0x")
    assert plain.size == (8 * CELL[0], 2 * CELL[1])
    assert cell(marked, 1).tobytes() == cell(plain, 1).tobytes()
    assert cell(marked, 0).tobytes() != cell(plain, 0).tobytes()
    low = cell(braille, 0)
    ground = low.getpixel((0, 0))
    dots = {(x // 4, y // 4) for x in range(CELL[0]) for y in range(CELL[1]) if low.getpixel((x, y)) != ground}
    assert dots == {(0, 3), (1, 3)}


def test_the_script_makes_every_picture_of_the_docs():
    there = {file.name for file in pictures.DOCS.iterdir() if file.suffix in (".png", ".gif")}
    assert there == set(pictures.made())


def test_the_animation_of_the_readme_is_small_and_moves():
    file = pictures.DOCS / "watch.gif"
    assert file.stat().st_size < 1_000_000
    assert Image.open(file).n_frames >= 10
    assert "docs/watch.gif" in "".join((pictures.DOCS.parent / "README.md").read_text().splitlines()[:10])

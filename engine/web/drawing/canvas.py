"""A canvas of character cells; each cell has a character, a kind, and the item it belongs to.

Wide characters take two cells, combining characters none.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field


def width_of(text: str) -> int:
    """Return how many cells `text` takes."""
    if text.isascii():
        return len(text) if text.isprintable() else sum(c.isprintable() for c in text)
    return sum(_cells(character) for character in text)


def _cells(character: str) -> int:
    if not character.isprintable() or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def cut(text: str, width: int) -> str:
    """Return `text` in at most `width` cells, with an ellipsis if it was cut."""
    if width_of(text) <= width:
        return text
    kept, used = "", 0
    for character in text:
        size = _cells(character)
        if used + size > width - 1:
            break
        kept, used = kept + character, used + size
    return kept + "…" if width > 0 else ""


def filled(text: str, width: int) -> str:
    """Return `text` cut or padded to exactly `width` cells."""
    text = cut(text, width)
    return text + " " * (width - width_of(text))


def wrapped(text: str, width: int) -> list[str]:
    """Return `text` as lines of at most `width` cells. Words longer than that are not split."""
    lines: list[str] = []
    for word in text.split():
        if lines and width_of(lines[-1]) + 1 + width_of(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


@dataclass(frozen=True, slots=True)
class CanvasRun:
    """A piece of a row with one kind and one item.

    Attributes:
        text: Its characters.
        kind: "blank", "line", "edge" (of the window), "text", "heading", "link", "button", "field" or "number".
        item: Index into the wireframe's items, -1 for none.
    """

    text: str
    kind: str
    item: int = -1


@dataclass(slots=True)
class TextCanvas:
    """Rows of cells. Later text overwrites earlier text."""

    width: int
    cells: list[list[str]] = field(default_factory=list)
    kinds: list[list[str]] = field(default_factory=list)
    owners: list[list[int]] = field(default_factory=list)

    def row(self) -> int:
        """Add an empty row; return its number."""
        self.cells.append([" "] * self.width)
        self.kinds.append(["blank"] * self.width)
        self.owners.append([-1] * self.width)
        return len(self.cells) - 1

    def put(self, row: int, column: int, text: str, kind: str, item: int = -1) -> int:
        """Write text, cut at the edges; return the column after it."""
        for character in text:
            size = width_of(character)
            if size == 0 or column < 0 or column + size > self.width:
                continue
            self.cells[row][column] = character
            if size == 2:
                self.cells[row][column + 1] = ""
            for at in range(column, column + size):
                self.kinds[row][at], self.owners[row][at] = kind, item
            column += size
        return column

    def line(self, row: int, column: int, character: str) -> None:
        """Draw a piece of a line, unless the cell holds text."""
        if 0 <= column < self.width and self.kinds[row][column] in ("blank", "line"):
            self.cells[row][column], self.kinds[row][column] = character, "line"

    def runs(self, row: int) -> Iterator[CanvasRun]:
        """Yield the pieces of a row."""
        text, now = "", ("blank", -1)
        for cell, kind, owner in zip(self.cells[row], self.kinds[row], self.owners[row], strict=True):
            if (kind, owner) != now and text:
                yield CanvasRun(text, *now)
                text = ""
            text, now = text + cell, (kind, owner)
        if text:
            yield CanvasRun(text, *now)

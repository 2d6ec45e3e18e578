"""Lines made of braille characters, and the numbers that they are drawn through."""

from __future__ import annotations

from collections.abc import Sequence

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character by row (from the top) and column."""


def running_average(scores: Sequence[float]) -> list[float]:
    """Return the mean of the first n scores for every n."""
    total, means = 0.0, []
    for count, score in enumerate(scores, 1):
        total += score
        means.append(total / count)
    return means


class BrailleCanvas:
    """A canvas of braille lines and single signs. A cell has two by four dots."""

    def __init__(self, width: int, height: int, low: float, high: float, columns: int) -> None:
        self.width, self.height = width, height
        self.low, self.high = low, high
        self._span = max(high - low, 1e-9)
        self._columns = max(2, columns)
        self._bits = [[0] * width for _ in range(height)]
        self._signs: dict[tuple[int, int], tuple[str, str]] = {}
        self._styles: dict[tuple[int, int], str] = {}

    def _dot(self, index: float, value: float) -> tuple[int, int]:
        x = round(index / (self._columns - 1) * (self.width * 2 - 1))
        y = round((1 - (value - self.low) / self._span) * (self.height * 4 - 1))
        return min(max(x, 0), self.width * 2 - 1), min(max(y, 0), self.height * 4 - 1)

    def index_at(self, column: int) -> int:
        """Return the index that is drawn nearest to a column."""
        return round((column * 2 + 0.5) / (self.width * 2 - 1) * (self._columns - 1))

    def line(self, values: Sequence[float], style: str, every: int = 1) -> None:
        """Draw a line through (0, values[0]), (1, values[1]) ...; it is dotted if `every` > 1."""
        self.path([(float(index), value) for index, value in enumerate(values)], style, every)

    def path(self, points: Sequence[tuple[float, float]], style: str, every: int = 1) -> None:
        """Draw a line through points (index, value); it is dotted if `every` > 1."""
        if not points:
            return
        last = self._dot(*points[0])
        for index, value in points:
            here = self._dot(index, value)
            steps = max(abs(here[0] - last[0]), abs(here[1] - last[1]), 1)
            for s in range(steps + 1):
                x = last[0] + round((here[0] - last[0]) * s / steps)
                y = last[1] + round((here[1] - last[1]) * s / steps)
                if (x + y) % every == 0:
                    self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
                    self._styles[(x // 2, y // 4)] = style
            last = here

    def sign(self, index: float, value: float, sign: str, style: str) -> None:
        """Draw a sign at a point, over the lines."""
        x, y = self._dot(index, value)
        self._signs[(x // 2, y // 4)] = (sign, style)

    def has_sign(self, index: float, value: float) -> bool:
        """Return whether a sign stands where this point is."""
        x, y = self._dot(index, value)
        return (x // 2, y // 4) in self._signs

    def row(self, y: int) -> list[tuple[str, str]]:
        """Return one row as styled pieces."""
        pieces: list[tuple[str, str]] = []
        for x in range(self.width):
            text, style = " ", ""
            if (x, y) in self._signs:
                text, style = self._signs[(x, y)]
            elif self._bits[y][x]:
                text, style = chr(0x2800 + self._bits[y][x]), self._styles[(x, y)]
            if pieces and pieces[-1][1] == style:
                pieces[-1] = (pieces[-1][0] + text, style)
            else:
                pieces.append((text, style))
        return pieces

"""Colours and axes of figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from engine.bench.report.shapes import Line, Panel

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b05a8c", "#c98500", "#26262b", "#56b4e9")
"""Colours of lines on white: those of Okabe and Ito, some darker, which people with colour blindness can tell apart."""
DARK = ("#4fb3ea", "#ff8a3c", "#2fc79a", "#e79ac6", "#f0b93a", "#f4f4f6", "#9a9aff")
"""The same colours on black."""
DASHES = ((), (6, 3), (2, 2))
"""Dashes and gaps of lines. Each is used for as many lines as there are colours."""
LARGE = 1e5
"""From here on, numbers of the horizontal axis are shortened."""


def colour(number: int) -> int:
    """Return which of the colours a line has."""
    return number % len(LIGHT)


def dash(number: int) -> tuple[int, ...]:
    """Return dashes and gaps of a line, nothing for a solid one."""
    return DASHES[number // len(LIGHT) % len(DASHES)]


def span(panel: Panel) -> tuple[float, float, float, float]:
    """Return the ends of the axes: left, right, bottom, top. None of them has the length 0."""
    x = [value for line in panel.lines for value in line.x]
    y = [value for line in panel.lines for row in (line.y, line.low or (), line.high or ()) for value in row]
    if panel.ticks:
        x = [-0.5, len(panel.ticks) - 0.5]
    left, right = (min(x) / 1.1, max(x) * 1.1) if panel.log else _wide(x)
    bottom, top = _wide(y)
    edge = (top - bottom) * 0.06
    return left, right, bottom - (0 if bottom == 0 else edge), top + edge


def powers(low: float, high: float) -> tuple[float, ...]:
    """Return the marks of a logarithmic axis: powers of ten; if there are few, 3 times, or 2 and 5 times them, too."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    factors = (1, 2, 5) if last - first <= 2 else (1, 3) if last - first <= 3 else (1,)
    found = (factor * 10.0**power for power in range(first, last + 1) for factor in factors)
    return tuple(one for one in found if low <= one <= high)


def short(value: float) -> str:
    """Return a number of the horizontal axis as text; large ones in thousands (k), millions (M), and so on."""
    for size, sign in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= max(size, LARGE):
            return f"{value / size:,.6g}{sign}"
    return f"{value:,.6g}"


def share(panel: Panel, line: Line) -> float:
    """Return how much of the horizontal axis a line takes, 0 to 1."""
    left, right, *_ = span(panel)
    if panel.log:
        return math.log(line.x[-1] / line.x[0]) / math.log(right / left)
    return (line.x[-1] - line.x[0]) / (right - left)


def _wide(values: Sequence[float] | Iterable[float]) -> tuple[float, float]:
    found = list(values) or [0.0]
    low, high = min(found), max(found)
    if high - low > 1e-9 * max(1.0, abs(low), abs(high)):
        return low, high
    half = max(0.5, abs(low) * 0.05)
    return low - half, high + half

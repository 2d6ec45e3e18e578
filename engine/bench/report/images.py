"""Figures as SVG and PNG, drawn by matplotlib (the extra `report`), with the colours and axes that they have."""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

from engine import extras
from engine.bench.report.elements import Figure, Line, Panel
from engine.texts import drawable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#b05a8c", "#c98500", "#26262b", "#56b4e9")
"""Colours of lines on white: those of Okabe and Ito, some darker, which people with colour blindness can tell apart."""
DARK = ("#4fb3ea", "#ff8a3c", "#2fc79a", "#e79ac6", "#f0b93a", "#f4f4f6", "#9a9aff")
"""The same colours on black."""
DASHES = ((), (6, 3), (2, 2))
"""Dashes and gaps of lines. Each is used for as many lines as there are colours."""
LARGE = 1e5
"""From here on, numbers of the horizontal axis are shortened."""


def dashes_of(number: int) -> tuple[int, ...]:
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


FORMATS = ("svg", "png")
_INK, _SOFT, _RULE, _GROUND = "#1d1d22", "#63636e", "#dedee4", "#ffffff"
_STYLE = {
    "font.size": 9.0, "axes.titlesize": 10.0, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": _SOFT, "axes.grid": True,
    "axes.grid.axis": "y", "grid.color": _RULE, "axes.axisbelow": True, "xtick.color": _SOFT, "ytick.color": _SOFT,
    "axes.labelcolor": _SOFT, "legend.frameon": False, "text.color": _INK, "axes.facecolor": "none",
    "figure.facecolor": _GROUND, "svg.fonttype": "none", "svg.hashsalt": "jitrl",
}  # fmt: skip
_BARE = {"svg": {"Date": None, "Creator": None, "Format": None, "Type": None}, "png": {"Software": None}}
"""Nothing in a file says when and with what it was made, so the same results give the same bytes."""
_DPI = 160
_ENTRY, _LETTER = 0.6, 0.075
"""Width of a legend's entry without its text, and of a letter, in inches."""


def draw(figure: Figure, ending: str) -> bytes:
    """Return a figure in one of `FORMATS`.

    Raises:
        MissingError: matplotlib is not installed.
    """
    matplotlib = extras.load("report", "matplotlib")
    from matplotlib.figure import Figure as Drawing

    columns = min(3, max(1, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE, "backend": "agg"}):
        drawing = Drawing(figsize=(3.3 * columns, 2.6 * rows + 0.35), dpi=_DPI, layout="constrained")
        panels = drawing.subplots(rows, columns, squeeze=False)
        handles: dict[str, Artist] = {}
        for place, panel in zip(panels.flat, figure.panels, strict=False):
            handles.update(_panel(place, panel))
        for place in list(panels.flat)[len(figure.panels) :]:
            place.axis("off")
        names = [label for label, _ in figure.legend]
        artists = [handles[name] for name in names]
        room = int(3.3 * columns / (_ENTRY + _LETTER * max(map(len, names), default=0)))
        beside = min(len(names), 6, max(1, room))
        drawing.legend(artists, list(map(_plain, names)), loc="outside lower center", ncols=beside)
        data = io.BytesIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Glyph")  # Letters that the font lacks are shown as boxes.
            drawing.savefig(data, format=ending, metadata=_BARE[ending])
    return data.getvalue()


def inline(figure: Figure) -> str:
    """Return a figure as SVG for a page that has the style `colours`.

    Raises:
        MissingError: matplotlib is not installed.
    """
    text = draw(figure, "svg").decode()
    text = re.sub("<style.*?</style>|<metadata>.*?</metadata>", "", text[text.index("<svg ") + 5 :], flags=re.DOTALL)
    for name, colour in _named(LIGHT, _INK, _SOFT, _RULE, _GROUND).items():
        text = text.replace(f": {colour}", f": var({name})")
    return f'<svg class="figure" role="img" aria-label="{escape(drawable(figure.title))}" {text}'


def colours(dark: bool = False) -> str:
    """Return the colours of a page, and of the figures in it, as properties of CSS."""
    named = _named(DARK, "#e8e8ea", "#a3a3ad", "#3a3a42", "#17171b") if dark else _named(
        LIGHT, _INK, _SOFT, _RULE, _GROUND)  # fmt: skip
    return ";".join(f"{name}:{colour}" for name, colour in named.items())


def _named(lines: tuple[str, ...], ink: str, soft: str, rule: str, ground: str) -> dict[str, str]:
    """Return colours by the names of their properties."""
    return {f"--c{i}": one for i, one in enumerate(lines)} | {
        "--ink": ink, "--soft": soft, "--rule": rule, "--ground": ground
    }  # fmt: skip


def missing() -> str:
    """Return how to get what figures need; "" if it is here."""
    return "" if extras.is_installed("report") else str(extras.missing_extra("report"))


def _panel(place: Axes, panel: Panel) -> dict[str, Artist]:
    """Draw a panel, and return its lines by name."""
    handles: dict[str, Artist] = {}
    for line in panel.lines:
        colour = LIGHT[line.colour % len(LIGHT)]
        dashes = dashes_of(line.colour)
        if line.low is not None and line.high is not None:
            place.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
        marker = "o" if panel.points or len(line.x) == 1 else ""
        (handles[line.label],) = place.plot(line.x, line.y, color=colour, linewidth=1.5, marker=marker, markersize=3.5,
                                            linestyle=(0, dashes) if dashes else "-")  # fmt: skip
    left, right, bottom, top = span(panel)
    if panel.log:
        place.set_xscale("log")
        marks = powers(left, right)
        place.set_xticks(marks, list(map(short, marks)))
        place.set_xticks([], minor=True)
    elif right >= LARGE:
        place.xaxis.set_major_formatter(lambda value, _: short(value))
    place.set_xlim(left, right)
    place.set_ylim(bottom, top)
    if panel.ticks:
        place.set_xticks(range(len(panel.ticks)), list(map(_plain, panel.ticks)))
    place.set_title(_plain(panel.title))
    place.set_xlabel(_plain(panel.x))
    place.set_ylabel(_plain(panel.y))
    return handles


def _plain(text: str) -> str:
    """Return text in which matplotlib finds no formula, and nothing that SVG cannot hold."""
    return drawable(text).replace("$", r"\$")

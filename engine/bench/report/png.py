"""Figures as PNG, drawn by matplotlib (the extra `report`)."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING

from engine import extras
from engine.bench.report import axes
from engine.bench.report.shapes import Figure, Panel

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_STYLE = {
    "font.size": 9.0, "axes.titlesize": 10.0, "axes.titleweight": "bold", "axes.titlelocation": "left",
    "axes.spines.top": False, "axes.spines.right": False, "axes.edgecolor": "#63636e", "axes.grid": True,
    "axes.grid.axis": "y", "grid.color": "#dedee4", "axes.axisbelow": True, "xtick.color": "#63636e",
    "ytick.color": "#63636e", "axes.labelcolor": "#63636e", "legend.frameon": False,
}  # fmt: skip
_DPI = 160
_ENTRY, _LETTER = 0.6, 0.075
"""Width of a legend's entry without its text, and of a letter, in inches."""


def png(figure: Figure) -> bytes:
    """Return a figure as PNG.

    Raises:
        MissingError: matplotlib is not installed.
    """
    matplotlib = extras.load("report", "matplotlib")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Drawing

    columns = min(3, max(1, len(figure.panels)))
    rows = -(-len(figure.panels) // columns)
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **_STYLE, "backend": "agg"}):
        drawing = Drawing(figsize=(3.3 * columns, 2.6 * rows + 0.35), dpi=_DPI, layout="constrained")
        FigureCanvasAgg(drawing)
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
            drawing.savefig(data, format="png", metadata={"Software": None})
    return data.getvalue()


def missing() -> str:
    """Return how to get what pictures in PNG need; "" if it is here."""
    return "" if extras.installed("report") else str(extras.lacking("report"))


def _panel(place: Axes, panel: Panel) -> dict[str, Artist]:
    """Draw a panel, and return its lines by name."""
    handles: dict[str, Artist] = {}
    for line in panel.lines:
        colour = axes.LIGHT[axes.colour(line.colour)]
        dashes = axes.dash(line.colour)
        if line.low is not None and line.high is not None:
            place.fill_between(line.x, line.low, line.high, color=colour, alpha=0.13, linewidth=0)
        marker = "o" if panel.points or len(line.x) == 1 else ""
        (handles[line.label],) = place.plot(line.x, line.y, color=colour, linewidth=1.5, marker=marker, markersize=3.5,
                                            linestyle=(0, dashes) if dashes else "-")  # fmt: skip
    left, right, bottom, top = axes.span(panel)
    if panel.log:
        place.set_xscale("log")
        marks = axes.powers(left, right)
        place.set_xticks(marks, list(map(axes.short, marks)))
        place.set_xticks([], minor=True)
    elif right >= axes.LARGE:
        place.xaxis.set_major_formatter(lambda value, _: axes.short(value))
    place.set_xlim(left, right)
    place.set_ylim(bottom, top)
    if panel.ticks:
        place.set_xticks(range(len(panel.ticks)), panel.ticks)
    place.set_title(_plain(panel.title))
    place.set_xlabel(_plain(panel.x))
    place.set_ylabel(_plain(panel.y))
    return handles


def _plain(text: str) -> str:
    """Return text in which matplotlib finds no formula."""
    return text.replace("$", r"\$")

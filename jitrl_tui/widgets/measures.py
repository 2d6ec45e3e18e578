"""The curves of sessions in characters: a plot of each measure, beside each other or one alone."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from engine.records import total_cost
from jitrl_tui.runs.amounts import dollars
from jitrl_tui.runs.curves import MEASURES, UNKNOWN, Curve, CurveMeasure, running_mean, thin_out, window_of
from jitrl_tui.runs.plot import BrailleCanvas
from jitrl_tui.runs.view import points
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit
from jitrl_tui.widgets.plots import MOST_PLANNED, with_axes

LEAST_WIDTH, LEAST_HEIGHT = 110, 32
"""Smallest size of a pane that shows all measures at once."""
_COLUMNS, _GAP = 3, 2
_COLOURS = {"": NAME, "E": MUTED, "A": ACCENT, "B": GOOD, "C": HUMAN}
_FAR = 4.0
"""A maximum that is more than this many times the largest score is told, not drawn."""


def brief(value: float) -> str:
    """Return a number in at most six characters, as it stands at an axis."""
    size = abs(value)
    if size >= 1e6:
        return f"{value / 1e6:.1f}M"
    if size >= 1e4:
        return f"{value / 1e3:.0f}k"
    if value == int(value) or size >= 100:
        return points(round(value))
    return f"{value:.1f}" if size >= 1 else f"{value:.4f}".rstrip("0")


class CurvesPane(LinePane):
    """The curves of a session and of those that it is compared with.

    Attributes:
        measure: Number of the measure that is shown if there is room for one, or if one was chosen.
        whole: Whether one measure has the whole pane, also where there is room for all.
    """

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self.measure = 0
        self.whole = False
        self._curves: Sequence[Curve] = ()
        self._planned = 0

    def show(self, curves: Sequence[Curve], planned: int) -> None:
        """Show these curves, the session's own first. `planned` is the number of its episodes, 0 if not known."""
        self._curves, self._planned = curves, planned
        self.renew()

    def turn(self, by: int) -> None:
        """Give the pane to another measure, of those that are not 0 throughout."""
        choices = [MEASURES[0], *self._not_zero()]
        at = choices.index(MEASURES[self.measure]) if MEASURES[self.measure] in choices else 0
        self.measure, self.whole = MEASURES.index(choices[(at + by) % len(choices)]), True
        self.renew()

    def _not_zero(self) -> list[CurveMeasure]:
        """Return the measures besides the score that are not 0 throughout."""
        return [one for one in MEASURES[1:] if any(any(curve.values(one)) for curve in self._curves)]

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the plots, and under them the names of the curves. Measures that are 0 throughout are not plotted."""
        if not any(rows for curve in self._curves for _, rows in curve.sessions):
            return [Content.styled(fit("The first point comes with the end of the first episode.", width), MUTED)]
        legend = self._legend(width)
        height -= len(legend) + 1
        if self.whole or width < LEAST_WIDTH or height < LEAST_HEIGHT - len(legend):
            plots = self._plot(MEASURES[self.measure], width, height)
        else:
            each = max(8, height * 3 // 10)
            measures = self._not_zero()
            below = len(measures) // _COLUMNS + 1  # rows of plots; the totals are the last one
            plots = self._plot(MEASURES[0], width, height - below * each)
            size = (width - _GAP * (_COLUMNS - 1)) // _COLUMNS
            for first in range(0, len(measures) + 1, _COLUMNS):
                small = [self._plot(one, size, each) for one in measures[first : first + _COLUMNS]]
                small += [self._totals(size, each)] * (len(small) < _COLUMNS)
                plots += [_beside(row, size) for row in zip(*small, strict=True)]
        return [*plots, Content(""), *legend]

    def _plot(self, measure: CurveMeasure, width: int, height: int) -> list[Content]:
        """Return the plot of one measure, with a heading: exactly `height` lines."""
        score = measure.name == "score"
        drawn = [(curve, curve.values(measure)) for curve in self._curves]
        longest = max(len(values) for _, values in drawn)
        count = max(self._planned if self._planned <= MOST_PLANNED else 0, longest, 2)
        found = [value for _, values in drawn for value in values] or [0.0]
        top = max(found)
        most = next((curve.max_score for curve in self._curves if curve.max_score is not None), None)
        limit = most if score and most is not None and most <= _FAR * max(top, 0.0) else None
        low, high = min(0.0, *found), max(top, limit or 0.0)
        high = high if high > low else low + 1.0
        label = max(len(brief(low)), len(brief(high)))
        canvas = BrailleCanvas(max(4, width - label - 2), max(2, height - 2), low, high, count)
        if limit is not None:
            canvas.path([(0, limit), (count - 1, limit)], GOOD, every=4)
        for curve, values in reversed(drawn):
            path = thin_out(running_mean(values, window_of(self._curves)) if score else values, canvas.width * 2)
            style = _COLOURS[curve.letter]
            canvas.path(path, style, every=3 if curve.letter == "E" else 1)
            if curve.letter and path:
                canvas.sign(*path[-1], curve.letter, style)
        own = drawn[0][1]
        if score and len(own) <= canvas.width:
            for index, value in enumerate(own):
                canvas.sign(index, value, "•", ACCENT)
        if score and own:
            best = max(range(len(own)), key=own.__getitem__)
            canvas.sign(best, own[best], "★", GOOD)
        heading = self._heading(measure, own, width, most if score else None, drawn=limit is not None)
        return [heading, *with_axes(canvas, f"episode {count}", width, brief)]

    def _heading(
        self, measure: CurveMeasure, own: Sequence[float], width: int, most: float | None, *, drawn: bool
    ) -> Content:
        """Return the name of a measure with its numbers, the shorter text if there is no room for the longer one."""
        if measure.name != "score" or not own:
            form = f",.{measure.decimals}f"
            mean = f"last {own[-1]:{form}}, mean {sum(own) / len(own):{form}}" if own else UNKNOWN
            return Content.assemble((f"{measure.title}  ", STRONG), (mean, MUTED)).truncate(width, ellipsis=True)
        best, window = max(own), window_of(self._curves)
        for longer in (True, False):
            parts: list[tuple[str, str]] = [
                (f"{measure.title}  ", STRONG),
                ("• ", ACCENT), (f"last {points(own[-1])}  ", ""),
                ("⠒ ", NAME), (f"mean of {window}: {points(round(running_mean(own, window)[-1], 1))}  ", ""),
                ("★ ", GOOD), (f"best {points(best)}" + f" (episode {list(own).index(best) + 1})" * longer + "  ", ""),
            ]  # fmt: skip
            if most is not None:
                parts += [("⠐ ", GOOD), (f"maximum {points(most)}" + " (above the plot)" * (longer and not drawn), "")]
            heading = Content.assemble(*parts).rstrip()
            if heading.cell_length <= width:
                break
        return heading.truncate(width, ellipsis=True)

    def _totals(self, width: int, height: int) -> list[Content]:
        """Return what the session took in all: exactly `height` lines."""
        rows = self._curves[0].sessions[0][1]
        calls, retrieval_s = sum(row.calls for row in rows), sum(row.retrieval_s for row in rows)
        totals = [
            ("this session", STRONG),
            (f"{len(rows):,} episodes, {sum(row.steps for row in rows):,} steps", ""),
            (f"{sum(row.wall_s for row in rows):,.1f} s", ""),
            (f"{calls:,} model calls in {sum(row.latency_s for row in rows):,.1f} s", ""),
            (f"{sum(row.tokens for row in rows):,} tokens, {dollars(total_cost(row.cost_usd for row in rows))}", ""),
            (f"{sum(row.retrievals for row in rows):,} retrievals in {retrieval_s:,.2f} s", ""),
        ]
        lines = [Content.styled(fit(text, width), style) for text, style in totals][:height]
        return lines + [Content("")] * (height - len(lines))

    def _legend(self, width: int) -> list[Content]:
        """Return a line for each curve: its mark, its name, and what it shows."""
        lines = []
        for curve in self._curves:
            mark = curve.letter or "⠒"
            line = Content.assemble(
                (f"{mark} ", _COLOURS[curve.letter]), (curve.name, "" if curve.letter else STRONG),
                (f"  {curve.about}", MUTED),
            )  # fmt: skip
            if not any(rows for _, rows in curve.sessions) and curve.letter:
                line = Content.assemble(line, ("  no episode has ended", BAD))
            lines.append(line.truncate(width, ellipsis=True))
        return lines


def _beside(row: Sequence[Content], size: int) -> Content:
    """Return lines beside each other, each in a column of `size` cells."""
    parts: list[Content | str] = []
    for number, line in enumerate(row):
        parts.append(line)
        if number < len(row) - 1:
            parts.append(" " * (size - line.cell_length + _GAP))
    return Content.assemble(*parts)

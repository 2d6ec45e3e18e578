"""The learning curve: score of each episode, running average, best score, and the previous session."""

from __future__ import annotations

from collections.abc import Sequence

from textual.content import Content

from jitrl_tui.view import Choice, RunView, points
from jitrl_tui.widgets.lines import ACCENT, GOOD, MUTED, NAME, LinePane, fit
from jitrl_tui.widgets.pane import How, PaneKind

_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Bits of a braille character by row (from the top) and column."""


def running_average(scores: Sequence[float]) -> list[float]:
    """Return the mean of the first n scores for every n."""
    total, means = 0.0, []
    for count, score in enumerate(scores, 1):
        total += score
        means.append(total / count)
    return means


class Canvas:
    """A canvas of braille lines and single signs. A cell has two by four dots."""

    def __init__(self, width: int, height: int, low: float, high: float, columns: int) -> None:
        self.width, self.height = width, height
        self._low, self._span = low, max(high - low, 1e-9)
        self._columns = max(2, columns)
        self._bits = [[0] * width for _ in range(height)]
        self._signs: dict[tuple[int, int], tuple[str, str]] = {}
        self._styles: dict[tuple[int, int], str] = {}

    def _dot(self, index: float, value: float) -> tuple[int, int]:
        x = round(index / (self._columns - 1) * (self.width * 2 - 1))
        y = round((1 - (value - self._low) / self._span) * (self.height * 4 - 1))
        return min(max(x, 0), self.width * 2 - 1), min(max(y, 0), self.height * 4 - 1)

    def line(self, values: Sequence[float], style: str, every: int = 1) -> None:
        """Draw a line through (0, values[0]), (1, values[1]) ...; it is dotted if `every` > 1."""
        if not values:
            return
        last = self._dot(0, values[0])
        for index, value in enumerate(values):
            here = self._dot(index, value)
            steps = max(abs(here[0] - last[0]), abs(here[1] - last[1]), 1)
            for s in range(steps + 1):
                x = last[0] + round((here[0] - last[0]) * s / steps)
                y = last[1] + round((here[1] - last[1]) * s / steps)
                if (x + y) % every == 0:
                    self._bits[y // 4][x // 2] |= _DOTS[y % 4][x % 2]
                    self._styles[(x // 2, y // 4)] = style
            last = here

    def sign(self, index: int, value: float, sign: str, style: str) -> None:
        """Draw a sign at a point, over the lines."""
        x, y = self._dot(index, value)
        self._signs[(x // 2, y // 4)] = (sign, style)

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


class CurvePane(LinePane):
    """Scores over episodes, as a plot."""

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._view = RunView()
        self._shown: tuple[object, ...] = ()

    def look(self, view: RunView, choice: Choice | None, how: How) -> None:
        """Show the scores of this view, if they have changed."""
        now = (len(view.scores), view.scores[-1] if view.scores else 0.0, view.previous, view.started is None)
        if now != self._shown:
            self._shown, self._view, self._stale = now, view, True
        self.rebuild()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the plot with its axes and a legend."""
        scores, previous = list(self._view.scores), self._view.previous
        planned = self._view.started.episodes if self._view.started else 0
        if not scores and not previous:
            return [
                Content.styled(fit("The first point comes with the end of the first episode.", width), MUTED)
            ]
        means = running_average(scores)
        values = scores + list(previous)
        low, high = min(0.0, min(values)), max(max(values), 1.0)
        count = max(planned if planned <= 500 else 0, len(scores), 2)
        label = max(len(points(high)), len(points(low)))
        rows = max(2, height - 2)
        columns = max(4, width - label - 2)
        canvas = Canvas(columns, rows, low, high, count)
        if previous:
            canvas.line(running_average(previous)[:count], MUTED, every=3)
        canvas.line(means, NAME)
        if len(scores) <= columns * 2:
            for index, score in enumerate(scores):
                canvas.sign(index, score, "•", ACCENT)
        if scores:
            top = max(range(len(scores)), key=scores.__getitem__)
            canvas.sign(top, scores[top], "★", GOOD)
        lines = []
        for y in range(rows):
            tick = points(high) if y == 0 else points(low) if y == rows - 1 else ""
            lines.append(Content.assemble((tick.rjust(label) + " │", MUTED), *canvas.row(y)))
        right = f"episode {count}"
        axis = " " * label + " └1" + "─" * max(0, columns - 1 - len(right)) + right
        lines.append(Content.styled(fit(axis, width), MUTED))
        lines.append(self._legend(scores, means, previous, width))
        return lines

    def _legend(
        self, scores: Sequence[float], means: Sequence[float], previous: Sequence[float], width: int
    ) -> Content:
        parts: list[tuple[str, str]] = []
        if scores:
            best = max(scores)
            parts = [
                ("• ", ACCENT), (f"last {points(scores[-1])}  ", ""),
                ("⠒ ", NAME), (f"average {points(round(means[-1], 1))}  ", ""),
                ("★ ", GOOD), (f"best {points(best)} (episode {list(scores).index(best) + 1})  ", ""),
            ]  # fmt: skip
        if previous:
            parts.append((f"⠂ before: {points(round(sum(previous) / len(previous), 1))}", MUTED))
        return Content.assemble(*parts).truncate(width, ellipsis=True)


KIND = PaneKind("curve", "learning curve", lambda: CurvePane("curve"), letter="l", lines=(0, 7))

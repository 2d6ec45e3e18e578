"""The curves of a benchmark: the scores of one cell, and the averages of all arms on its tasks."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rich.cells import cell_len
from textual.content import Content

from engine.bench.progress import CellProgress
from jitrl_tui.runs.bench_view import SIGNS, ArmCurve, task_of
from jitrl_tui.runs.view import points
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, HUMAN, MUTED, NAME, STRONG, LinePane, fit, wrap
from jitrl_tui.widgets.plots import MOST_PLANNED, canvas_for, score_plot, with_axes

_COLOURS = (NAME, ACCENT, GOOD, HUMAN, STRONG, BAD)
_SENTENCE = 3
"""Most lines of a cell's error or last sentence."""
_ROOMY = 12
"""Lower panes leave out what a worker said."""


class CellCurve(LinePane):
    """What one cell does, and its scores."""

    can_focus = False

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._one: CellProgress | None = None

    def show(self, one: CellProgress | None) -> None:
        """Show a cell as it is now."""
        self._one = one
        self.border_title = Content(fit(one.cell.name, 200).rstrip()) if one else ""
        self.renew()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the state in words, then the plot."""
        one = self._one
        if one is None:
            return []
        lines = self._cell_lines(one, width, height)
        if not one.scores:
            return [*lines, Content.styled(fit("No episode has ended yet.", width), MUTED)]
        return [*lines, *score_plot(one.scores, one.measured, width, height - len(lines))]

    def _cell_lines(self, one: CellProgress, width: int, height: int) -> list[Content]:
        text = f"{SIGNS[one.state]} {one.state}"
        if one.state == "running" and one.in_episode:
            task = f"{task_of(one)}, " if len(one.cell.legs) > 1 else ""
            text += f": {task}episode {one.episode}, step {one.step}, score {points(one.score)}"
        lines = [Content(fit(text, width))]
        if one.error:
            sentence, style = wrap(one.error.replace("\n", " "), width), BAD
        else:
            sentence, style = wrap(one.said.replace("\n", " "), width) if height >= _ROOMY else [], MUTED
        if len(sentence) > _SENTENCE:
            sentence[_SENTENCE - 1 :] = [fit(f"{sentence[_SENTENCE - 1]} …", width)]
        return [*lines, *(Content.styled(line, style) for line in sentence if line)]


class ArmCurves(LinePane):
    """The running average of each arm, with the arm's letter at its end."""

    can_focus = False

    def __init__(self, id: str) -> None:
        super().__init__(id)
        self._curves: Sequence[ArmCurve] = ()
        self._planned = 0

    def show(self, curves: Sequence[ArmCurve], planned: int, title: str) -> None:
        """Show these curves.

        Args:
            curves: The arms, best first.
            planned: Number of planned episodes of a cell.
            title: What they were played on.
        """
        self._curves, self._planned = curves, planned
        self.border_title = Content(fit(f"average of each arm: {title}", 200).rstrip())
        self.renew()

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the plot with its legend."""
        curves = self._curves
        if not curves:
            return [Content.styled(fit("No episode has ended yet.", width), MUTED)]
        most = max(1, height // 3)
        longest = max(cell_len(curve.name) for curve in curves)
        whole = [_flowing([_entry(curve, longest, seeds=True) for curve in curves], width)]
        shorter = (_flowing([_entry(curve, name) for curve in curves], width) for name in range(longest, 0, -1))
        for legend in itertools.chain(whole, shorter):
            if len(legend) <= most:
                break
        legend = legend[:most]
        played = max(len(curve.values) for curve in curves)
        count = max(self._planned if self._planned <= MOST_PLANNED else 0, played, 2)
        values = [value for curve in curves for value in curve.values]
        canvas = canvas_for(width, height - len(legend), values, count)
        for curve in reversed(curves):
            canvas.line(curve.values, _colour(curve))
        for curve in curves:
            # Where lines meet at their ends, the letters of all but the best stand further to the left.
            at = len(curve.values) - 1
            while at > 0 and canvas.has_sign(at, curve.values[at]):
                at -= 1
            canvas.sign(at, curve.values[at], curve.letter, _colour(curve))
        return [*with_axes(canvas, f"episode {count}", width), *legend]


def _entry(curve: ArmCurve, room: int, *, seeds: bool = False) -> Content:
    """Return an arm's entry in the legend, with at most `room` characters of its name."""
    played = f" ({curve.seeds} seed{'' if curve.seeds == 1 else 's'})" if seeds and curve.seeds else ""
    name = fit(curve.name, min(room, cell_len(curve.name)))
    text = f"{name} {points(round(curve.values[-1], 1))}".lstrip()
    return Content.assemble((f"{curve.letter} ", _colour(curve)), text, (f"{played}  ", MUTED))


def _colour(curve: ArmCurve) -> str:
    return _COLOURS[(ord(curve.letter) - ord("A")) % len(_COLOURS)]


def _flowing(entries: Sequence[Content], width: int) -> list[Content]:
    """Return entries on as few lines as possible."""
    lines: list[Content] = []
    for entry in entries:
        if lines and lines[-1].cell_length + entry.rstrip().cell_length <= width:
            lines[-1] = lines[-1] + entry
        else:
            lines.append(entry)
    return [line.truncate(width, ellipsis=True) for line in lines]

"""Bars and plots in characters. They differ in shape, not only in colour."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from textual.content import Content

from jitrl_tui.runs.plot import BrailleCanvas, running_average
from jitrl_tui.runs.view import percents, points
from jitrl_tui.widgets.lines import ACCENT, GOOD, MUTED, NAME, fit

_EIGHTHS = " ▏▎▍▌▋▊▉"


def thick(share: float, width: int) -> tuple[str, str]:
    """Return a thick bar for `share` (0 to 1) and the empty rest, together `width` cells."""
    eighths = round(min(max(share, 0.0), 1.0) * width * 8)
    full, part = divmod(eighths, 8)
    bar = "█" * full + (_EIGHTHS[part] if part else "")
    if share > 0 and not bar:
        bar = _EIGHTHS[1]
    return bar, "·" * (width - len(bar))


def thin(share: float, width: int) -> tuple[str, str]:
    """Return a thin bar for the previous `share` (0 to 1) and the empty rest, together `width` cells."""
    halves = round(min(max(share, 0.0), 1.0) * width * 2)
    full, part = divmod(halves, 2)
    bar = "━" * full + ("╸" if part else "")
    if share > 0 and not bar:
        bar = "╸"
    return bar, "·" * (width - len(bar))


def changed(before: float, after: float, width: int) -> tuple[str, str, str]:
    """Return the common part of two shares, the gain (▓) or loss (░), and the empty rest, together `width` cells."""
    full = round(min(max(after, 0.0), 1.0) * width)
    old = round(min(max(before, 0.0), 1.0) * width)
    if full >= old:
        kept, moved = "█" * old, "▓" * (full - old)
    else:
        kept, moved = "█" * full, "░" * (old - full)
    if after > 0 and not kept and not moved:
        kept = _EIGHTHS[1]
    return kept, moved, "·" * (width - len(kept) - len(moved))


def moved(before: float, after: float, low: float, high: float, width: int, cap: float | None = None) -> str:
    """Return a track of `width` cells from `low` to `high`: ◇ at `before`, ◆ at `after`, a line between them.

    `┤` marks the cap, beyond which `after` cannot be; where it is reached, ◆ stands there.
    """
    span = high - low
    ends = [round((x - low) / span * (width - 1)) if span > 0 else 0 for x in (before, after)]
    cells = ["·"] * width
    if cap is not None and span > 0:
        cells[round((cap - low) / span * (width - 1))] = "┤"
    for at in range(min(ends), max(ends) + 1):
        cells[at] = "━"
    cells[ends[0]] = "◇"
    cells[ends[1]] = "◆"
    return "".join(cells)


def arrow(before: float, after: float) -> str:
    """Return an arrow for the change of a probability in whole percents."""
    moved = percents(before, after)
    return "▲" if moved > 0 else "▼" if moved < 0 else "="


MOST_PLANNED = 500
"""Most planned episodes that have room on the axis from the start. A longer run gets a longer axis as it goes on."""


def canvas_for(width: int, height: int, values: Sequence[float], count: int) -> BrailleCanvas:
    """Return an empty canvas for a plot with axes of `width` columns and `height` rows.

    Args:
        width: Columns of the plot.
        height: Rows of the plot.
        values: All values that will be drawn. The axis has 0 and 1 in any case.
        count: Number of points of the horizontal axis.
    """
    low, high = min(0.0, *values), max(1.0, *values)
    return BrailleCanvas(max(4, width - _label_size(low, high) - 2), max(2, height - 1), low, high, count)


def framed(canvas: BrailleCanvas, last: str, width: int, tick_of: Callable[[float], str] = points) -> list[Content]:
    """Return the lines of a plot: the canvas with its vertical axis, and the horizontal axis from 1 to `last`.

    Args:
        canvas: What was drawn.
        last: Text at the right end of the horizontal axis.
        width: Columns of the plot.
        tick_of: Returns the text of a value at the vertical axis.
    """
    top, base = tick_of(canvas.high), tick_of(canvas.low)
    label = max(len(top), len(base))
    lines = []
    for y in range(canvas.height):
        tick = top if y == 0 else base if y == canvas.height - 1 else ""
        lines.append(Content.assemble((tick.rjust(label) + " │", MUTED), *canvas.row(y)))
    axis = " " * label + " └1" + "─" * max(0, canvas.width - 1 - len(last)) + last
    lines.append(Content.styled(fit(axis, width), MUTED))
    return lines


def _label_size(low: float, high: float) -> int:
    return max(len(points(high)), len(points(low)))


def score_plot(
    scores: Sequence[float], planned: int, width: int, height: int, previous: Sequence[float] = ()
) -> list[Content]:
    """Return a plot of the scores of episodes and of their running average, with a legend; a sentence if all are 0.

    Args:
        scores: Scores so far. There must be one, or a previous one.
        planned: Number of planned episodes, 0 if it is not known.
        width: Columns of the plot.
        height: Rows of the plot and its legend.
        previous: Mean scores of earlier sessions that can be compared. Their average is drawn too.
    """
    if scores and not any((*scores, *previous)):
        many = f"All {len(scores)} episodes ended" if len(scores) > 1 else "The first episode ended"
        return [Content.styled(fit(f"{many} with score 0: there is no curve yet.", width), MUTED)]
    means = running_average(scores)
    count = max(planned if planned <= MOST_PLANNED else 0, len(scores), 2)
    canvas = canvas_for(width, height - 1, (*scores, *previous), count)
    if previous:
        canvas.line(running_average(previous)[:count], MUTED, every=3)
    canvas.line(means, NAME)
    if len(scores) <= canvas.width * 2:
        for index, score in enumerate(scores):
            canvas.sign(index, score, "•", ACCENT)
    if scores:
        top = max(range(len(scores)), key=scores.__getitem__)
        canvas.sign(top, scores[top], "★", GOOD)
    return [*framed(canvas, f"episode {count}", width), _legend(scores, means, previous, width)]


def episode_at(column: int, scores: Sequence[float], planned: int, width: int, previous: Sequence[float] = ()) -> int:
    """Return the number of the episode that `score_plot` shows nearest to a column; 0 if there is none."""
    count = max(planned if planned <= MOST_PLANNED else 0, len(scores), 2)
    canvas = canvas_for(width, 2, (*scores, *previous), count)
    return min(max(1, canvas.index_at(column - (width - canvas.width)) + 1), len(scores))


def _legend(scores: Sequence[float], means: Sequence[float], previous: Sequence[float], width: int) -> Content:
    """Return the legend; where there is little room, without the number of the best episode."""
    for longer in (True, False):
        parts: list[tuple[str, str]] = []
        if scores:
            best = max(scores)
            where = f" (episode {list(scores).index(best) + 1})" if longer else ""
            parts = [
                ("• ", ACCENT), (f"last {points(scores[-1])}  ", ""),
                ("⠒ ", NAME), (f"average {points(round(means[-1], 1))}  ", ""),
                ("★ ", GOOD), (f"best {points(best)}{where}  ", ""),
            ]  # fmt: skip
        if previous:
            parts.append((f"⠂ earlier {points(round(sum(previous) / len(previous), 1))}", MUTED))
        legend = Content.assemble(*parts).rstrip()
        if legend.cell_length <= width:
            break
    return legend.truncate(width, ellipsis=True)

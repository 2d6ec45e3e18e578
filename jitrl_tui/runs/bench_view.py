"""A benchmark as it is shown: the order of its cells, the fields of their rows, and the curves of its arms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from string import ascii_uppercase

from engine.bench.progress import BenchProgress, CellProgress
from jitrl_tui.runs.amounts import amount, dollars
from jitrl_tui.runs.plot import running_average
from jitrl_tui.runs.view import points
from jitrl_tui.system.output import one_line

SIGNS = {"running": "▸", "failed": "✗", "stopped": "■", "finished": "✓", "waiting": "·"}
"""A sign for each state, in the order in which cells are listed."""
_ORDER = {state: place for place, state in enumerate(SIGNS)}


@dataclass(frozen=True, slots=True)
class CellColumn:
    """A column of the list of cells.

    Attributes:
        name: Its header.
        rank: Columns with the highest rank are left out first if the window is too narrow.
        cut: Width to which its texts are cut before a column is left out; 0 if they are never cut.
        right: Whether its fields stand at the right.
    """

    name: str
    rank: int
    cut: int = 0
    right: bool = False


COLUMNS = (
    CellColumn("state", 2),
    CellColumn("task", 0, cut=16),
    CellColumn("arm", 0, cut=14),
    CellColumn("model", 5, cut=18),
    CellColumn("seed", 0, right=True),
    CellColumn("episode", 0, right=True),
    CellColumn("score", 1, right=True),
    CellColumn("avg", 0, right=True),
    CellColumn("tokens", 4, right=True),
    CellColumn("cost", 3, right=True),
    CellColumn("cell", 6, cut=20),
)
"""Columns in their order. A sign of the state stands before them."""


def fields(one: CellProgress) -> tuple[str, ...]:
    """Return the fields of a cell's row, in the order of `COLUMNS`."""
    average, scores = one.average, one.scores
    score = points(one.score) if one.state == "running" and one.in_episode else points(scores[-1]) if scores else ""
    return (
        one.state,
        one_line(task_of(one)),
        one_line(one.cell.arm),
        one_line(one.cell.model),
        str(one.cell.seed),
        f"{one.done}/{one.of}",
        score,
        "" if average is None else f"{average:.1f}".replace("-", "\N{MINUS SIGN}"),
        amount(one.tokens) if one.tokens else "",
        "unknown" if one.usd is None else dollars(one.usd) if one.usd else "",
        one_line(one.cell.name),
    )


def task_of(one: CellProgress) -> str:
    """Return the task of a cell; of a cell with several, the present one, or how many there are."""
    legs = one.cell.legs
    if len(legs) == 1:
        return legs[0].task
    if one.state == "running":
        return f"{one.leg + 1}/{len(legs)} {legs[one.leg].task}"
    return tasks_of(one)


def models(progress: BenchProgress) -> list[str]:
    """Return the models of a run, each once."""
    return list(dict.fromkeys(one.cell.model for one in progress.cells.values() if one.cell.model))


def tasks_of(one: CellProgress) -> str:
    """Return the measured tasks of a cell in a few words."""
    return one.tasks[0] if len(one.tasks) == 1 else f"{len(one.tasks)} tasks"


def ordered_cells(progress: BenchProgress, wanted: str = "") -> list[CellProgress]:
    """Return the cells in the order in which they are shown: those that are played first, then failed ones.

    Args:
        progress: The state of the run.
        wanted: Words. Each must occur in a field of the row, upper or lower case.
    """
    words = wanted.casefold().split()
    found = [one for one in progress.cells.values() if not words or _has(one, words)]
    return sorted(found, key=lambda one: _ORDER[one.state])  # Stable: cells of a state keep the order of the plan.


def _has(one: CellProgress, words: Sequence[str]) -> bool:
    cell = one.cell
    texts = (cell.name, cell.arm, cell.model, one.state, f"seed {cell.seed}", *one.tasks)
    text = "\n".join(texts).casefold()
    return all(word in text for word in words)


@dataclass(frozen=True, slots=True)
class ArmCurve:
    """The learning curve of an arm, over its seeds.

    Attributes:
        letter: The letter that marks it in the plot, which no other arm of the run has.
        name: Name of the arm, with its model if the run has several.
        values: For each n, the mean of the average of the first n scores, over the seeds that have played n episodes.
        seeds: Number of seeds that have a score; 0 where a curve is of one run alone.
    """

    letter: str
    name: str
    values: tuple[float, ...]
    seeds: int


def arm_curves(progress: BenchProgress, like: CellProgress) -> list[ArmCurve]:
    """Return a curve for each arm that has played the tasks of a cell, the highest last average first."""
    several = len(models(progress)) > 1
    arms = dict.fromkeys((one.cell.arm, one.cell.model) for one in progress.cells.values())
    letters = dict(zip(arms, _letters(), strict=False))
    runs: dict[tuple[str, str], list[list[float]]] = {}
    wanted = set(like.tasks)
    for one in progress.cells.values():
        if one.scores and set(one.tasks) == wanted:
            runs.setdefault((one.cell.arm, one.cell.model), []).append(running_average(one.scores))
    curves = []
    for (arm, model), averages in runs.items():
        name = f"{arm}, {model}" if several and model else arm
        curves.append(ArmCurve(letters[arm, model], one_line(name), _mean(averages), len(averages)))
    return sorted(curves, key=lambda curve: -curve.values[-1])


def _letters() -> Iterator[str]:
    """Yield A to Z, again and again."""
    while True:
        yield from ascii_uppercase


def _mean(rows: Sequence[Sequence[float]]) -> tuple[float, ...]:
    """Return the mean of each column over the rows that reach it."""
    longest = max(map(len, rows))
    columns = ([row[at] for row in rows if len(row) > at] for at in range(longest))
    return tuple(sum(column) / len(column) for column in columns)

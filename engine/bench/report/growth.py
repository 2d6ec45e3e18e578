"""Retrieval and score as memory grows: episodes in bins by the size of memory before them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.bench.measures import MEASURES, Value
from engine.bench.report import words
from engine.bench.report.elements import Column, Figure, Line, Panel, Table, TableCell, TableRow
from engine.bench.report.results import ArmRow, Results


@dataclass(frozen=True, slots=True)
class Bin:
    """Episodes of an arm that began with about as many remembered steps.

    Attributes:
        start: Smallest size of memory.
        end: First size of the next bin.
        episodes: Number of episodes.
        score: Their mean score, or share of the highest score in percent.
        retrieval_ms: Mean duration of their retrievals, None without any.
    """

    start: int
    end: int
    episodes: int
    score: float
    retrieval_ms: float | None


def bins(results: Results, arm: ArmRow, width: int) -> tuple[Bin, ...]:
    """Return the test episodes of an arm by the size of memory before them; nothing if it remembers nothing."""
    found: dict[int, list[tuple[float, float, int]]] = {}
    remembers = False
    for played in results.finished(arm, results.everything).values():
        for row in played.rows:
            timing, most = results.timing(row), row.max_score
            if results.percent and not most:
                continue
            score = row.score / most * 100 if results.percent and most else row.score
            took = (timing.retrieval_s, timing.retrievals) if timing is not None else (0.0, 0)
            found.setdefault(max(0, row.entries - row.added) // width, []).append((score, *took))
            remembers = remembers or row.entries > 0
    if not remembers:
        return ()
    made = []
    for number, episodes in sorted(found.items()):
        retrievals = sum(count for _, _, count in episodes)
        ms = 1000 * sum(seconds for _, seconds, _ in episodes) / retrievals if retrievals else None
        mean = sum(score for score, _, _ in episodes) / len(episodes)
        made.append(Bin(number * width, (number + 1) * width, len(episodes), mean, ms))
    return tuple(made)


def width(results: Results) -> int:
    """Return the width of the bins that the suite asks for, 0 for none."""
    wished = results.wishes.get("bins")
    return wished if isinstance(wished, int) and not isinstance(wished, bool) and wished > 0 else 0


def table(results: Results) -> Table | None:
    """Return the table by size of memory; None if the suite does not ask for it, or nothing is remembered."""
    size = width(results)
    rows = []
    for arm in results.arms if size else ():
        name = f"{arm.name} ({arm.model})" if len(results.models) > 1 else arm.name
        for one in bins(results, arm, size):
            score = words.number(one.score, MEASURES["avg"], 1)
            ms = words.MISSING if one.retrieval_ms is None else f"{one.retrieval_ms:.2f}"
            part = f"{one.start}–{one.end}"
            cells = (TableCell(str(one.episodes)), TableCell(ms, value=Value(one.retrieval_ms, n=one.episodes)),
                     TableCell(score, value=Value(one.score, n=one.episodes)))  # fmt: skip
            rows.append(TableRow(f"{one.start:,}–{one.end:,}", cells, name, (), arm.name, arm.model, part))
    if not rows:
        return None
    columns = (
        Column("Episodes"), Column("Retrieval (ms)", "", "retrieval", "all"),
        Column("Avg (%)" if results.percent else "Avg", "", "avg", "all"),
    )  # fmt: skip
    return Table(
        "memory", "By size of memory", "Episodes by the number of remembered steps before them.", "Remembered steps",
        columns, tuple(rows), timed=True,
    )  # fmt: skip


def figure(results: Results) -> Figure | None:
    """Return score and retrieval against the size of memory; None if there is no table of it."""
    size = width(results)
    scores, retrievals = [], []
    for arm in results.arms if size else ():
        label = f"{arm.name} ({arm.model})" if len(results.models) > 1 else arm.name
        found = bins(results, arm, size)
        colour = results.names.index(arm.name)
        if found:
            middles = tuple((one.start + one.end) / 2 for one in found)
            scores.append(Line(label, colour, middles, tuple(one.score for one in found)))
        known = [(one, one.retrieval_ms) for one in found if one.retrieval_ms is not None]
        if known:
            middles = tuple((one.start + one.end) / 2 for one, _ in known)
            retrievals.append(Line(label, colour, middles, tuple(ms for _, ms in known)))
    if not scores:
        return None
    axis = "score (%)" if results.percent else "score"
    panels = [Panel("Mean score", "remembered steps", axis, tuple(scores), points=True)]
    if retrievals:
        panels.append(Panel("Retrieval", "remembered steps", "ms", tuple(retrievals), points=True))
    return Figure("memory-curves", "As memory grows", "Means of the episodes in each bin.", tuple(panels), timed=True)

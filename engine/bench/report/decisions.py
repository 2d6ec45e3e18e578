"""What decisions rested on, by episode: memory, the model's own choice, and unusable answers."""

from __future__ import annotations

import math

from engine.bench.measures import MEASURES, ScoredEpisodes, Value
from engine.bench.records import EpisodeRow
from engine.bench.report import numbers
from engine.bench.report.results import ArmRow, Results
from engine.bench.report.shapes import Column, Table, TableCell, TableRow

SHOWN = ("neighbours", "changed", "own", "unusable", "tokens")
"""Measures of the table."""
MOST_ROWS = 20
"""Largest number of rows of an arm. If it has more episodes, a row has several."""


def table(results: Results) -> Table | None:
    """Return the table; None if no episode has anything to say."""
    measures = [MEASURES[name] for name in SHOWN]
    rows = []
    for arm in results.arms:
        name = f"{arm.name} ({arm.model})" if len(results.models) > 1 else arm.name
        for part, episodes in _parts(results, arm).items():
            found = [Value(one.function(ScoredEpisodes(tuple(episodes))), n=len(episodes)) for one in measures]
            cells = [
                numbers.cell(value, one, numbers.digits(one, ())) for one, value in zip(measures, found, strict=True)
            ]
            rows.append(TableRow(part, (TableCell(str(len(episodes))), *cells), name, (), arm.name, arm.model, part))
    asked = any(row.answers.get("asked") or row.answers.get("searched") for row in results.rows)
    if not rows or not asked:
        return None
    columns = (
        Column("Played"), *(Column(numbers.heading(one), "", one.name, "all") for one in measures)
    )  # fmt: skip
    notes = " ".join(f"{one.title}: {one.meaning}." for one in measures)
    return Table(
        "decisions", "Decisions by episode", "Of every episode that was finished, over all tasks and seeds; those of "
        f"unfinished ones are included. {notes}", "Episode", columns, tuple(rows),
    )  # fmt: skip


def _parts(results: Results, arm: ArmRow) -> dict[str, list[EpisodeRow]]:
    """Return the episodes of an arm by their numbers, as "3" or "4–6"."""
    numbered = list(results.numbered(arm))
    last = max((number for number, _ in numbered), default=1)
    width = math.ceil(last / MOST_ROWS)
    found: dict[int, list[EpisodeRow]] = {}
    for number, row in numbered:
        found.setdefault((number - 1) // width, []).append(row)
    return {
        str(at + 1) if width == 1 else f"{at * width + 1}–{min((at + 1) * width, last)}": episodes
        for at, episodes in sorted(found.items())
    }

"""The main table of suites with many tasks: a row for each task and arm."""

from __future__ import annotations

import statistics as plain

from engine.bench.measures import MEASURES, ScoredEpisodes, Value, mean, values
from engine.bench.report import words
from engine.bench.report.elements import Column, Table, TableCell, TableRow
from engine.bench.report.results import ArmRow, Results, TaskColumn

_UNKNOWN = TableCell("unknown")


def table(results: Results) -> Table:
    """Return score, share of the highest score, speed and deaths of each task and arm."""
    notes: list[str] = []
    rows = []
    played = [results.finished(arm, place) for arm in results.arms for place in results.places]
    scores = [mean(values(MEASURES[name], units)) for name in ("avg", "final") for units in played if units]
    behind = words.digits(MEASURES["avg"], scores)
    for arm in results.arms:
        name = f"{arm.name} ({arm.model})" if arm.model else arm.name
        doubt = [text for text in (words.invalid(results, arm),) if text]
        for place in results.places:
            own_notes = [*_errors(results, arm, place), *(f"{name}: {text}" for text in doubt)]
            notes += own_notes
            marks = tuple(range(len(notes) - len(own_notes) + 1, len(notes) + 1))
            cells = _cells(results, arm, place, behind)
            rows.append(TableRow(place.name, cells, name, marks, arm.name, arm.model, place.name))
    columns = (
        Column("Avg", "Score", "avg", "all"),
        Column("Last", "Score", "final", "all"),
        Column("Highest possible"),
        Column("Share of it (%)", "", "auc", "all"),
        Column("Deaths", "", "deaths", "all"),
        Column("Episodes"),
        Column("Steps a second", "", "steps_per_second", "all", timed=True),
    )
    return Table(
        "tasks", "Results", "Avg is the mean score of all episodes, Last the score of the last one. Deaths are "
        "episodes that were lost. A highest score that is not known has no share.",
        "Task", columns, tuple(rows), tuple(notes),
    )  # fmt: skip


def _cells(results: Results, arm: ArmRow, place: TaskColumn, behind: int) -> tuple[TableCell, ...]:
    units = results.finished(arm, place)
    of = len(results.planned(arm, place))
    if not units:
        return (TableCell(words.MISSING, of=of),) * 7
    rows = [row for played in units.values() for row in played.rows]
    known = all(row.max_score for row in rows)
    found = {name: mean(values(MEASURES[name], units)) for name in ("avg", "final", "auc")}
    score, last = (
        words.cell(found[name], MEASURES[name], behind, range=False, of=of) for name in ("avg", "final")
    )
    share = found["auc"].mean
    deaths = sum(row.outcome == "lost" for row in rows)
    return (
        score,
        last,
        TableCell(f"{rows[0].max_score:g}") if known else _UNKNOWN,
        TableCell(_percent(share), value=found["auc"], of=of) if known and share is not None else _UNKNOWN,
        TableCell(str(deaths), value=Value(float(deaths), n=len(units)), of=of),
        TableCell(str(len(rows))),
        _speed(list(units.values())),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".replace("-", words.MINUS)


def _speed(units: list[ScoredEpisodes]) -> TableCell:
    """Return the mean number of steps a second, from the beginning of an episode to its end."""
    found = []
    for played in units:
        seconds = sum(timing.wall_s for timing in played.timings)
        if seconds and len(played.timings) == len(played.rows):
            found.append(sum(row.steps for row in played.rows) / seconds)
    speed = plain.fmean(found) if found else None
    return TableCell(words.MISSING if speed is None else f"{speed:.1f}", value=Value(speed, n=len(found)))


def _errors(results: Results, arm: ArmRow, place: TaskColumn) -> list[str]:
    """Return why cells of an arm on a task ended early."""
    cells = (results.cells[name] for name in arm.cells if set(results.cells[name]["tasks"]) <= set(place.tasks))
    errors = dict.fromkeys(str(cell.get("error") or "") for cell in cells)
    return [f"{place.name}: {error}" for error in errors if error]

"""The tables of a report."""

from __future__ import annotations

import math
import statistics as plain
from collections.abc import Mapping, Sequence

from engine import texts
from engine.bench.cases import best
from engine.bench.measures import (
    CERTAIN_UNITS,
    MEASURES,
    Key,
    Measure,
    ScoredEpisodes,
    Value,
    difference,
    mean,
    values,
)
from engine.bench.published import Number, Published
from engine.bench.records import TEST, EpisodeRow
from engine.bench.report import words
from engine.bench.report.elements import Column, Table, TableCell, TableRow
from engine.bench.report.results import ArmRow, Results, TaskColumn
from engine.bench.samples import PER, Samples
from engine.records import total_cost

COSTS = ("steps", "tokens", "calls", "cost", "unusable")
"""Measures of the table of costs."""
TIMES = ("wall", "processor", "retrieval")
"""Measures of the table of times."""


def scores(results: Results, measures: Sequence[Measure]) -> Table:
    """Return the main table: arms x columns x measures, with intervals."""
    arms, columns = results.arms, results.columns
    cells: list[list[TableCell]] = [[] for _ in arms]
    valid = [not words.invalid(results, arm) for arm in arms]
    for place in columns:
        for measure in measures:
            found = [values(measure, results.finished(arm, place), results.percent) for arm in arms]
            means = [mean(one) for one in found]
            behind = words.digits(measure, means, results.percent)
            best = _best(arms, found, measure)
            for i, arm in enumerate(arms):
                cells[i].append(words.cell(
                    means[i], measure, behind, results.percent, bold=i in best and valid[i],
                    remark=words.missing_units(results, arm, place), of=_planned(results, arm, place),
                ))  # fmt: skip
    notes, marks = _notes(results)
    rows = [
        _row(results, arm, cells[i], marks.get(arm, ())) for i, arm in enumerate(arms)
    ]
    return Table(
        "scores", "Results", "Means with 95 % intervals. Bold: better than every other arm with this model, and the "
        f"interval of each paired difference, over at least {CERTAIN_UNITS} pairs, excludes 0. Invalid rows are never "
        "bold.",
        "Arm", _columns(results, measures), tuple(rows), notes,
    )  # fmt: skip


def unfinished_table(results: Results) -> Table | None:
    """Return the episodes so far of what is not finished, a row for each task and seed; None if there are none."""
    planned = results.plan.get("episodes")
    rows = []
    for arm in results.arms:
        for (task, seed), played in results.begun(arm).items():
            scores = [row.score for row in played]
            of = f" of {planned}" if isinstance(planned, int) else ""
            words = (task, str(seed), f"{len(played)}{of}", f"{plain.fmean(scores):.4g}", f"{scores[-1]:.4g}")
            cells = tuple(TableCell(text) for text in words)
            rows.append(_row(results, arm, cells))
    if not rows:
        return None
    columns = (Column("Task", number=False), Column("Seed"), Column("Episodes"), Column("Mean score"), Column("Latest"))
    return Table(
        "unfinished", "Not finished", "Episodes that were finished of tasks and seeds that are not. They are in no "
        "other mean of scores.", "Arm", columns, tuple(rows),
    )  # fmt: skip


def differences(results: Results, measures: Sequence[Measure]) -> Table | None:
    """Return the paired differences to the reference arm, None if there is none or nothing to compare."""
    arms = results.plan.get("arms") or []
    usual = next((str(one.get("name")) for one in arms if one.get("reference")), None)
    against = {str(one.get("name")): str(one["against"]) for one in arms if one.get("against")}
    others = [arm for arm in results.arms if against.get(arm.name, usual) not in (arm.name, None)]
    references = {
        arm: reference for arm in others
        if (reference := _partner(results, against.get(arm.name, usual), arm)) is not None
    }  # fmt: skip
    if not references:
        return None
    pairs: dict[str, list[str]] = {}
    for arm, reference in references.items():
        pairs.setdefault(reference.name, []).append(arm.name)
    name = " and ".join(pairs)
    each = "".join(
        f" Compared with {to}: {words.with_commas(list(dict.fromkeys(arms)))}." for to, arms in pairs.items()
    )
    cells: dict[ArmRow, list[TableCell]] = {arm: [] for arm in references}
    for place in results.columns:
        for measure in measures:
            found = {arm: _difference(results, arm, reference, place, measure) for arm, reference in references.items()}
            behind = words.digits(measure, list(found.values()), results.percent)
            for arm, value in found.items():
                cells[arm].append(words.cell(
                    value, measure, behind, results.percent, sign=True, bold=value.certain,
                    remark=words.missing_units(results, arm, place, references[arm]), of=_planned(results, arm, place),
                ))  # fmt: skip
    rows = tuple(_row(results, arm, cells[arm]) for arm in references)
    return Table(
        "differences", f"Differences to {name}", f"Mean of the differences to {name} on the same task with the same "
        f"seed, with 95 % intervals. Bold: the interval excludes 0, and there are at least {CERTAIN_UNITS} pairs."
        f"{each if against else ''}", "Arm", _columns(results, measures), rows,
    )  # fmt: skip


def costs(results: Results) -> Table:
    """Return what episodes cost, and what was spent in all."""
    rows = []
    for arm in results.arms:
        episodes = results.episodes(arm)
        total = _money(total_cost(row.cost_usd for row in episodes), len(episodes))
        cells = _over_all(results, arm, COSTS)
        rows.append(_row(results, arm, [*cells, total]))
    columns = (*_all_columns(COSTS), Column("In all ($)", "", "total_cost", "all"))
    return Table(
        "costs", "Costs", "Means per episode over all tasks. In all: every episode that was played, those of training "
        "included. Replies from the cache count as if they were bought.", "Arm", columns, tuple(rows),
    )  # fmt: skip


def _money(usd: float | None, n: int) -> TableCell:
    """Return the cell of an amount of US dollars for `n` episodes."""
    return TableCell("unknown") if usd is None else TableCell(f"{usd:,.2f}", value=Value(usd, n=n))


def times(results: Results) -> Table:
    """Return how long episodes and retrievals took."""
    rows = []
    for arm in results.arms:
        took = [timing for row in results.episodes(arm) if (timing := results.timing(row)) is not None]
        hours = sum(one.wall_s for one in took) / 3600
        total = TableCell(f"{hours:.2f}", value=Value(hours, n=len(took)))
        paid = _money(total_cost(one.paid_usd for one in took), len(took))
        rows.append(_row(results, arm, [*_over_all(results, arm, TIMES), total, paid]))
    columns = (
        *_all_columns(TIMES), Column("In all (h)", "", "total_hours", "all"), Column("Paid ($)", "", "paid", "all")
    )  # fmt: skip
    return Table("times", "Times", "Wall time per episode over all tasks, and time per retrieval from memory. Paid: "
                 "without replies from the cache.", "Arm", columns, tuple(rows), timed=True)  # fmt: skip


def samples_table(results: Results, timed: bool = False) -> Table:
    """Return the samples of a life of each arm: those of training, and those that were played.

    Args:
        timed: Whether to show processor hours, which differ from run to run, in place of counts.
    """
    counted = ("hour",) if timed else ("episode", "step", "token")
    rows = []
    for arm in results.arms:
        units = results.finished(arm, results.everything).values()
        before = _average([one.before for one in units] or list(map(results.before, arm.cells)), counted)
        after = _average([one.samples[-1] for one in units], counted)
        between = [None if end is None else end - (start or 0.0) for start, end in zip(before, after, strict=True)]
        found = [*before, *between, *after]
        texts = (words.MISSING if one is None else f"{one:,.{3 if timed else 0}f}" for one in found)
        rows.append(_row(results, arm, [
            TableCell(text, value=Value(one, n=len(units) if one is not None else 0))
            for text, one in zip(texts, found, strict=True)
        ]))  # fmt: skip
    columns = tuple(
        Column(PER[per].capitalize(), group, f"{name}_{PER[per].replace(' ', '_')}", "all")
        for group, name in (("Training", "training"), ("Played", "played"), ("In all", "used"))
        for per in counted
    )
    name, what = ("processor", "Processor time") if timed else ("samples", "Samples")
    return Table(
        name, what, "Means over units (a task with a seed). Training: what the model was trained with, and episodes of "
        "training before the first one that is measured.", "Arm", columns, tuple(rows), timed=timed,
    )  # fmt: skip


def _average(found: Sequence[Samples], counted: Sequence[str]) -> list[float | None]:
    return [plain.fmean(one.amount(per) for one in found) if found else None for per in counted]


def commands(results: Results) -> Table:
    """Return what each arm is, and the command that plays it again."""
    rows = []
    for arm in results.arms:
        reading = next((str(text) for name in arm.cells if (text := results.cells[name].get("reading"))), "")
        replaced = dict.fromkeys(str(one) for name in arm.cells for one in results.cells[name].get("replaced") or ())
        settings = "; ".join(filter(None, (words.changes(results, arm), reading, *replaced)))
        cells = (TableCell(arm.agent), TableCell(arm.model or words.MISSING), TableCell(settings or words.MISSING),
                 TableCell(words.command(results, arm), code=True))  # fmt: skip
        rows.append(TableRow(arm.name, cells))
    columns = (
        Column("Agent", number=False), Column("Model", number=False), Column("Settings", number=False, wide=True),
        Column("Command", number=False, wide=True),
    )  # fmt: skip
    return Table("commands", "Arms and commands", "", "Arm", columns, tuple(rows))


def surroundings(results: Results) -> Table:
    """Return seeds, models, versions and the machine."""
    rows = tuple(TableRow(title, (TableCell(text),)) for title, text in words.surroundings(results))
    return Table("surroundings", "Seeds, versions and machine", "", "", (Column("", number=False, wide=True),), rows)


def published_table(table: Published, results: Results) -> Table:
    """Return a table of the paper, or of another one."""
    columns = []
    for place, name in zip(table.columns, table.measures, strict=True):
        if not name:
            columns.append(Column(place))
            continue
        measure = MEASURES[name]
        columns.append(Column(words.heading(measure) if measure.unit != "share" else measure.title, place))
    rows = tuple(
        TableRow(row.name, tuple(TableCell(_published(value, table.digits)) for value in row.values), row.model)
        for row in table.rows_for(place.name for place in results.places)
    )
    corner = "Game" if table.games else "Method" if all(table.measures) else "Candidate"
    model = f"with {table.model}" if table.model else "with the models named in the table"
    source = table.source or f"Numbers of the JitRL paper, published, {model}."
    return Table(
        f"published-{table.id}", f"Published: {table.title}", f"{source} "
        f"They are not of this run. {table.about}", corner, tuple(columns), rows, ours=False,
    )  # fmt: skip


def _published(value: Number, behind: int) -> str:
    if value is None:
        return words.MISSING
    if isinstance(value, tuple):
        return "–".join(f"{end:g}" for end in value)
    return (f"{value:,}" if isinstance(value, int) else f"{value:,.{behind}f}").replace("-", words.MINUS)


def _best(arms: Sequence[ArmRow], found: Sequence[Mapping[Key, float]], measure: Measure) -> set[int]:
    """Return the arms that are certainly better than all others with their model, by number."""
    best = set()
    for i, arm in enumerate(arms):
        rivals = [j for j, other in enumerate(arms) if j != i and len({arm.model, other.model} - {""}) < 2]
        better = [difference(found[i], found[j]) for j in rivals]
        if better and all(one.certain and (one.mean or 0.0) * measure.better > 0 for one in better):
            best.add(i)
    return best


def _partner(results: Results, name: str | None, arm: ArmRow) -> ArmRow | None:
    """Return the reference arm that an arm is compared with: with the same model, or the only one."""
    references = [one for one in results.arms if one.name == name]
    same = [one for one in references if one.model == arm.model]
    return same[0] if same else references[0] if len(references) == 1 else None


def _difference(results: Results, arm: ArmRow, reference: ArmRow, place: TaskColumn, measure: Measure) -> Value:
    one, other = (values(measure, results.finished(each, place), results.percent) for each in (arm, reference))
    return difference(one, other)


def _over_all(results: Results, arm: ArmRow, names: Sequence[str]) -> list[TableCell]:
    """Return measures of an arm over all tasks, without intervals."""
    place = results.everything
    units, of = results.finished(arm, place), _planned(results, arm, place)
    found = []
    for name in names:
        value = mean(values(MEASURES[name], units))
        found.append(words.cell(value, MEASURES[name], words.digits(MEASURES[name], ()), range=False, of=of))
    return found


def _columns(results: Results, measures: Sequence[Measure]) -> tuple[Column, ...]:
    return tuple(
        Column(words.heading(measure, results.percent), place.name, measure.name, place.name)
        for place in results.columns for measure in measures
    )  # fmt: skip


def _all_columns(names: Sequence[str]) -> tuple[Column, ...]:
    return tuple(Column(words.heading(MEASURES[name]), "", name, "all") for name in names)


def _planned(results: Results, arm: ArmRow, place: TaskColumn) -> int:
    """Return the number of units that a value is averaged over if all are finished: seeds, or tasks."""
    planned = results.planned(arm, place)
    tasks = {task for task, _ in planned}
    return len(planned) if len(tasks) == 1 else len(tasks)


def _row(results: Results, arm: ArmRow, cells: Sequence[TableCell], marks: tuple[int, ...] = ()) -> TableRow:
    return TableRow(arm.name, tuple(cells), _group(results, arm), marks, arm.name, arm.model)


def _group(results: Results, arm: ArmRow) -> str:
    return (arm.model or "without a model") if len(results.models) > 1 else ""


def _notes(results: Results) -> tuple[tuple[str, ...], dict[ArmRow, tuple[int, ...]]]:
    """Return the footnotes, and the numbers of those of each arm."""
    notes: list[str] = []
    marks: dict[ArmRow, tuple[int, ...]] = {}
    for arm in results.arms:
        mine = words.notes_of(results, arm)
        marks[arm] = tuple(range(len(notes) + 1, len(notes) + len(mine) + 1))
        notes += mine
    return tuple(notes), marks


SHOWN = ("neighbours", "changed", "own", "unusable", "tokens")
"""Measures of the table."""
MOST_ROWS = 20
"""Largest number of rows of an arm. If it has more episodes, a row has several."""


def decisions(results: Results) -> Table | None:
    """Return the table; None if no episode has anything to say."""
    measures = [MEASURES[name] for name in SHOWN]
    rows = []
    for arm in results.arms:
        name = f"{arm.name} ({arm.model})" if len(results.models) > 1 else arm.name
        for part, episodes in _parts(results, arm).items():
            found = [Value(one.function(ScoredEpisodes(tuple(episodes))), n=len(episodes)) for one in measures]
            cells = [
                words.cell(value, one, words.digits(one, ())) for one, value in zip(measures, found, strict=True)
            ]
            rows.append(TableRow(part, (TableCell(str(len(episodes))), *cells), name, (), arm.name, arm.model, part))
    asked = any(row.answers.get("asked") or row.answers.get("searched") for row in results.rows)
    if not rows or not asked:
        return None
    columns = (
        Column("Played"), *(Column(words.heading(one), "", one.name, "all") for one in measures)
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


STATE_CHARACTERS = 80
"""Longest description of a state in the table."""


def cases(results: Results) -> Table | None:
    """Return the table, two rows a case; None if the suite asks for none or nothing was found."""
    tasks = {(row.cell, row.leg, row.episode): row.task for row in results.rows if row.phase == TEST}
    rows = []
    for arm in results.arms:
        name = f"{arm.name} ({arm.model})" if len(results.models) > 1 else arm.name
        for task in dict.fromkeys(task for place in results.places for task in place.tasks):
            mine = [case for case in results.cases
                    if case.cell in arm.cells and tasks.get((case.cell, case.leg, case.episode)) == task]
            for case in best(mine, int(results.wishes.get("cases") or 0)):
                place = texts.compact(case.state)[:STATE_CHARACTERS]
                where = f"{place} (episode {case.episode}, step {case.step + 1})"
                for one, points in ((case.before, ""), (case.after, f"{case.points:+g}" if case.points else "")):
                    rows.append(TableRow(task, (
                        TableCell(where if one is case.before else ""), TableCell(one.action, code=True),
                        TableCell(f"{one.z:.2f}"), TableCell(f"{one.z_prime:.2f}"),
                        TableCell(str(one.n)), TableCell(f"{one.q:.2f}"), TableCell(points),
                    ), name, (), arm.name, arm.model))  # fmt: skip
    if not rows:
        return None
    columns = (
        Column("State", number=False, wide=True), Column("Candidate", number=False), Column("Base"), Column("JitRL"),
        Column("Neighbours"), Column("Q"), Column("Points"),
    )  # fmt: skip
    return Table(
        "cases", "Case studies", "Decisions in which memory turned the choice to an action that neighbours took: of "
        "each task those that gained points, then those in which the probability rose most. First the candidate with "
        "the highest logit before the update (Base), then the one with the highest logit after it (JitRL). Points: "
        "what it gained, if it was played.",
        "Task", columns, tuple(rows),
    )  # fmt: skip

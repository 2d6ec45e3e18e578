"""The results of a run: what its folder holds, and which episodes belong to which place of a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

from engine import limits
from engine.bench import cases, reader, samples
from engine.bench.cases import Case
from engine.bench.manifest import FINISHED, MANIFEST, read_manifest
from engine.bench.measures import Key, ScoredEpisodes
from engine.bench.records import TEST, EpisodeRow, TimingRow
from engine.bench.rows import EPISODES, REPORTED_KEYS
from engine.bench.samples import Samples
from engine.disk import printable
from engine.errors import BadFile

AVERAGE = "Average"
"""Title of the column over all tasks."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ArmRow:
    """A row of a table: an arm of the suite with one model.

    Attributes:
        name: Name of the arm.
        model: Its model, "" if it needs none.
        agent: The method.
        cells: Names of its cells.
    """

    name: str
    model: str
    agent: str
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TaskColumn:
    """A column of a table: tasks that are reported together.

    Attributes:
        name: Name of the game or of the site.
        tasks: Its tasks.
    """

    name: str
    tasks: tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """The results of a run.

    Attributes:
        manifest: The manifest of the run, see docs/bench-format.md.
        rows: Its episodes.
        timings: What they took.
        cases: Decisions in which memory turned the choice, if the suite asks for case studies.
    """

    manifest: Mapping[str, Any]
    rows: tuple[EpisodeRow, ...] = ()
    timings: tuple[TimingRow, ...] = field(default=(), repr=False)
    cases: tuple[Case, ...] = field(default=(), repr=False)

    @property
    def plan(self) -> Mapping[str, Any]:
        """The suite of the run."""
        plan: Mapping[str, Any] = self.manifest["plan"]
        return plan

    @property
    def wishes(self) -> Mapping[str, Any]:
        """What the suite says of its report."""
        report: Mapping[str, Any] = self.plan.get("report") or {}
        return report

    @property
    def cells(self) -> Mapping[str, Mapping[str, Any]]:
        """The cells of the manifest, in the order of the plan."""
        cells: Mapping[str, Mapping[str, Any]] = self.manifest["cells"]
        return cells

    @cached_property
    def arms(self) -> tuple[ArmRow, ...]:
        """The rows of tables: by model, then in the order of the suite."""
        found: dict[tuple[str, str], list[str]] = {}
        for name, cell in self.cells.items():
            found.setdefault((cell["arm"], cell.get("model", "")), []).append(name)
        arms = _order([str(one.get("name", "")) for one in self.plan.get("arms") or []], [arm for arm, _ in found])
        models = _order(["", *map(str, self.plan.get("models") or [])], [model for _, model in found])
        keys = sorted(found, key=lambda key: (models.index(key[1]), arms.index(key[0])))
        return tuple(
            ArmRow(arm, model, str(self.cells[found[arm, model][0]].get("agent", "")), tuple(found[arm, model]))
            for arm, model in keys
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the arms, without repetition: the numbers of their colours."""
        return tuple(dict.fromkeys(arm.name for arm in self.arms))

    @cached_property
    def models(self) -> tuple[str, ...]:
        """The models of the rows, without ""."""
        return tuple(dict.fromkeys(arm.model for arm in self.arms if arm.model))

    @cached_property
    def places(self) -> tuple[TaskColumn, ...]:
        """The columns of tables, without the average."""
        groups: dict[str, str] = {row.task: row.group for row in self.rows if row.phase == TEST}
        planned = dict.fromkeys(task for _, units in self._planned.items() for task, _ in units)
        found: dict[str, list[str]] = {}
        for task in _order(list(map(str, self.plan.get("tasks") or [])), list(planned)):
            if task in planned:
                found.setdefault(groups.get(task, task), []).append(task)
        return tuple(TaskColumn(name, tuple(tasks)) for name, tasks in found.items())

    @property
    def everything(self) -> TaskColumn:
        """The column over all tasks."""
        return TaskColumn(AVERAGE, tuple(task for place in self.places for task in place.tasks))

    @property
    def columns(self) -> tuple[TaskColumn, ...]:
        """The columns of tables, with the average if the suite asks for it."""
        average = self.wishes.get("average") == "tasks" and len(self.places) > 1
        return (*self.places, self.everything) if average else self.places

    @cached_property
    def percent(self) -> bool:
        """Whether scores are shown as shares of the highest score: asked for, or that is 1 in all tasks."""
        highest = {row.max_score for row in self.rows}
        return self.wishes.get("normalised") is True or highest == {1.0}

    def finished(self, arm: ArmRow, place: TaskColumn) -> dict[Key, ScoredEpisodes]:
        """Return the finished units of an arm in a column: its test episodes by task and seed."""
        return {key: self._played[arm.name, arm.model, key] for key in self.planned(arm, place)
                if (arm.name, arm.model, key) in self._played}  # fmt: skip

    def begun(self, arm: ArmRow) -> dict[Key, tuple[EpisodeRow, ...]]:
        """Return the test episodes of the units of an arm that are not finished, in order, by task and seed."""
        found: dict[Key, list[EpisodeRow]] = {}
        for row in self.episodes(arm):
            key = (row.task, row.seed)
            if row.phase == TEST and row.cell not in self.overruled and (arm.name, arm.model, key) not in self._played:
                found.setdefault(key, []).append(row)
        return {key: tuple(sorted(rows, key=lambda row: (row.leg, row.episode))) for key, rows in found.items()}

    def planned(self, arm: ArmRow, place: TaskColumn) -> tuple[Key, ...]:
        """Return the units that were planned for an arm in a column."""
        return tuple(key for key in self._planned[arm.name, arm.model] if key[0] in place.tasks)

    def unfinished(self, arm: ArmRow) -> tuple[str, ...]:
        """Return the names of the cells of an arm that are not finished."""
        return tuple(name for name in arm.cells if self.cells[name].get("state") != FINISHED)

    @cached_property
    def overruled(self) -> Mapping[str, int]:
        """Number of steps that a person chose, by cell, for the cells that have some."""
        found: dict[str, int] = {}
        for row in self.rows:
            if row.overruled:
                found[row.cell] = found.get(row.cell, 0) + row.overruled
        return found

    def episodes(self, arm: ArmRow) -> tuple[EpisodeRow, ...]:
        """Return all episodes of an arm, those of training and of unfinished cells included."""
        return tuple(row for row in self.rows if (row.arm, row.model) == (arm.name, arm.model))

    def numbered(self, arm: ArmRow) -> Iterator[tuple[int, EpisodeRow]]:
        """Yield the test episodes of an arm, each with its number on its task. Overruled cells have none."""
        numbers: dict[tuple[str, str], int] = {}
        for row in sorted(self.episodes(arm), key=lambda row: (row.order, row.leg, row.episode)):
            if row.phase == TEST and row.cell not in self.overruled:
                numbers[row.cell, row.task] = number = numbers.get((row.cell, row.task), 0) + 1
                yield number, row

    def timing(self, row: EpisodeRow) -> TimingRow | None:
        """Return what an episode took, None if that is not known."""
        return self._timings.get((row.cell, row.leg, row.episode))

    def before(self, cell: str) -> Samples:
        """Return the samples before the first test episode of a cell: its model's training, and its own."""
        training = self.cells[cell].get("training")
        model = samples.of_plain(training, f"the cell {cell}") if training else samples.NONE
        return samples.total([model, *self._trained.get(cell, ())])

    @cached_property
    def _trained(self) -> Mapping[str, list[Samples]]:
        """The samples of episodes of the phase "train" by cell."""
        found: dict[str, list[Samples]] = {}
        for row in self.rows:
            if row.phase != TEST:
                found.setdefault(row.cell, []).append(samples.episode_samples(row, self.timing(row)))
        return found

    @cached_property
    def _timings(self) -> dict[tuple[str, int, int], TimingRow]:
        return {(one.cell, one.leg, one.episode): one for one in self.timings}

    @cached_property
    def _planned(self) -> dict[tuple[str, str], dict[Key, str]]:
        """The cell of each planned unit, by arm and model. Tasks that are only trained on have none."""
        tested = {row.task for row in self.rows if row.phase == TEST}
        trained = {*map(str, self.plan.get("train") or []), *(row.task for row in self.rows if row.phase != TEST)}
        trained -= tested | set(map(str, self.plan.get("tasks") or []))
        found: dict[tuple[str, str], dict[Key, str]] = {}
        for name, cell in self.cells.items():
            units = found.setdefault((cell["arm"], cell.get("model", "")), {})
            units.update({(task, cell["seed"]): name for task in cell["tasks"] if task not in trained})
        return found

    @cached_property
    def _played(self) -> dict[tuple[str, str, Key], ScoredEpisodes]:
        """The finished units by arm, model, task and seed: their cell is finished, or they have all their episodes.

        Cells that a person overruled have none.
        """
        rows: dict[tuple[str, str, Key], list[EpisodeRow]] = {}
        for row in self.rows:
            if row.phase == TEST and row.cell not in self.overruled:
                rows.setdefault((row.arm, row.model, (row.task, row.seed)), []).append(row)
        enough = self.plan.get("episodes")
        found = {}
        for unit, played in rows.items():
            complete = isinstance(enough, int) and len(played) >= enough
            if complete or all(self.cells[row.cell].get("state") == FINISHED for row in played):
                ordered = tuple(sorted(played, key=lambda row: (row.order, row.leg, row.episode)))
                timings = tuple(one for row in ordered if (one := self.timing(row)) is not None)
                found[unit] = ScoredEpisodes(ordered, timings, self.before(ordered[0].cell))
        return found


def load(folder: Path) -> Results:
    """Return the results of the run in a folder, also of one that is being played. Nothing is written.

    A line that was being written is ignored.

    Raises:
        UsageError: There is no run.
        BadFile: A file is damaged, or was written by a newer version.
    """
    manifest = read_manifest(folder)
    found = reader.read_played(folder, manifest)
    for row in found.rows:
        if row.cell not in manifest["cells"]:
            raise BadFile(
                f"{printable(folder / EPISODES)} is damaged: {MANIFEST} has no cell {limits.short_text(row.cell)}"
            )
    for name, about in found.about.items():
        manifest["cells"][name].update({key: about[key] for key in REPORTED_KEYS if key in about})
    wished = (manifest["plan"].get("report") or {}).get("cases")
    found_cases = cases.read(folder, manifest) if wished else ()
    return _by_base(Results(manifest, tuple(found.rows), tuple(found.timings), found_cases))


def _by_base(results: Results) -> Results:
    """Return results in which trained models stand with the model that they were made from: they are rows of it."""
    bases = {name: str(cell["base"]) for name, cell in results.cells.items() if cell.get("base")}
    if not bases:
        return results
    cells = {name: {**cell, "model": bases.get(name, cell.get("model", ""))} for name, cell in results.cells.items()}
    rows = tuple(replace(row, model=bases.get(row.cell, row.model)) for row in results.rows)
    return replace(results, manifest={**results.manifest, "cells": cells}, rows=rows)


def _order(first: list[str], others: list[str]) -> list[str]:
    """Return texts without repetition: those of the first list, then the others."""
    return list(dict.fromkeys([*first, *others]))

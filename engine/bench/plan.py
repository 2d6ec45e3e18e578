"""From a suite to its cells: which sessions are played, in which order, and which of them share a memory."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from engine import trust
from engine.agents import AGENTS
from engine.bench.records import TEST, TRAIN, Cell, Leg
from engine.bench.suite import Arm, Suite
from engine.environments import resolve
from engine.errors import UsageError
from engine.kinds import EnvironmentContext, Kind
from engine.llm.listed import PRIORS, check_name
from engine.settings import SessionConfig
from engine.settings.address import database

_SEEDS_APART = 1000
"""Cross-task: leg i of seed s is played with the seed 1000 s + i, so that each leg has draws of its own."""


@dataclass(frozen=True, slots=True)
class SuiteTask:
    """One task of a suite.

    Attributes:
        name: Full name of the environment.
        group: Column in tables.
        kind: Its kind of environment.
    """

    name: str
    group: str
    kind: Kind


@dataclass(frozen=True)
class BenchPlan:
    """A suite with the tasks that it stands for.

    Attributes:
        suite: The suite.
        tasks: Its tasks.
        train: Its training tasks, without those that its test tasks were taken over from.
        games: Additional folder with stories.
        memory: Address of the server that has the memories of the cells, "" if they lie in their folders.
    """

    suite: Suite
    tasks: tuple[SuiteTask, ...]
    train: tuple[SuiteTask, ...] = ()
    games: str | None = None
    memory: str = ""

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Its cells in the order of its tables: by arm, model, task and seed.

        Raises:
            UsageError: A setting is out of range, or a test task shares its memory with no training task.
        """
        return _cells(self)


def named_in(suite: Suite, games: str | None, memory: str) -> list[str]:
    """Return the servers, files, folders and packages that a run names; see `engine.trust`.

    Args:
        suite: Its suite.
        games: As of `BenchPlan`.
        memory: As of `BenchPlan`.
    """
    models = [*suite.models, *(model for arm in suite.arms for model in arm.models)]
    files = [file for arm in suite.arms for file in (arm.recorded, arm.trained)]
    files += [str(one.get("replayed", "")) for one in (suite.settings, *(arm.settings for arm in suite.arms))]
    named = trust.places_in([*suite.tasks, *suite.train], models)
    return [place for place in (database(memory), *named, *files, games) if place]


def make_plan(suite: Suite, context: EnvironmentContext, where: str, memory: str = "") -> BenchPlan:
    """Return the plan of a suite, after checking that each of its tasks can be started now.

    Args:
        suite: The suite.
        context: Folders and variables for opening environments.
        where: How to call the suite in messages.
        memory: As of `BenchPlan`.

    Raises:
        UsageError: There is no such environment or model.
        NotConfirmed: The suite, or the run that it belongs to, names a place that the user has not confirmed.
        MissingError: Something that it needs is missing.
    """
    trust.require(*named_in(suite, context.games, memory))
    for arm in suite.arms:
        for model in _models(suite, arm):
            check_name(model)
            if AGENTS.find(arm.agent).writes and model in PRIORS:
                raise UsageError(
                    f"{where}: arms: {arm.name}: {arm.agent} learns by what its model writes, and {model} writes "
                    "nothing"
                )
        if memory and arm.workers > 1:
            raise UsageError(
                f"{where}: arms: {arm.name}: workers that play in turn have their memory on this machine's disk, not "
                "on a server; leave --memory away"
            )
    tasks = _tasks(suite.tasks, context, f"{where}: tasks")
    for arm in suite.arms:
        dialect = AGENTS.find(arm.agent).dialect
        wrong = [task.name for task in tasks if dialect and dialect not in task.kind.dialects()]
        if wrong:
            raise UsageError(f"{where}: arms: {arm.name}: {arm.agent} plays web tasks only, not {wrong[0]}")
    originals = {original for task in tasks if (original := task.kind.original(task.name, context))}
    train = tuple(task for task in _tasks(suite.train, context, f"{where}: train") if task.name not in originals)
    return BenchPlan(suite, tasks, train, context.games, memory)


def _tasks(names: Iterable[str], context: EnvironmentContext, where: str) -> tuple[SuiteTask, ...]:
    found: list[SuiteTask] = []
    for name in names:
        try:
            kind, full = resolve(name)
            found += [SuiteTask(each, kind.group(each, context), kind) for each in kind.ready(full, context)]
        except UsageError as error:
            raise UsageError(f"{where}: {name}: {error}") from None
    return tuple(found)


def _cells(plan: BenchPlan) -> tuple[Cell, ...]:
    suite = plan.suite
    units = _units(suite, plan.tasks, plan.train)
    cells: list[Cell] = []
    names: set[str] = set()
    for arm in suite.arms:
        for model in _models(suite, arm):
            for label, own, before in units:
                for seed in suite.seeds[:1] if arm.recorded else suite.seeds:
                    legs = _legs(suite, arm, model, seed, own, before, plan)
                    name = _unique(".".join(filter(None, (label, arm.name, model, str(seed)))), names)
                    cells.append(Cell(name, arm.name, model, seed, legs, arm.workers))
    return tuple(cells)


def _models(suite: Suite, arm: Arm) -> tuple[str, ...]:
    """Return the models that an arm is played with; ("",) for an agent that needs none."""
    if not AGENTS.find(arm.agent).asks_model:
        return ("",)
    return arm.models or suite.models


def _units(
    suite: Suite, tasks: Sequence[SuiteTask], train: Sequence[SuiteTask]
) -> list[tuple[str, tuple[SuiteTask, ...], tuple[SuiteTask, ...]]]:
    """Return a label, the test tasks and the training tasks of each memory."""

    def unit(task: SuiteTask) -> str:
        return {"task": task.name, "group": task.group, "suite": suite.name}[suite.memory]

    found = []
    for label in dict.fromkeys(unit(task) for task in tasks):
        own = tuple(task for task in tasks if unit(task) == label)
        before = tuple(task for task in train if unit(task) == label)
        if suite.protocol == "split" and not before:
            raise UsageError(f"{suite.name}: no training task shares a memory with {own[0].name}: see memory and train")
        found.append((label, own, before))
    return found


def _legs(
    suite: Suite, arm: Arm, model: str, seed: int, tasks: Sequence[SuiteTask], train: Sequence[SuiteTask],
    plan: BenchPlan,
) -> tuple[Leg, ...]:
    def leg(
        task: SuiteTask, phase: str, episodes: int, own_seed: int, *, worker: int = 1, frozen: bool = False
    ) -> Leg:
        config = SessionConfig(
            game=task.name,
            agent=arm.agent,
            model=model or "prior/uniform",
            episodes=episodes // arm.workers,
            seed=own_seed,
            profile=arm.profile or suite.profile,
            settings=task.kind.profile(arm.profile or suite.profile, **_changes(suite, arm)),
            games=plan.games,
            memory=plan.memory or "own",
            frozen=frozen,
            workers=arm.workers,
            worker=worker,
        )
        return Leg(task.name, task.group, phase, config, arm.recorded)

    if suite.protocol == "cross-task":
        import numpy as np

        order = np.random.default_rng(seed).permutation(len(tasks))
        return tuple(
            leg(tasks[at], TEST, 1, seed * _SEEDS_APART + number) for number, at in enumerate(order.tolist())
        )
    frozen = suite.protocol == "split"
    each = range(1, arm.workers + 1)
    before = [leg(task, TRAIN, suite.train_episodes, seed, worker=n) for task in train for n in each]
    after = [leg(task, TEST, suite.episodes, seed, worker=n, frozen=frozen) for task in tasks for n in each]
    return (*before, *after)


def _changes(suite: Suite, arm: Arm) -> dict[str, Any]:
    limit = {} if suite.steps is None else {"step_limit": suite.steps}
    limit["valid_commands"] = 0  # all valid actions, so that results do not depend on the default
    return {**limit, **suite.settings, **arm.settings}


def _unique(text: str, taken: set[str]) -> str:
    """Return a name for a folder that is not taken yet, and note it as taken."""
    readable = re.sub(r"[^A-Za-z0-9._=+-]+", "-", text).strip("-.")[:100] or "cell"
    name, number = readable, 1
    while name.lower() in taken:
        number += 1
        name = f"{readable}-{number}"
    taken.add(name.lower())
    return name

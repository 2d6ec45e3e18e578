"""Joins runs of one suite that was played in several pieces, and counts the first episodes of each life only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from engine.bench.manifest import FINISHED
from engine.bench.report.results import Results
from engine.errors import UsageError

_ALIKE = ("episodes", "steps", "protocol", "memory", "train", "train_episodes", "swept")
"""Keys of a suite that are the same in all pieces."""
_OF_METHOD = ("agent", "workers", "settings", "prompts", "reading")
"""What all cells of an arm with one model have in common."""
_PLACES = ("versions", "code", "machine")


def join_runs(runs: Mapping[str, Results]) -> Results:
    """Return the results of runs of one suite as those of one run.

    Cells that were not begun are left out if another run has them.

    Args:
        runs: The runs, by what to call them in messages and in the report.

    Raises:
        UsageError: Two of them do not fit together. The message says why.
    """
    (first, results), *others = runs.items()
    if not others:
        return results
    for name, other in others:
        _check_suite(first, results, name, other)
    cells = _cells(runs)
    _check_methods(cells)
    plans = [run.plan for run in runs.values()]
    plan = {
        **results.plan,
        "settings": {},
        "profile": "",
        "tasks": _union(plan.get("tasks") for plan in plans),
        "models": _union(plan.get("models") for plan in plans),
        "arms": _arms(plans),
    }
    commands = {name: run.manifest.get("command", "") for name, run in runs.items()}
    manifest = {
        **results.manifest,
        "plan": plan,
        "cells": {name: {**cell, "command": commands[run]} for name, (run, cell) in cells.items()},
        "joined": {name: {key: run.manifest.get(key) for key in _PLACES} for name, run in runs.items()},
    }
    rows = tuple(row for run in runs.values() for row in run.rows)
    timings = tuple(timing for run in runs.values() for timing in run.timings)
    return Results(manifest, rows, timings, tuple(case for run in runs.values() for case in run.cases))


def first(results: Results, episodes: int, name: str = "this run") -> Results:
    """Return results in which the first episodes on each task are all that were planned.

    Args:
        episodes: Their number.
        name: How to call the run in messages.

    Raises:
        UsageError: Fewer were planned.
    """
    planned = results.plan.get("episodes")
    if episodes < 1:
        raise UsageError(f"--episodes must be at least 1, not {episodes}")
    if isinstance(planned, int) and planned < episodes:
        raise UsageError(f"{name} has {planned} episodes on each task, fewer than the {episodes} of --episodes")
    counted: dict[tuple[str, str], int] = {}
    late = set()
    for number, row in (one for arm in results.arms for one in results.numbered(arm)):
        counted[row.cell, row.task] = number
        if number > episodes:
            late.add((row.cell, row.leg, row.episode))
    rows = tuple(row for row in results.rows if (row.cell, row.leg, row.episode) not in late)
    trained = set(results.plan.get("train") or []) - set(results.plan.get("tasks") or [])
    cells = {}
    for cell, about in results.cells.items():
        done = all(counted.get((cell, task), 0) >= episodes for task in about["tasks"] if task not in trained)
        cells[cell] = {**about, "state": FINISHED, "error": ""} if done else about
    manifest = {**results.manifest, "plan": {**results.plan, "episodes": episodes}, "cells": cells}
    return replace(results, manifest=manifest, rows=rows)


def _check_suite(name: str, results: Results, other_name: str, other: Results) -> None:
    mine, its = (str(one.manifest.get("suite", "")) for one in (results, other))
    if mine != its:
        raise UsageError(f"these runs cannot be joined: {name} is of the suite {mine}, and {other_name} is of {its}")
    for key in _ALIKE:
        one, two = results.plan.get(key), other.plan.get(key)
        if one != two:
            way = "; say with --episodes how many are counted" if key == "episodes" else ""
            raise UsageError(f"these runs cannot be joined: {name} has {key} = {one}, and {other_name} has {two}{way}")


def _cells(runs: Mapping[str, Results]) -> dict[str, tuple[str, Mapping[str, Any]]]:
    """Return the cells that are in the joined results, each with the name of its run.

    Raises:
        UsageError: Two runs have played the same task with the same arm, model and seed.
    """
    cells: dict[str, tuple[str, Mapping[str, Any]]] = {}
    units: dict[tuple[str, str, str, int], str] = {}
    for begun in (True, False):
        for run, results in runs.items():
            played = {row.cell for row in results.rows}
            for name, cell in results.cells.items():
                if (name in played) != begun:
                    continue
                mine = [(task, cell["arm"], cell.get("model", ""), cell["seed"]) for task in cell["tasks"]]
                twice = next((unit for unit in mine if unit in units), None)
                if begun and (twice is not None or name in cells):
                    task, arm, _, seed = twice or mine[0]
                    other = cells[name][0] if twice is None else units[twice]
                    raise UsageError(
                        f"these runs cannot be joined: {other} and {run} both have episodes of {arm} on {task} with "
                        f"seed {seed}"
                    )
                if twice is None and name not in cells:
                    cells[name] = run, cell
                    units.update(dict.fromkeys(mine, run))
    return cells


def _check_methods(cells: Mapping[str, tuple[str, Mapping[str, Any]]]) -> None:
    """Raise UsageError if an arm was played with other settings in another run, or a task from another file."""
    methods: dict[tuple[str, str], tuple[str, Mapping[str, Any]]] = {}
    stories: dict[str, tuple[str, Any]] = {}
    for run, cell in cells.values():
        before, known = methods.setdefault((cell["arm"], cell.get("model", "")), (run, cell))
        for what, one, two in _unlike(known, cell):
            raise UsageError(
                f"these runs cannot be joined: {cell['arm']} has {what} {one} in {before}, and {two} in {run}"
            )
        for task, digest in (cell.get("stories") or {}).items():
            before, file = stories.setdefault(task, (run, digest))
            if file != digest:
                raise UsageError(f"these runs cannot be joined: {before} and {run} played other files of {task}")


def _unlike(one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterable[tuple[str, Any, Any]]:
    """Yield what two cells of one method do not have in common: its name and both values."""
    for name in _OF_METHOD:
        mine, its = one.get(name), other.get(name)
        if isinstance(mine, Mapping) and isinstance(its, Mapping):
            what = "the prompt " if name == "prompts" else ""
            yield from ((what + key, mine[key], its[key]) for key in mine if key in its and mine[key] != its[key])
        elif mine and its and mine != its:
            yield name, mine, its


def _arms(plans: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the arms of several suites, each with the profile and the settings of its suite; one is the reference."""
    arms: dict[str, dict[str, Any]] = {}
    referred = ""
    for plan in plans:
        for arm in plan.get("arms") or []:
            name = str(arm.get("name"))
            whole = arms.setdefault(name, {
                **arm,
                "profile": arm.get("profile") or plan.get("profile") or "",
                "settings": {**(plan.get("settings") or {}), **(arm.get("settings") or {})},
            })  # fmt: skip
            whole["against"] = whole.get("against") or arm.get("against") or ""
            referred = referred or (name if arm.get("reference") else "")
    return [{**arm, "reference": name == referred} for name, arm in arms.items()]


def _union(lists: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(each for one in lists for each in one or ()))

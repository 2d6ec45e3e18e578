"""The folder of a run: its manifest, its cells, the rows of all cells in one file.

What a run was begun with can be changed: where its stories are, and how many episodes it plays.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from engine import limits, trust
from engine.agents import AGENTS
from engine.bench import rows
from engine.bench.manifest import (
    FINISHED,
    MANIFEST,
    NOTHING,
    STOPPED,
    WAITING,
    machine,
    read_manifest,
    write_manifest,
)
from engine.bench.plan import BenchPlan, SuiteTask, named_in
from engine.bench.records import FORMAT, Cell
from engine.bench.samples import base, training_samples
from engine.bench.suite import plain, read
from engine.codec import to_plain
from engine.disk import open_binary, printable, take_lock, write_private
from engine.environments import kind_of
from engine.errors import BadFile, FailingAs, StorageError, UsageError, did_you_mean
from engine.paths import ensure_folder
from engine.session.manifest import code, versions
from engine.session.shared import experience

LOCK = "lock"
"""Name of the file that is locked while a run is played."""


def runs(saves: Path) -> Iterator[Path]:
    """Yield the folders of runs, the newest first."""
    root = saves / "bench"
    found = [folder for folder in root.iterdir() if (folder / MANIFEST).is_file()] if root.is_dir() else []
    yield from sorted(found, key=lambda folder: (folder / MANIFEST).stat().st_mtime, reverse=True)


def find(saves: Path, name: str) -> Path:
    """Return the folder of a run by its name or path; the newest for "last".

    Raises:
        UsageError: There is none.
    """
    if name == "last":
        newest = next(runs(saves), None)
        if newest is None:
            raise UsageError(f"there is no run in {printable(saves / 'bench')}; begin one with: jitrl bench run SUITE")
        return newest
    for folder in (saves / "bench" / name, Path(name)) if "/" not in name else (Path(name),):
        if (folder / MANIFEST).is_file():
            return folder
    near = did_you_mean(name, [folder.name for folder in runs(saves)])
    raise UsageError(f"there is no run {name!r}{near}; `jitrl bench ls` lists them")


def create(saves: Path, plan: BenchPlan, name: str, command: str) -> Path:
    """Create the folder of a run and write its manifest; return the folder.

    Args:
        saves: The saves folder.
        plan: What is to be played.
        name: Name of the run, "" for one made from suite and time.
        command: The command that begins it.

    Raises:
        UsageError: There is a run of this name, or it cannot be the name of a folder.
        StorageError: The folder cannot be written.
    """
    if name and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):
        raise UsageError(f"a run cannot be named {name!r}: letters, digits, dots, dashes and underscores are possible")
    suite = plan.suite
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", suite.name)[:40]
    name = name or f"{time.strftime('%Y%m%d-%H%M%S')}-{stem}-{secrets.token_hex(2)}"
    folder = saves / "bench" / name
    if (folder / MANIFEST).exists():
        raise UsageError(f"there is a run {name!r} already; go on with: jitrl bench resume {name}")
    ensure_folder(ensure_folder(saves / "bench") / name)
    manifest = {
        "format": FORMAT,
        "name": name,
        "suite": suite.name,
        "title": suite.title,
        "created": round(time.time(), 3),
        "command": command,
        "games": plan.games,
        "memory": plan.memory,
        "tasks": {task.name: task.group for task in plan.tasks},
        "train": {task.name: task.group for task in plan.train},
        "versions": versions(),
        "code": code(),
        "machine": machine(),
        "plan": plain(suite),
        "cells": {cell.name: _cell(cell) | _training(cell, plan) for cell in plan.cells},
        "spent": dict(NOTHING),
        "stopped": "",
    }
    trust.trust_new(*named_in(suite, plan.games, plan.memory))
    write_manifest(folder, manifest)
    return folder


def read_plan(folder: Path) -> BenchPlan:
    """Return what a run was planned to play. Its tasks are not looked for.

    Raises:
        UsageError: There is no run in the folder, or its suite cannot be played any more.
        BadFile: The manifest is damaged, or of a newer version.
    """
    return plan_of(read_manifest(folder), printable(folder / MANIFEST))


def plan_of(manifest: dict[str, Any], where: str) -> BenchPlan:
    """Return the plan in a manifest; see `read_plan`.

    Args:
        where: How to call it in messages.
    """
    suite = read(manifest["plan"], str(manifest.get("suite", "")), where)
    tasks, train = (
        tuple(SuiteTask(name, str(group), kind_of(name)) for name, group in manifest[key].items())
        for key in ("tasks", "train")
    )
    memory = str(manifest.get("memory", ""))
    games = manifest.get("games")
    trust.named_by(f"the run in {where}", *named_in(suite, games, memory))
    return BenchPlan(suite, tasks, train, games, memory)


def is_outdated(folder: Path, plan: BenchPlan) -> bool:
    """Whether a cell that was not begun would be played otherwise now than the manifest says."""
    cells = read_manifest(folder)["cells"]
    return any(
        cell.name not in cells
        or (cells[cell.name]["state"] == WAITING and cells[cell.name].get("settings") != _cell(cell)["settings"])
        for cell in plan.cells
    )


def _cell(cell: Cell) -> dict[str, Any]:
    """Return what the manifest says of a cell before it is played."""
    return {
        "arm": cell.arm,
        "agent": cell.agent,
        "model": cell.model,
        "seed": cell.seed,
        "workers": cell.workers,
        "experience": experience(cell.workers, 0),
        "tasks": list(dict.fromkeys(leg.task for leg in cell.legs)),
        "state": WAITING,
        "error": "",
        "settings": to_plain(cell.legs[0].config.settings),
    }


def _training(cell: Cell, plan: BenchPlan) -> dict[str, Any]:
    """Return what the model of a cell was trained with, and from which model; {} if nothing says so."""
    folder = next((arm.trained for arm in plan.suite.arms if arm.name == cell.arm), "")
    found = training_samples(cell.model, folder)
    if found is None:
        return {}
    known = base(cell.model, folder)
    return {"training": to_plain(found)} | ({"base": known} if known else {})


@contextlib.contextmanager
def lock_run(folder: Path) -> Iterator[None]:
    """Keep other processes from playing this run.

    Raises:
        UsageError: Another process plays it.
        StorageError: The folder cannot be written.
    """
    with FailingAs(StorageError, f"cannot write to {printable(folder)}"):
        fd = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if not take_lock(fd, folder / LOCK):
            raise UsageError(f"the run in {printable(folder)} is being played by another process")
        yield
    finally:
        os.close(fd)


def cell_folder(folder: Path, name: str) -> Path:
    """Return the folder of a cell."""
    return folder / "cells" / name


def is_finished(folder: Path, name: str) -> bool:
    """Whether a cell was played to its end and its files were written."""
    return (cell_folder(folder, name) / rows.DONE).is_file()


def gather(folder: Path, names: Sequence[str]) -> None:
    """Write the rows of all cells into one file each, in the order of the plan.

    Rows that are there already are kept for a cell without files of its own, such as one whose folder stayed elsewhere.

    Raises:
        StorageError: They cannot be written.
        BadFile: The rows of a cell cannot be read.
    """
    for file in (rows.EPISODES, rows.TIMINGS):
        before: dict[str, list[bytes]] = {}
        for line in _lines(folder / file):
            with contextlib.suppress(BadFile):
                before.setdefault(str(limits.parse_json(line).get("cell")), []).append(line)
        parts = []
        for name in names:
            path = cell_folder(folder, name) / file
            parts += _lines(path) if path.is_file() else before.get(name, [])
        with FailingAs(StorageError, f"cannot write to {printable(folder)}", "free some space"):
            write_private(folder / file, b"".join(parts))


def _lines(path: Path) -> list[bytes]:
    try:
        with open_binary(path) as lines:
            return list(lines)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise BadFile(f"cannot read {printable(path)}: {error.strerror}") from None


def change(folder: Path, games: str | None, episodes: int | None = None) -> None:
    """Let a run find its stories in another folder, and play more episodes on each task.

    Finished cells can be resumed if there are more episodes.

    Args:
        folder: The folder of the run.
        games: Additional folder with stories.
        episodes: Number of episodes, those that were played included; None for as many as before.

    Raises:
        UsageError: They are fewer than before, play would have been another one with so many, or the run is played now.
        BadFile: The manifest is damaged, or of a newer version.
        StorageError: The folder cannot be written.
    """
    with lock_run(folder):
        manifest = read_manifest(folder)
        plan = plan_of(manifest, printable(folder / MANIFEST))
        before = plan.suite.episodes
        if episodes is not None and episodes < before:
            raise UsageError(
                f"the run in {printable(folder)} has {before} episodes on each task, and --episodes can only be more; "
                "jitrl bench report --episodes counts fewer"
            )
        if episodes is not None and episodes > before:
            _check_more_episodes(plan)
            _resume(folder, manifest)
            manifest["plan"] = plain(dataclasses.replace(plan.suite, episodes=episodes))
        elif games == plan.games:
            return
        manifest["games"] = games
        write_manifest(folder, manifest)


def _resume(folder: Path, manifest: dict[str, Any]) -> None:
    """Let the finished cells of a run be resumed."""
    for name, cell in manifest["cells"].items():
        if cell["state"] == FINISHED:
            cell["state"] = STOPPED
        with FailingAs(StorageError, f"cannot write to {printable(folder)}"):
            (cell_folder(folder, name) / rows.DONE).unlink(missing_ok=True)


def _check_more_episodes(plan: BenchPlan) -> None:
    """Raise UsageError if a cell would have been played otherwise, had it been begun with more episodes."""
    for cell in plan.cells:
        settings, why = cell.legs[0].config.settings, ""
        if len(cell.legs) > 1:
            why = "plays several sessions with one memory"
        elif cell.legs[0].recorded:
            why = "has recorded episodes in place of played ones"
        elif AGENTS.find(cell.agent).learns and settings.settling > 0 and settings.estimator != "knn":
            why = f"explores less in the last of its episodes (settling={settings.settling:g})"
        if why:
            raise UsageError(f"this run cannot have more episodes: {cell.name} {why}; begin a new run")

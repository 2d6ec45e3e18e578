"""Runs of training: their folders under `saves/train/runs`, and the suite for `jitrl bench` that compares them with the
same model untrained, and with JitRL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine import limits, trust
from engine.codec import from_plain, to_plain
from engine.disk import read_bytes, write_json
from engine.errors import BadFile, UsageError, did_you_mean
from engine.paths import ensure_folder
from engine.session import store as sessions
from engine.texts import clipped
from engine.train.run_files import (
    JOB,
    TrainingJob,
    WeightUpdate,
    add_to_manifest,
    read_curve,
    read_manifest,
    runs_folder,
)


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """A run on disk.

    Attributes:
        job: What it does.
        updates: Its updates so far.
        written: Whether its results were written.
    """

    job: TrainingJob
    updates: list[WeightUpdate]
    written: bool

    @property
    def folder(self) -> Path:
        """Its folder."""
        return Path(self.job.folder)


def load(saves: Path, name: str) -> TrainingRun:
    """Return a run by its name; the newest for "last".

    Raises:
        UsageError: There is none with this name.
        BadFile: It is damaged.
    """
    names = _names(saves)
    if name == "last" and names:
        name = names[0]
    folder = runs_folder(saves) / name
    if "/" in name or not (folder / JOB).is_file():
        raise UsageError(f"there is no training run {name!r}{did_you_mean(name, names)}; `jitrl train ls` lists them")
    try:
        job = from_plain(TrainingJob, limits.parse_json(read_bytes(folder / JOB)))
    except (OSError, TypeError, LookupError, ValueError, BadFile, UsageError) as error:
        raise BadFile(f"the training run in {folder} cannot be read ({clipped(str(error), 300)})") from None
    job = replace(job, folder=str(folder), saves=str(saves))
    trust.named_by(f"the training run {name}", *named_places(job))
    return TrainingRun(job, read_curve(folder), "updates" in read_manifest(folder))


def named_places(job: TrainingJob) -> list[str]:
    """Return the servers, files, folders and packages that a job names; see `engine.trust`."""
    named = trust.places_in(job.tasks, [job.model, str(job.settings.get("judge", ""))])
    return [*sessions.named_places(job.session), *named, *job.recordings]


def runs(saves: Path) -> Iterator[TrainingRun]:
    """Yield the readable runs, the newest first."""
    for name in _names(saves):
        try:
            yield load(saves, name)
        except BadFile:
            continue


def _names(saves: Path) -> list[str]:
    """Return the names of all runs, the newest first."""
    root = runs_folder(saves)
    found = [folder for folder in root.iterdir() if (folder / JOB).is_file()] if root.is_dir() else []
    return [one.name for one in sorted(found, key=lambda folder: (folder / JOB).stat().st_mtime, reverse=True)]


def begin(job: TrainingJob) -> TrainingJob:
    """Write the job of a run, or resume the run of the same name if it has the same job; return the job.

    Raises:
        UsageError: A run of this name has another job.
        StorageError: It cannot be written.
    """
    trust.trust_new(*named_places(job))
    folder = Path(job.folder)
    if (folder / JOB).is_file():
        known = load(Path(job.saves), job.name).job
        if replace(known, write=job.write) != job:
            raise UsageError(
                f"the training run {job.name} was begun with other settings; choose another --name, or go on with it: "
                f"jitrl train resume {job.name}"
            )
    ensure_folder(folder)
    write(job)
    about = to_plain(job)
    add_to_manifest(
        folder, **{name: about[name] for name in ("kind", "name", "model", "tasks", "session", "settings")}
    )
    return job


def write(job: TrainingJob) -> None:
    """Write a job into its folder.

    Raises:
        StorageError: It cannot be written.
    """
    write_json(Path(job.folder) / JOB, to_plain(job))


def update_of(fields: Mapping[str, Any]) -> WeightUpdate:
    """Return the update that a training process told.

    Raises:
        BadFile: It is none.
    """
    return from_plain(WeightUpdate, fields)


PLAYED = {"selection": "sample", "candidates": 1000}
"""Settings with which a trained policy is played as it was sampled."""


def suite(runs: Sequence[TrainingRun], episodes: int) -> str:
    """Return the suite as TOML.

    Its rows: the untrained model alone, JitRL with it, each run as it was trained before and plays now, and each run
    of GRPO while it was trained (online).

    Args:
        runs: Runs of the same model, tasks and step limit.
        episodes: Episodes of each row.

    Raises:
        UsageError: There is none, or they cannot be compared, or one was not written yet.
    """
    if not runs:
        raise UsageError("name the training runs to compare; `jitrl train ls` lists them")
    first = runs[0].job
    steps = first.session.settings.step_limit
    for run in runs:
        if (run.job.model, run.job.tasks, run.job.session.settings.step_limit) != (first.model, first.tasks, steps):
            raise UsageError(f"{run.job.name} and {first.name} differ in model, games, or steps of an episode")
        if not run.written:
            raise UsageError(f"{run.job.name} is not written yet; write it with: jitrl train write {run.job.name}")
    alone = {"selection": "sample", "beta": 1.0}
    arms: list[Mapping[str, Any]] = [
        {"name": "Static", "agent": "static", "model": first.model, "settings": alone, "reference": True},
        {"name": "JitRL", "agent": "jitrl", "model": first.model},
    ]
    for run in runs:
        arms.append({"name": run.job.name, "agent": "static", "model": f"local:{run.folder}", "settings": PLAYED})
        if run.job.kind == "grpo":
            arms.append({"name": f"{run.job.name} (online)", "agent": "static", "model": run.job.model,
                         "recorded": str(run.folder / "rollouts"), "settings": PLAYED})  # fmt: skip
    head = {
        "title": f"Weights against memory: {', '.join(first.tasks)}",
        "about": "Rows of training runs play with weights that stay as they are; rows marked (online) are the episodes "
        "that they were trained with.",
        "tasks": list(first.tasks),
        "episodes": episodes,
        "steps": steps,
        "seeds": [first.session.seed],
    }
    report = '[report]\nmeasures = ["avg", "final", "best"]\n'
    return "\n".join([_table(head), *("[[arms]]\n" + _table(arm) for arm in arms), report])


def _table(values: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {_value(value)}\n" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {_value(each)}" for name, each in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)  # texts, numbers, lists and true are the same in TOML

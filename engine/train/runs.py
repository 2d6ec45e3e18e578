"""Runs of training: their folders under `saves/train/runs`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from engine import limits, trust
from engine.codec import from_plain, to_plain
from engine.disk import read_bytes, write_json
from engine.errors import BadFile, UsageError, meant
from engine.paths import ensure_folder
from engine.session import store as sessions
from engine.texts import clipped
from engine.train import curve, manifest
from engine.train.jobs import JOB, TrainingJob, WeightUpdate
from engine.train.places import runs_folder


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
        raise UsageError(f"there is no training run {name!r}{meant(name, names)}; `jitrl train ls` lists them")
    try:
        job = from_plain(TrainingJob, limits.parsed(read_bytes(folder / JOB)))
    except (OSError, TypeError, LookupError, ValueError, BadFile, UsageError) as error:
        raise BadFile(f"the training run in {folder} cannot be read ({clipped(str(error), 300)})") from None
    job = replace(job, folder=str(folder), saves=str(saves))
    trust.named_by(f"the training run {name}", *places(job))
    return TrainingRun(job, curve.read(folder), "updates" in manifest.read(folder))


def places(job: TrainingJob) -> list[str]:
    """Return the servers, files, folders and packages that a job names; see `engine.trust`."""
    named = trust.places_in(job.tasks, [job.model, str(job.settings.get("judge", ""))])
    return [*sessions.places(job.session), *named, *job.recordings]


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
    """Write the job of a run, or take up the run of the same name if it has the same job; return the job.

    Raises:
        UsageError: A run of this name has another job.
        StorageError: It cannot be written.
    """
    trust.trust_new(*places(job))
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
    manifest.add(
        folder, **{name: about[name] for name in ("kind", "name", "model", "tasks", "session", "settings")}
    )
    return job


def write(job: TrainingJob) -> None:
    """Write a job into its folder.

    Raises:
        StorageError: It cannot be written.
    """
    write_json(Path(job.folder) / JOB, to_plain(job))


def update_of(told: Mapping[str, Any]) -> WeightUpdate:
    """Return the update that a training process told.

    Raises:
        BadFile: It is none.
    """
    return from_plain(WeightUpdate, told)

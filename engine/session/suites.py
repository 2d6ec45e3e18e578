"""Runs of suites: their tasks and the sessions of these, so that a stopped run can continue with the remaining tasks.

Each run is one small file under `saves/suites`. What was played is in the sessions.
"""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import trust
from engine.codec import from_plain, to_plain
from engine.disk import write_json
from engine.errors import BadFile, UsageError
from engine.paths import ensure_folder, slug
from engine.records import EpisodeEnded
from engine.session import recording
from engine.session import store as sessions
from engine.session.store import SavedSession
from engine.settings import SessionConfig

_FORMAT = 1
_FOLDER = "suites"


@dataclass(frozen=True, slots=True)
class SavedSuite:
    """A run of a suite, stored on disk.

    Attributes:
        config: Configuration of its sessions. Its `game` is the suite's name, and each session has its own task there.
        tasks: Names of the tasks in the order of play.
        sessions: Names of the sessions of the tasks that were begun.
    """

    name: str
    config: SessionConfig
    tasks: tuple[str, ...]
    sessions: tuple[str, ...] = ()


def create(saves: Path, config: SessionConfig, tasks: Sequence[str]) -> SavedSuite:
    """Create a run of a suite and write its file.

    Raises:
        StorageError: It cannot be written.
    """
    name = f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(config.game)[:24]}-{secrets.token_hex(2)}"
    suite = SavedSuite(name, config, tuple(tasks))
    _write(saves, suite)
    return suite


def load(saves: Path, name: str) -> SavedSuite:
    """Return the run of a suite with this name.

    Raises:
        UsageError: There is none.
        BadFile: It is damaged, or of a newer version.
    """
    file = saves / _FOLDER / f"{name}.json"
    if "/" in name or not file.is_file():
        raise UsageError(f"there is no suite {name!r}")
    with sessions.reading(f"the suite in {file}", file, _FORMAT) as data:
        config = from_plain(SessionConfig, data["config"])
        trust.named_by("the sessions of this suite", *sessions.named_places(config))
        return SavedSuite(name, config, tuple(map(str, data["tasks"])), tuple(map(str, data["sessions"])))


def find(saves: Path, name: str) -> SavedSuite | None:
    """Return the run with this name, or the one that the session of this name belongs to; None if there is none."""
    root = saves / _FOLDER
    for file in sorted(root.glob("*.json")) if root.is_dir() else []:
        try:
            suite = load(saves, file.stem)
        except BadFile:
            if file.stem == name:
                raise
            continue
        if name == suite.name or name in suite.sessions:
            return suite
    return None


def play(saves: Path, suite: SavedSuite) -> Iterator[tuple[str, SavedSession]]:
    """Yield each task with its session in order, including finished ones. Missing sessions are created.

    All tasks share one memory. With `memory="own"`, it is the memory of the first session, which is empty at first.

    Raises:
        StorageError: A session cannot be written.
        BadFile: An existing session cannot be read.
    """
    for number, task in enumerate(suite.tasks):
        if number < len(suite.sessions):
            yield task, sessions.load(saves / "sessions" / suite.sessions[number])
            continue
        config = dataclasses.replace(suite.config, game=task)
        if config.memory == "own" and suite.sessions:
            config = dataclasses.replace(config, memory=f"own:{suite.sessions[0]}")
        saved = sessions.create(saves, config, "run")
        suite = dataclasses.replace(suite, sessions=(*suite.sessions, saved.name))
        _write(saves, suite)
        yield task, saved


def finished_episodes(saved: SavedSession) -> tuple[EpisodeEnded, ...]:
    """Return the finished episodes of a session from its recording.

    Raises:
        BadFile: The recording is damaged.
    """
    if not saved.recording.is_file():
        return ()
    return tuple(event for _, event in recording.read(saved.recording) if isinstance(event, EpisodeEnded))


def _write(saves: Path, suite: SavedSuite) -> None:
    root = ensure_folder(saves / _FOLDER)
    content = {
        "format": _FORMAT, "config": to_plain(suite.config),
        "tasks": list(suite.tasks), "sessions": list(suite.sessions),
    }  # fmt: skip
    write_json(root / f"{suite.name}.json", content)

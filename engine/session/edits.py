"""Changes to stored sessions: deletes them, renames them, and begins new ones that go on from them."""

from __future__ import annotations

import dataclasses
import os
import shutil
from pathlib import Path

from engine.disk import open_binary, printable, take_lock
from engine.environments import kind_of
from engine.errors import FailingAs, StorageError, UsageError
from engine.session import notes, suites
from engine.session import store as sessions
from engine.session.store import SavedSession
from engine.settings import SessionConfig

_LONGEST_NAME = 60
RESERVED = ("rm", "rename")
"""Names that a session cannot have, because they are actions of `jitrl sessions`."""
_PLAYED = (b'{"event":"Stepped"', b'{"event":"EpisodeEnded"')


def delete(saves: Path, session: SavedSession) -> None:
    """Delete a session with its recording, its pages, and its own memory. A shared memory keeps what it learnt.

    Raises:
        UsageError: It is being played, or another session or suite needs it.
        StorageError: It cannot be deleted.
    """
    _refuse_if_needed(saves, session, "deleted")
    # Moved away first, so that a session is there as a whole or not at all.
    doomed = session.folder.with_name(f".{session.name}.{os.getpid()}.gone")
    with FailingAs(StorageError, f"{session.name} could not be deleted"):
        os.replace(session.folder, doomed)
        shutil.rmtree(doomed)


def rename(saves: Path, session: SavedSession, name: str) -> SavedSession:
    """Give a session another name, and return it. Its recording stays as it is, with the name it was recorded under.

    Raises:
        UsageError: The name is not allowed or taken, or the session is being played, or something else needs it.
        StorageError: It cannot be renamed.
    """
    name = name.strip()
    allowed = name.isprintable() and not any(c in name for c in "/\\:") and name[:1] not in ("", ".", "-")
    if not allowed or len(name) > _LONGEST_NAME or name in RESERVED:
        raise UsageError(
            f"a session needs a name of 1 to {_LONGEST_NAME} letters without '/', '\\' and ':', not {printable(name)!r}"
        )
    target = session.folder.with_name(name)
    if target.exists() or suites.find(saves, name) is not None:
        raise UsageError(f"there is a session {name!r} already")
    _refuse_if_needed(saves, session, "renamed")
    with FailingAs(StorageError, f"{session.name} could not be renamed"):
        os.rename(session.folder, target)
    return dataclasses.replace(session, name=name, folder=target)


def successor(source: SavedSession, *, model: str = "", profile: str = "") -> SessionConfig:
    """Return the configuration of a session that plays the remaining episodes of another one differently.

    It uses the memory of the source.

    Args:
        model: Name of the model, "" for that of the source.
        profile: Name of the profile, "" for the settings of the source. Otherwise only its step limit is kept.

    Raises:
        UsageError: There is no such profile.
        BadFile: The recording of the source is damaged.
    """
    config = source.config
    settings = config.settings
    if profile:
        settings = kind_of(config.game).profile(profile, step_limit=settings.step_limit)
    return dataclasses.replace(
        config,
        model=model or config.model,
        profile=profile or config.profile,
        settings=settings,
        memory=f"own:{source.name}" if config.memory == "own" else config.memory,
        episodes=max(1, config.episodes - len(suites.finished_episodes(source))),
    )


def go_on_with(saves: Path, source: SavedSession, config: SessionConfig) -> SavedSession:
    """Return a new session that goes on from another one with the configuration of `successor`.

    Its recording has only what it plays itself. An episode that the source has not finished is begun anew.

    Raises:
        StorageError: It cannot be written.
    """
    return sessions.create(saves, config, "play" if source.kind == "play" else "watch")


def has_no_step(session: SavedSession) -> bool:
    """Return whether a session has no step, in its recording or set apart."""
    if any(session.folder.glob("torn-*.jsonl")):
        return False
    try:
        with open_binary(session.recording) as lines:
            return not any(line.startswith(_PLAYED) for line in lines)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def discard_unplayed(session: SavedSession) -> bool:
    """Delete a session that has ended without any step; return whether it was one.

    Branches and sessions with notes are kept.
    """
    kept = session.origin is not None or (session.folder / notes.FILE_NAME).is_file()
    if kept or not session.folder.is_dir() or not has_no_step(session) or _in_use(session):
        return False
    shutil.rmtree(session.folder, ignore_errors=True)
    return True


def _refuse_if_needed(saves: Path, session: SavedSession, what: str) -> None:
    """Raise UsageError if a session cannot be deleted or renamed."""
    if _in_use(session):
        raise UsageError(f"{session.name} is open in another window; close it there first")
    suite = suites.find(saves, session.name)
    if suite is not None:
        raise UsageError(f"{session.name} cannot be {what}: it is part of the run {suite.name} of {suite.config.game}")
    for other in sessions.saved_sessions(saves):
        if other.config.memory == f"own:{session.name}":
            raise UsageError(f"{session.name} cannot be {what}: {other.name} uses its memory")


def _in_use(session: SavedSession) -> bool:
    """Return whether a process records to a session."""
    try:
        fd = os.open(session.recording, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return False
    try:
        return not take_lock(fd, session.recording)
    except StorageError:  # nobody can record there
        return False
    finally:
        os.close(fd)

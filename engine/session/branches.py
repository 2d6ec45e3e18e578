"""Named saves, and branches: new sessions that continue from any step of another session.

A save is a copy of a session's folder. A session itself needs no saving, because it is recorded step by step and can be
resumed where it ends. Loading a save makes a branch of it, so a save can be loaded any number of times.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.codec import event_to_line
from engine.disk import read_text, write_private
from engine.errors import BadFile, JitrlError, StorageError, UsageError
from engine.paths import ensure_folder, slug
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    SessionEnded,
    SessionStarted,
    Stepped,
    TakenBack,
)
from engine.session import recording
from engine.session import store as sessions
from engine.session.store import SavedSession

_FOLDER = "named"
_NAME = "name.txt"
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Named:
    """A save that a person named."""

    name: str
    session: SavedSession


@dataclass(frozen=True, slots=True)
class Keeper:
    """Saves and branches of one session, for the screens."""

    saves: Path
    session: SavedSession

    def keep(self, name: str) -> None:
        """Save the present state of the session under a name."""
        keep(self.saves, self.session, name)

    def names(self) -> list[str]:
        """Return the names of all saves, newest first."""
        return [save.name for save in named(self.saves)]

    def load(self, name: str) -> SavedSession:
        """Return a new session that continues from a save."""
        return load(self.saves, name)

    def branch(self, episode: int, step: int) -> SavedSession:
        """Return a new session that continues after `step` steps of an episode of this one."""
        return branch(self.saves, self.session, (episode, step))


def keep(saves: Path, session: SavedSession, name: str) -> None:
    """Save the present state of a session under a name. An existing save of that name is replaced.

    Raises:
        UsageError: The name is not allowed.
        StorageError: The save cannot be written; an older save of that name is unchanged.
    """
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise UsageError(
            f"a save needs a name of 1 to {_LONGEST_NAME} letters, for instance: before-the-troll"
        )
    root = ensure_folder(saves / _FOLDER)
    target = root / slug(name)
    partial = root / f".{target.name}.{os.getpid()}.part"
    try:
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(session.folder, partial)
        write_private(partial / _NAME, name)
        shutil.rmtree(target, ignore_errors=True)
        os.replace(partial, target)
    except OSError as error:
        shutil.rmtree(partial, ignore_errors=True)
        raise StorageError(f"{name!r} could not be saved in {root}: {error.strerror or error}") from None


def named(saves: Path) -> Iterator[Named]:
    """Yield the readable saves, newest first."""
    root = saves / _FOLDER
    folders = [f for f in root.iterdir() if f.is_dir() and f.name[0] != "."] if root.is_dir() else []
    for folder in sorted(folders, key=lambda f: f.stat().st_mtime, reverse=True):
        try:
            yield Named(read_text(folder / _NAME), sessions.load(folder))
        except (OSError, ValueError, BadFile):
            continue


def load(saves: Path, name: str) -> SavedSession:
    """Return a new session that continues from a save.

    Raises:
        UsageError: There is no such save.
        BadFile: It is damaged, or was not written by jitrl.
    """
    folder = saves / _FOLDER / slug(" ".join(name.split()))
    if not folder.is_dir():
        names = ", ".join(save.name for save in named(saves))
        raise UsageError(
            f"there is no save {name!r}; " + (f"there are: {names}" if names else "none was made")
        )
    return branch(saves, sessions.load(folder))


def branch(saves: Path, source: SavedSession, at: tuple[int, int] | None = None) -> SavedSession:
    """Return a new session with the events of `source` up to a step, which continues from there.

    The new session has everything that the source has stored in memory so far, including later episodes. For the
    agent, the branch begins now (`SessionStarted.next_entry`).

    Args:
        at: (episode, number of its steps) to continue from; None for the end of the source.

    Raises:
        UsageError: The source has no such step, or the step is within an episode on a site that is not reset.
        BadFile: The recording or the memory of the source is damaged.
        StorageError: The new session cannot be written.
    """
    if not source.recording.is_file():
        raise BadFile(f"the session in {source.folder} cannot be read: it has no recording")
    events = _effective(source)
    if at is not None:
        events = _until(events, *at, source)
    while events and isinstance(events[-1][1], Decided):
        del events[-1]  # A decision that was not carried out is made anew.
    _refuse_what_happens_once(events)
    kind = "watch" if source.kind == "run" else source.kind
    config = source.config
    if at is not None and at[0] > config.episodes:
        config = dataclasses.replace(config, episodes=at[0])
    new = sessions.create(saves, config, kind)
    try:
        memory = source.folder / "memory"
        if memory.is_dir():
            shutil.copytree(memory, new.folder / "memory")
        if (source.folder / "pages").is_dir():
            shutil.copytree(source.folder / "pages", new.folder / "pages")
        lines = [event_to_line(event, time) + "\n" for time, event in _own(events, new, saves)]
        write_private(new.recording, "".join(lines).encode("utf-8", "backslashreplace"))
    except JitrlError:
        shutil.rmtree(new.folder, ignore_errors=True)
        raise
    except OSError as error:
        shutil.rmtree(new.folder, ignore_errors=True)
        raise StorageError(f"the branch could not be written: {error.strerror or error}") from None
    return new


def _effective(source: SavedSession) -> list[tuple[float, Event]]:
    """Return a session's events without steps that were undone and without `SessionEnded`."""
    events: list[tuple[float, Event]] = []
    for time, event in recording.read(source.recording):
        if isinstance(event, TakenBack):
            left = recording.without_last_step([one for _, one in events])
            del events[len(left) :]
        elif not isinstance(event, SessionEnded):
            events.append((time, event))
    return events


def _until(
    events: list[tuple[float, Event]], episode: int, step: int, source: SavedSession
) -> list[tuple[float, Event]]:
    """Return the events up to the one after which `episode` has `step` steps."""
    taken = -1
    for index, (_, event) in enumerate(events):
        if isinstance(event, EpisodeStarted) and event.episode == episode:
            taken = 0
        elif isinstance(event, Stepped) and event.episode == episode:
            taken = event.step + 1
        if taken == step:
            return events[: index + 1]
    if taken < 0:
        raise UsageError(f"the session {source.name} has no episode {episode}")
    raise UsageError(f"episode {episode} of the session {source.name} has steps 0 to {taken}, not {step}")


def _refuse_what_happens_once(events: list[tuple[float, Event]]) -> None:
    """Raise UsageError if the events end within an episode that must not be repeated, on a site that is not reset."""
    repeatable, episode, steps = True, 0, 0
    for _, event in events:
        if isinstance(event, SessionStarted):
            repeatable = event.environment.repeatable
        elif isinstance(event, EpisodeStarted):
            episode, steps = event.episode, 0
        elif isinstance(event, Stepped):
            steps += 1
        elif isinstance(event, EpisodeEnded):
            steps = 0
    if steps and not repeatable:
        raise recording.OnceOnly(episode, steps)


def _own(
    events: list[tuple[float, Event]], new: SavedSession, saves: Path
) -> Iterator[tuple[float, Event]]:
    """Yield the events with the new session's name. An unfinished episode gets a new uid, to be stored separately."""
    ended = {event.episode for _, event in events if isinstance(event, EpisodeEnded)}
    for time, event in events:
        if isinstance(event, SessionStarted):
            with sessions.open_memory(saves, new) as memory:
                next_entry = memory.scope(event.environment.scope).next_entry
            event = dataclasses.replace(event, session=new.name, next_entry=next_entry)
        elif isinstance(event, EpisodeStarted) and event.episode not in ended:
            event = dataclasses.replace(event, uid=uuid.uuid4().hex)
        yield time, event

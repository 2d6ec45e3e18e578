"""Named saves, and branches: new sessions that continue from any step of another session.

A save is a copy of a session's folder. A session itself needs no saving, because it is recorded step by step and can be
resumed where it ends. Loading a save makes a branch of it, so a save can be loaded any number of times.

A branch from a step has a memory of its own with what the session remembered at that step. So it shows what would have
happened if something else had been done there: with the same actions, it decides as the session did. It can also use
the memory of the session instead, as that is now.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.codec import event_to_line
from engine.disk import read_text, write_private
from engine.errors import BadFile, JitrlError, StorageError, UsageError
from engine.memory import Memory
from engine.memory.upkeep import copy_until
from engine.paths import ensure_folder, slug
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Kept,
    SessionStarted,
    SettingsChanged,
    Stepped,
)
from engine.session import levers, notes, orders, recording
from engine.session import store as sessions
from engine.session.recorded_steps import SessionReader, changed_at, effective
from engine.session.store import Origin, SavedSession
from engine.settings import Settings, differences

if TYPE_CHECKING:
    from engine.memory.scope import Scope
    from engine.records import Episode


_FOLDER = "named"
_NAME = "name.txt"
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class NamedSave:
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
        return [save.name for save in named_saves(self.saves)]

    def load(self, name: str) -> SavedSession:
        """Return a new session that continues from a save."""
        return load(self.saves, name)

    def branch(
        self, episode: int, step: int, *, shared: bool = False, settings: Settings | None = None
    ) -> SavedSession:
        """Return a new session that continues after `step` steps of an episode of this one.

        Args:
            shared: Whether it uses the memory of this session, as that is now, instead of one of its own.
            settings: What it goes on with; None for the settings of this session.
        """
        return branch(self.saves, self.session, (episode, step), shared=shared, settings=settings)


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


def named_saves(saves: Path) -> Iterator[NamedSave]:
    """Yield the readable saves, newest first."""
    root = saves / _FOLDER
    folders = [f for f in root.iterdir() if f.is_dir() and f.name[0] != "."] if root.is_dir() else []
    for folder in sorted(folders, key=lambda f: f.stat().st_mtime, reverse=True):
        try:
            yield NamedSave(read_text(folder / _NAME), sessions.load(folder))
        except (OSError, ValueError, BadFile):
            continue


def load(saves: Path, name: str) -> SavedSession:
    """Return a new session that continues from a save. It uses the shared memory if the saved session does.

    Raises:
        UsageError: There is no such save.
        BadFile: It is damaged, or was not written by jitrl.
    """
    folder = saves / _FOLDER / slug(" ".join(name.split()))
    if not folder.is_dir():
        names = ", ".join(save.name for save in named_saves(saves))
        raise UsageError(
            f"there is no save {name!r}; " + (f"there are: {names}" if names else "none was made")
        )
    source = sessions.load(folder)
    return branch(saves, source, shared=source.config.memory != "own")


def branch(
    saves: Path,
    source: SavedSession,
    at: tuple[int, int] | None = None,
    *,
    shared: bool = False,
    episodes: int | None = None,
    settings: Settings | None = None,
) -> SavedSession:
    """Return a new session with the events of `source` up to a step, which continues from there.

    It has a memory of its own with what `source` remembered at that step. With the same actions it decides as `source`
    did. After the last step of an episode that has ended, it goes on with the next episode.

    Args:
        at: (episode, number of its steps) to continue from; None for the end of the source.
        shared: Whether it uses the memory of `source` instead, with all that is there now. For the agent, the branch
            begins now (`SessionStarted.next_entry`).
        episodes: Number of the last episode to play; None for that of the source.
        settings: What it goes on with; None for the settings in force at the step. What differs is told in its
            recording and in a note, at the step where it begins.

    Raises:
        UsageError: The source has no such step, or the step is within an episode on a site that is not reset.
        BadFile: The recording or the memory of the source is damaged.
        StorageError: The new session cannot be written.
    """
    events = until(source, at)
    reader = SessionReader()
    played = list(reader.episodes(events))
    started = reader.started
    assert started is not None  # a recording begins with it
    place = (played[-1].started.episode, len(played[-1].steps)) if played else (0, 0)
    if place[1] and played[-1].ended is None and not started.environment.repeatable:
        raise recording.NotRepeatable(*place)
    config = source.config
    base = levers.began_with(config.settings, started)
    changes = _changes(source, at, reader.changed)
    then = levers.with_changes(base, changes)
    wanted = settings or then
    last = episodes if episodes is not None else max(config.episodes, at[0] if at is not None else 1)
    which = (f"own:{source.name}" if config.memory == "own" else config.memory) if shared else "own"
    origin = None if at is None else Origin(source.name, *at)
    new = sessions.create(
        saves,
        dataclasses.replace(config, episodes=last, memory=which, settings=wanted),
        "watch" if source.kind == "run" else source.kind,
        origin,
    )
    try:
        with sessions.open_memory(saves, source, follow=False) as memory:
            if shared:
                next_entry = memory.scope(started.environment.scope).next_entry
            else:
                next_entry = copy_as_of(events, source.name, memory, sessions.memory_folder(saves, new))
        if (source.folder / "pages").is_dir():
            shutil.copytree(source.folder / "pages", new.folder / "pages")
        notes.copy(source.folder, new.folder, at)
        if (source.folder / orders.FILE_NAME).is_file():
            shutil.copyfile(source.folder / orders.FILE_NAME, new.folder / orders.FILE_NAME)
        past = list(_own(events, new, next_entry))
        changes = {**changes, **{name: new for name, (_, new) in differences(then, wanted).items()}}
        present = levers.in_force(event for _, event in past)
        before = {name: present.get(name, getattr(base, name, None)) for name in changes}
        before = {name: value for name, value in before.items() if value != changes[name]}
        if before:
            past.append((past[-1][0], SettingsChanged(*place, changes, before)))
        lines = [event_to_line(event, time) + "\n" for time, event in past]
        write_private(new.recording, "".join(lines).encode("utf-8", "backslashreplace"))
    except JitrlError:
        shutil.rmtree(new.folder, ignore_errors=True)
        raise
    except OSError as error:
        shutil.rmtree(new.folder, ignore_errors=True)
        raise StorageError(f"the branch could not be written: {error.strerror or error}") from None
    return new


def _changes(
    source: SavedSession, at: tuple[int, int] | None, before: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Return what a person had changed of the settings when a step of a session was decided, or at its end.

    Args:
        before: What was changed before the step, for one that was not decided.
    """
    reader = SessionReader()
    played = list(reader.episodes(recording.read(source.recording)))
    if at is None:
        return reader.changed
    found = changed_at(played, at)
    return before if found is None else found


def until(source: SavedSession, at: tuple[int, int] | None = None) -> list[tuple[float, Event]]:
    """Return the events of a session up to a step, without steps that were undone.

    Args:
        at: (episode, number of its steps); None for the end of the session. A decision that was not carried out there
            is left out.

    Raises:
        UsageError: It has no such step.
        BadFile: The recording is damaged.
    """
    if not source.recording.is_file():
        raise BadFile(f"the session in {source.folder} cannot be read: it has no recording")
    events = effective(recording.read(source.recording))
    if at is not None:
        events = _until(events, *at, source)
    while events and isinstance(events[-1][1], Decided):
        del events[-1]  # A decision that was not carried out is made anew.
    return events


def _until(
    events: list[tuple[float, Event]], episode: int, step: int, source: SavedSession
) -> list[tuple[float, Event]]:
    """Return the events up to the one after which `episode` has `step` steps; its end belongs to its last step."""
    taken = -1
    for index, (_, event) in enumerate(events):
        if isinstance(event, EpisodeStarted) and event.episode == episode:
            taken = 0
        elif isinstance(event, Stepped) and event.episode == episode:
            taken = event.step + 1
        if taken == step:
            following = events[index + 1][1] if index + 1 < len(events) else None
            return events[: index + 1 + isinstance(following, EpisodeEnded)]
    if taken < 0:
        raise UsageError(f"the session {source.name} has no episode {episode}")
    raise UsageError(f"episode {episode} of the session {source.name} has steps 0 to {taken}, not {step}")


def _own(
    events: list[tuple[float, Event]], new: SavedSession, next_entry: int
) -> Iterator[tuple[float, Event]]:
    """Yield the events with the new session's name. An unfinished episode gets a new uid, to be stored separately."""
    ended = {event.episode for _, event in events if isinstance(event, EpisodeEnded)}
    for time, event in events:
        if isinstance(event, SessionStarted):
            event = dataclasses.replace(event, session=new.name, next_entry=next_entry)
        elif isinstance(event, EpisodeStarted) and event.episode not in ended:
            event = dataclasses.replace(event, uid=uuid.uuid4().hex)
        yield time, event


def copy_as_of(events: Sequence[tuple[float, Event]], session: str, memory: Memory, into: Path) -> int:
    """Copy the memory that a session had after its first events; return where memory ended when the session began.

    Copied are the episodes that were in memory when the session began, those of the session itself that ended since,
    and those of other sessions that were stored before the last event. What was forgotten since is missing.

    Args:
        events: The session's first events with their Unix times in seconds.
        session: Its name.
        memory: The memory that it uses. It is only read.
        into: Folder of the copy.

    Raises:
        BadFile: The memory is damaged.
        StorageError: The copy cannot be written.
    """
    began, started = next((at, event) for at, event in events if isinstance(event, SessionStarted))
    ended = {event.episode for _, event in events if isinstance(event, EpisodeEnded)}
    own = {event.uid for _, event in events if isinstance(event, EpisodeStarted) and event.episode in ended}
    now = events[-1][0]
    scope = memory.scope(started.environment.scope)
    first = started.next_entry
    if first is None:  # recorded by an earlier version
        first = _end(scope, 0, frozenset(), began, session)
    last = _end(scope, first, own, now, session)

    def keeps(record: Kept) -> bool:
        if record.session == session and record.episode in ended:
            return True
        return record.at <= now

    copy_until(scope, into, last, keeps)
    return first


def _end(scope: Scope, first: int, own: frozenset[str] | set[str], now: float, session: str) -> int:
    """Return the entry number up to which memory held everything at a time.

    Args:
        first: Entry number before which all was there.
        own: Uids of episodes that were there.
        now: The time, in seconds since the epoch.
        session: Name of the session. Its episodes were there only if they are among `own`.
    """
    end, after = first, True
    for number, episode in scope.entered():
        if number < first:
            continue
        after = after and episode.session != session and _stored(episode) <= now
        if after or episode.uid in own:
            end = number + len(episode.steps)
            after = True
    return end


def _stored(episode: Episode) -> float:
    """Return when an episode was stored, as Unix time in seconds; infinite for one that was imported."""
    if any(step.provenance.startswith("imported:") for step in episode.steps):
        return float("inf")
    return episode.started + episode.wall_s

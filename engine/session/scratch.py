"""The memory of a branch: what its session remembered when it took a step, in a folder of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from engine.memory.cut import copy_until
from engine.records import EpisodeEnded, EpisodeStarted, Event, Kept, SessionStarted

if TYPE_CHECKING:
    from engine.memory import Memory
    from engine.memory.scope import Scope
    from engine.records import Episode


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

"""Reads facts about earlier sessions without decoding their decisions, and finds those that can be compared."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import limits
from engine.codec import event_from_line
from engine.disk import open_binary
from engine.errors import BadFile
from engine.records import SessionStarted
from engine.session import store as sessions
from engine.session.store import SavedSession
from jitrl_tui.runs.episode_costs import EpisodeCost, Ledger

_BEGINNING = b'{"event":"SessionStarted"'
MOST_EARLIER = 20
"""Most earlier sessions in a mean. The latest ones are taken."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """What sessions must have in common to be in one curve, see `likeness`.

    Attributes:
        game: Key of the memory that belongs to the game, which has the story's digest.
        settings: The first 8 digits of the SHA-256 of all settings as JSON.
    """

    game: str
    agent: str
    model: str
    profile: str
    settings: str

    def __str__(self) -> str:
        """Return it in words without the game; `#` and the digest of the settings at the end."""
        return f"{self.agent}, {self.model}, {self.profile} #{self.settings}"


@dataclass(frozen=True, slots=True)
class PlayedSession:
    """A session that was played before, with its beginning.

    Attributes:
        name: Name of the session.
        recording: The file with its events.
        started: Its first event.
        branch: Whether it begins with the episodes of another session.
    """

    name: str
    recording: Path
    started: SessionStarted
    branch: bool = False


SessionCosts = tuple[PlayedSession, tuple[EpisodeCost, ...]]
"""An earlier session with its finished episodes."""


def likeness(started: SessionStarted) -> Likeness:
    """Return what a session has in common with those that it may share a curve with.

    Two sessions can be compared if they play the same game (the same memory scope) with the same agent, model and
    profile, and if all their settings are equal. The seed, the number of episodes and what was in memory at the start
    may differ.
    """
    settings = json.dumps(dict(started.settings), sort_keys=True, default=str)
    digest = hashlib.sha256(settings.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return Likeness(started.environment.scope, started.agent, started.model, started.profile, digest)


def difference(one: SessionStarted, other: SessionStarted) -> str:
    """Return in what `one` differs from `other`, in words; "" if they can be compared. The game is not compared."""
    differences = [
        f"{name} {getattr(one, name)}"
        for name in ("agent", "model", "profile")
        if getattr(one, name) != getattr(other, name)
    ]
    ours, theirs = dict(one.settings), dict(other.settings)
    changed = [name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name)]
    if "profile" in (word.split()[0] for word in differences):
        return ", ".join(differences)  # The profile stands for its settings.
    differences += [f"{name}={_short(ours, name)}" for name in changed[:3]]
    return ", ".join([*differences, "…"] if changed[3:] else differences)


def _short(settings: Mapping[str, Any], name: str) -> str:
    return str(settings[name]) if name in settings else "not set"


def has_begun(recording: Path) -> bool:
    """Return whether a recording has the start of its session, so that it can be resumed."""
    try:
        with open_binary(recording) as lines:
            return lines.readline(1000).startswith(_BEGINNING)
    except OSError:
        return False


def started_of(recording: Path) -> SessionStarted | None:
    """Return the first event of a recording; None if it cannot be read."""
    try:
        with open_binary(recording) as lines:
            event = event_from_line(lines.readline(limits.LINE))[1]
    except (OSError, BadFile):
        return None
    return event if isinstance(event, SessionStarted) else None


def rows_of(recording: Path) -> tuple[EpisodeCost, ...]:
    """Return the finished episodes of a recording; () if it cannot be read."""
    return _read(recording)[0]


def scores_of(recording: Path) -> tuple[float, ...]:
    """Return the final score of each episode in a recording; () if it cannot be read."""
    return tuple(row.score for row in rows_of(recording))


def played_sessions(saves: Path) -> Iterator[PlayedSession]:
    """Yield the readable sessions of agents, the one that was played last first. Those of people are left out."""
    for saved in sessions.saved_sessions(saves):
        found = read_start(saved) if saved.kind != "play" else None
        if found is not None:
            yield found


def read_start(saved: SavedSession) -> PlayedSession | None:
    """Return a session with its first event; None if its recording cannot be read."""
    started = started_of(saved.recording)
    if started is None:
        return None
    return PlayedSession(saved.name, saved.recording, started, saved.origin is not None)


def earlier(saves: Path, name: str, started: SessionStarted) -> list[SessionCosts]:
    """Return the sessions before the one called `name` that can be compared with it and have finished episodes.

    Branches are left out, because they repeat episodes of another session, and sessions that went on with another
    model or other settings than they began with. For a branch, so are the sessions that it comes from: what they have
    in common with it are its own episodes, and what they played after it parted from them did not come before it.

    Args:
        saves: The saves folder.
        name: Name of the session, which begins with the time it was made at.
        started: Its first event.
    """
    wanted, found, origins = likeness(started), list[SessionCosts](), _origins(saves, name)
    for one in played_sessions(saves):
        if one.name < name and not one.branch and one.name not in origins and likeness(one.started) == wanted:
            rows, starts = _read(one.recording)
            if rows and all(likeness(start) == wanted for start in starts):
                found.append((one, rows))
        if len(found) == MOST_EARLIER:
            break
    return found


def _origins(saves: Path, name: str) -> set[str]:
    """Return the names of the session that a branch comes from, of the one that this is a branch of, and so on."""
    by_name = {one.name: one.origin for one in sessions.saved_sessions(saves)}
    found, origin = set[str](), by_name.get(name)
    while origin is not None and origin.session not in found:
        found.add(origin.session)
        origin = by_name.get(origin.session)
    return found


def means_of(sequences: Sequence[Sequence[float]]) -> list[float]:
    """Return the mean of the first values, of the second values, and so on, over the sequences that have them."""
    means = []
    for at in range(max(map(len, sequences), default=0)):
        values = [values[at] for values in sequences if at < len(values)]
        means.append(sum(values) / len(values))
    return means


def _read(recording: Path) -> tuple[tuple[EpisodeCost, ...], list[SessionStarted]]:
    """Return the finished episodes of a recording, and how the session began each time it was resumed."""
    ledger, starts = Ledger(), list[SessionStarted]()
    try:
        with open_binary(recording) as lines:
            for line in iter(lambda: lines.readline(limits.LINE), b""):
                ledger.fold_line(line)
                event = event_from_line(line)[1] if line.startswith(_BEGINNING) else None
                if isinstance(event, SessionStarted):
                    starts.append(event)
    except (OSError, BadFile):
        return (), []
    return tuple(ledger.rows), starts

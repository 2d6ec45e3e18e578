"""The map of a run: places and ways from its events, and those remembered before it."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError
from engine.games.map import GameMap, direction
from engine.records import (
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Observation,
    SessionStarted,
    Stepped,
    TakenBack,
)
from engine.worked import number
from jitrl_tui.system.background import Background
from jitrl_tui.system.output import one_line

if TYPE_CHECKING:
    from engine.session.store import SavedSession

NO_MAP = "No place is known yet. Places are shown where what is played names them."


@dataclass(slots=True)
class RunPlaces:
    """Places and ways of a run, and the points that followed those of its steps that memory has learnt.

    Attributes:
        map: All that was seen so far.
        here: The present place, "" if unknown.
        changes: Number of changes so far.
        score: The present score.
        trail: Place of each step of the running episode, with the score before it.
        uids: Those of the episodes that have begun.
    """

    map: GameMap = field(default_factory=GameMap)
    here: str = ""
    changes: int = 0
    score: float = 0.0
    trail: list[tuple[str, float]] = field(default_factory=list)
    uids: frozenset[str] = frozenset()

    def copy(self) -> RunPlaces:
        """Return an independent copy."""
        return RunPlaces(self.map.copy(), self.here, self.changes, self.score, list(self.trail), self.uids)

    def fold(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case EpisodeStarted():
                self.trail, self.uids = [], self.uids | {event.uid}
                self._go(event.observation)
                self.map.arrive(self.here, event.observation.score)
            case Stepped():
                before, score = self.here, self.score
                self.trail.append((before, score))
                self._go(event.observation)
                self.map.step(before, event.action, self.here, score, self.score)
            case TakenBack():
                del self.trail[event.step :]
                self._go(event.observation)
            case EpisodeEnded() if event.entries_added:
                for place, score_then in self.trail:
                    self.map.judge(place, event.score - score_then)
                self.changes += 1
            case _:
                pass

    def _go(self, seen: Observation) -> None:
        self.here, self.score = seen.place, seen.score
        self.changes += 1


class RememberedMap:
    """The map of all episodes that memory had when a session began. It is read in a thread when it is asked for.

    Args:
        saves: The saves folder.
        saved: The session.
        loaded: Called from the thread when the map is there.
    """

    def __init__(self, saves: Path, saved: SavedSession, loaded: Callable[[], object] = lambda: None) -> None:
        self._saves, self._saved = saves, saved
        self.loaded = loaded
        self._map: GameMap | None = None
        self._work = Background(None)
        self._of: tuple[str, int | None] | None = None
        """Scope of the map, and the entry number that it goes up to."""

    def map(self, started: SessionStarted, own: Set[str]) -> GameMap | None:
        """Return what memory had when a session began or was resumed, None while it is being read.

        Args:
            own: Uids of the episodes that the session itself has played since its first beginning.
        """
        wanted = started.environment.scope, started.next_entry
        if self._of != wanted:
            self._of, self._map = wanted, None
            self._work.begin(
                lambda progress: self.read(started, own), self._take, lambda sentence: self._take(GameMap())
            )
        return self._map

    def _take(self, found: GameMap) -> None:
        self._map = found
        self.loaded()

    def read(self, started: SessionStarted, own: Set[str]) -> GameMap:
        """Return the same at once; an empty map if memory cannot be read."""
        from engine.session.store import open_memory

        found, scope, until = GameMap(), started.environment.scope, started.next_entry
        try:
            with open_memory(self._saves, self._saved, follow=False) as memory:
                episodes = memory.scope(scope).entered() if scope in memory.scopes() else ()
                for first, episode in episodes:
                    mine = episode.uid in own or (until is None and episode.session == self._saved.name)
                    if not mine and (until is None or first < until):
                        found.add(episode, judged=True)
        except JitrlError:  # the session reports what is wrong with its memory
            return found
        return found


def exits(known: GameMap, here: str, decision: Decision | None) -> str:
    """Return the ways out of a place in a sentence: where they lead, "?" for those that were not taken yet."""
    if not here:
        return "The present place is not known."
    ways = dict(known.ways.get(here, {}))
    for action in decision.possible if decision is not None else ():
        if direction(action) is not None:
            ways.setdefault(action, "?")
    if not ways:
        return f"{one_line(here)}: no way out is known yet."
    return f"{one_line(here)}: " + ", ".join(f"{one_line(way)} → {one_line(then)}" for way, then in ways.items()) + "."


def map_lines(known: GameMap, here: str, decision: Decision | None) -> list[str]:
    """Return the map as lines that can be read aloud: a sentence for each place, the present one first."""
    if not known.places:
        return [NO_MAP]
    names = sorted(known.places, key=lambda name: name != here)
    lines = [f"You are here. {exits(known, here, decision)}"] if here in known.places else []
    for name in names:
        place = known.places[name]
        ways = ", ".join(f"{way} to {then}" for way, then in known.ways.get(name, {}).items())
        worth = "nothing remembered"
        if place.value is not None:
            steps = f"{place.count} remembered step{'' if place.count == 1 else 's'}"
            worth = f"{number(place.value)} points followed on average, {steps}"
        lines.append(f"{name}: {worth}{f'; {ways}' if ways and name != here else ''}.")
    return [one_line(line) for line in lines]

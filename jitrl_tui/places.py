"""The map of a run: places and ways from its events, and those remembered before it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from engine.explain import number
from engine.games.map import GameMap, direction
from engine.records import Decision, EpisodeEnded, EpisodeStarted, Event, Observation, Stepped, TakenBack
from jitrl_tui.output import one_line

if TYPE_CHECKING:
    from engine.session.store import SavedSession

NO_MAP = "No place is known yet. Places are shown where what is played names them."


@dataclass(slots=True)
class Places:
    """Places and ways of a run, and the returns of its steps that memory has learnt.

    Attributes:
        map: All that was seen so far.
        here: The present place, "" if unknown.
        changes: Number of changes so far.
        score: The present score.
        trail: Place of each step of the running episode.
    """

    map: GameMap = field(default_factory=GameMap)
    here: str = ""
    changes: int = 0
    score: float = 0.0
    trail: list[str] = field(default_factory=list)

    def copy(self) -> Places:
        """Return an independent copy."""
        return Places(self.map.copy(), self.here, self.changes, self.score, list(self.trail))

    def fold(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case EpisodeStarted():
                self.trail = []
                self._go(event.observation)
                self.map.arrive(self.here, event.observation.score)
            case Stepped():
                before, score = self.here, self.score
                self.trail.append(before)
                self._go(event.observation)
                self.map.step(before, event.action, self.here, score, self.score)
            case TakenBack():
                del self.trail[event.step :]
                self._go(event.observation)
            case EpisodeEnded() if event.entries_added:
                for place, g in zip(self.trail, event.returns, strict=False):
                    self.map.judge(place, g)
                self.changes += 1
            case _:
                pass

    def _go(self, seen: Observation) -> None:
        self.here, self.score = seen.place, seen.score
        self.changes += 1


class Remembered:
    """The map of all episodes that memory had before a session. It is read in a thread when it is first asked for.

    Args:
        saves: The saves folder.
        saved: The session; its own episodes are left out.
        loaded: Called from the thread when the map is there.
    """

    def __init__(self, saves: Path, saved: SavedSession, loaded: Callable[[], None] = lambda: None) -> None:
        self._saves, self._saved = saves, saved
        self.loaded = loaded
        self._map: GameMap | None = None
        self._thread: threading.Thread | None = None

    def map(self, scope: str) -> GameMap | None:
        """Return the map of a scope of memory, None while it is being read."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._load, args=(scope,), name="map", daemon=True)
            self._thread.start()
        return self._map

    def _load(self, scope: str) -> None:
        self._map = self.read(scope)
        self.loaded()

    def read(self, scope: str) -> GameMap:
        """Return the map of a scope of memory; an empty one if memory cannot be read."""
        from engine.errors import JitrlError
        from engine.jitrl import discounted_returns
        from engine.memory.exact.returns import own_returns
        from engine.session.store import open_memory

        found = GameMap()
        settings = self._saved.config.settings
        returns = own_returns if settings.zero_rewards == "own" else discounted_returns
        try:
            with open_memory(self._saves, self._saved, follow=False) as memory:
                episodes = memory.scope(scope).episodes() if scope in memory.scopes() else ()
                for episode in episodes:
                    if episode.session != self._saved.name:
                        rewards = [step.reward for step in episode.steps]
                        found.add(episode, [float(g) for g in returns(rewards, settings.gamma)])
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


def told(known: GameMap, here: str, decision: Decision | None) -> list[str]:
    """Return the map as lines that can be read aloud: a sentence for each place, the present one first."""
    if not known.places:
        return [NO_MAP]
    names = sorted(known.places, key=lambda name: name != here)
    lines = [f"You are here. {exits(known, here, decision)}"] if here in known.places else []
    for name in names:
        place = known.places[name]
        ways = ", ".join(f"{way} to {then}" for way, then in known.ways.get(name, {}).items())
        worth = "no return yet"
        if place.value is not None:
            worth = f"mean return {number(place.value)} of {place.count} steps"
        lines.append(f"{name}: {worth}{f'; {ways}' if ways and name != here else ''}.")
    return [one_line(line) for line in lines]

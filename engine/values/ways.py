"""How far apart places are by moves that are known, and how dangerous the way is."""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from dataclasses import dataclass

from engine.values.experience import Experience, Key


@dataclass(frozen=True, slots=True)
class Way:
    """A shortest way.

    Attributes:
        steps: Its length.
        deadly: The moves on it, each with its place, from places that somebody died of leaving.
        unsure: Those that were not possible at times, though memory had them.
        moves: The moves, each with its place.
    """

    steps: int
    deadly: tuple[Key, ...]
    unsure: tuple[Key, ...]
    moves: tuple[Key, ...]

    @property
    def actions(self) -> tuple[str, ...]:
        """The moves alone."""
        return tuple(action for _, action in self.moves)


class Ways:
    """Shortest ways between all places, worked out from each place when asked for it."""

    def __init__(self, experience: Experience) -> None:
        self._x = experience
        self._version = -1
        self._from: dict[str, dict[str, Way]] = {}

    def of(self, place: str) -> dict[str, Way]:
        """Return the shortest ways from a place, itself included."""
        if self._version != self._x.moves_version:
            self._version = self._x.moves_version
            self._from.clear()
        known = self._from.get(place)
        if known is None:
            known = self._from[place] = self.search(place)
        return known

    def search(
        self, place: str, first: Container[str] | None = None, barred: Container[Key] = ()
    ) -> dict[str, Way]:
        """Return the shortest ways from a place.

        Args:
            first: Moves that a way can begin with, None for all.
            barred: Moves that a way cannot go on with.
        """
        found = {place: Way(0, (), (), ())}
        queue = deque([place])
        while queue:
            name = queue.popleft()
            here = found[name]
            risky = self._x.dangers.hazard(name, moving=True) > 0.0
            for action, there in self._x.exits(name):
                possible = (name, action) not in barred if first is None or name != place else action in first
                if there not in found and possible:
                    deadly = (*here.deadly, (name, action)) if risky else here.deadly
                    unsure = (*here.unsure, (name, action)) if self._x.missed[(name, action)] else here.unsure
                    found[there] = Way(here.steps + 1, deadly, unsure, (*here.moves, (name, action)))
                    queue.append(there)
        return found

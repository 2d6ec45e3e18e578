"""How far apart places are by moves that are known, and how dangerous the way is."""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from dataclasses import dataclass
from typing import NamedTuple

from engine.values.experience import Experience, Key


@dataclass(slots=True)
class Way:
    """A shortest way.

    Attributes:
        steps: Its length.
        moves: The moves on it, each with its place.
        perils: What was told of it, and the version of what is known that it was told by.
    """

    steps: int
    moves: tuple[Key, ...]
    perils: tuple[int, Perils] | None = None

    @property
    def actions(self) -> tuple[str, ...]:
        """The moves alone."""
        return tuple(action for _, action in self.moves)


class Perils(NamedTuple):
    """What may go wrong on a way.

    Attributes:
        deadly: The moves from places that somebody died of leaving.
        unsure: Those that were not possible at times, though memory had them.
    """

    deadly: tuple[Key, ...]
    unsure: tuple[Key, ...]


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

    def perils(self, way: Way) -> Perils:
        """Return what may go wrong on a way."""
        version = self._x.perils_version
        if way.perils is None or way.perils[0] != version:
            hazard, missed = self._x.dangers.hazard, self._x.missed
            deadly = tuple(key for key in way.moves if hazard(key[0], moving=True) > 0.0)
            unsure = tuple(key for key in way.moves if missed.get(key))
            way.perils = version, Perils(deadly, unsure)
        return way.perils[1]

    def search(
        self, place: str, first: Container[str] | None = None, barred: Container[Key] = ()
    ) -> dict[str, Way]:
        """Return the shortest ways from a place.

        Args:
            first: Moves that a way can begin with, None for all.
            barred: Moves that a way cannot go on with.
        """
        found = {place: Way(0, ())}
        queue = deque([place])
        while queue:
            name = queue.popleft()
            here = found[name]
            for action, there in self._x.exits(name):
                if there in found:
                    continue
                if (name, action) not in barred if first is None or name != place else action in first:
                    found[there] = Way(here.steps + 1, (*here.moves, (name, action)))
                    queue.append(there)
        return found

"""How far apart places are by moves that are known, and which of these may go wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Container
from dataclasses import dataclass

from engine.values.effects import Key
from engine.values.memo import Memo
from engine.values.model import Model


@dataclass(frozen=True, slots=True)
class Way:
    """A shortest way.

    Attributes:
        steps: Its length.
        moves: The moves on it, each with its place.
        deadly: Those from places that somebody died of leaving.
        unsure: Those that were not possible at times, though memory had them.
    """

    steps: int
    moves: tuple[Key, ...]
    deadly: tuple[Key, ...] = ()
    unsure: tuple[Key, ...] = ()

    @property
    def actions(self) -> tuple[str, ...]:
        """The moves alone."""
        return tuple(action for _, action in self.moves)


class Ways:
    """Shortest ways between all places, worked out from each place when asked for it."""

    def __init__(self, model: Model) -> None:
        self._m = model
        self._from: Memo[tuple[str, frozenset[str] | None, frozenset[Key]], dict[str, Way]] = Memo()

    def of(
        self, place: str, first: frozenset[str] | None = None, barred: frozenset[Key] = frozenset()
    ) -> dict[str, Way]:
        """Return the shortest ways from a place, itself included.

        Args:
            first: Moves that a way can begin with, None for all.
            barred: Moves that a way cannot go on with.
        """
        version = (self._m.ways_version, self._m.hazards.version)
        return self._from.find(version, (place, first, barred), lambda: self._search(place, first, barred))

    def _search(self, place: str, first: Container[str] | None, barred: Container[Key]) -> dict[str, Way]:
        m, found, queue = self._m, {place: Way(0, ())}, deque([place])
        while queue:
            name = queue.popleft()
            here = found[name]
            deadly = m.hazards.hazard(name, moving=True) > 0.0
            for action, there in m.exits(name):
                key = (name, action)
                if there in found or (key in barred if first is None or name != place else action not in first):
                    continue
                found[there] = Way(
                    here.steps + 1,
                    (*here.moves, key),
                    (*here.deadly, key) if deadly else here.deadly,
                    (*here.unsure, key) if m.missed.get(key) else here.unsure,
                )
                queue.append(there)
        return found

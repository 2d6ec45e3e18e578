"""Ways that do not stay open: a troll is out cold, and wakes up again.

Who stays where a way is open sees whether it still is after whatever else was done. What shut more often than not, or
nearly so, is fleeting: it is gone now or never.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set

_STAYS = 0.6
"""Share of the times that a way was still open after something else was done below which it is fleeting."""


class Openness:
    """Counts how often open ways stayed open."""

    def __init__(self) -> None:
        self._stayed: Counter[tuple[str, str]] = Counter()
        self._shut: Counter[tuple[str, str]] = Counter()
        self._open: tuple[str, frozenset[str]] = ("", frozenset())
        self._before: tuple[str, frozenset[str]] | None = None

    def see(self, place: str, possible: tuple[str, ...], moves: Set[str]) -> None:
        """Take note of the ways that are open."""
        now = moves & frozenset(possible)
        if self._before is not None and self._before[0] == place:
            before = self._before[1]
            self._stayed.update((place, way) for way in before & now)
            self._shut.update((place, way) for way in before - now)
        self._before = None
        self._open = (place, frozenset(now))

    def stay(self, place: str, then: str, terminated: bool) -> None:
        """Take note of a step: ways are compared when it was made at a place and did not lead away from it."""
        stayed = place == then and not terminated and self._open[0] == place
        self._before = self._open if stayed else None

    def leave(self) -> None:
        """Begin an episode."""
        self._before = None

    def is_fleeting(self, place: str, way: str) -> bool:
        """Return whether a way that is open is likely shut after anything else is done."""
        shut, stayed = self._shut[(place, way)], self._stayed[(place, way)]
        return shut > 0 and (stayed + 1.0) / (stayed + shut + 1.0) < _STAYS

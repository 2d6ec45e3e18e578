"""What trying something for the first time brings, by the class of the action: points, discoveries, losses."""

from __future__ import annotations

from collections import defaultdict

_FIRST = 2.0
"""Points expected of a class never tried, worth `_TRIES` tries."""
_TRIES = 2.0


class Yields:
    """Counts of first tries and of what they brought."""

    def __init__(self) -> None:
        self._tries: defaultdict[str, float] = defaultdict(float)
        self._losses: defaultdict[str, float] = defaultdict(float)
        self._brought: defaultdict[str, float] = defaultdict(float)
        self.version = 0
        """Grows with each first try."""

    def add(self, kind: str, brought: float, *, lost: bool, share: float = 1.0) -> None:
        """Count a first try.

        Args:
            kind: Its class.
            brought: Points, and what was discovered, in points.
            lost: Whether it cost something in hand.
            share: What part of what the class brings was promised.
        """
        self.version += 1
        self._tries[kind] += share
        self._losses[kind] += lost * share
        self._brought[kind] += brought

    def rate(self, kind: str) -> float:
        """Return the points that trying an action of a class for the first time brings."""
        return (self._brought[kind] + _FIRST * _TRIES) / (self._tries[kind] + _TRIES)

    def loss_rate(self, kind: str) -> float:
        """Return how often an action of a class, tried for the first time, cost something in hand."""
        return (self._losses[kind] + 0.2) / (self._tries[kind] + 1.0)

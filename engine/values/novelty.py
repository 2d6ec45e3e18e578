"""What trying an action for the first time brings, and costs.

It is counted by the class of the action, and carries over from one part of the world to another.
"""

from __future__ import annotations

from collections import defaultdict

from engine.settings.plan import PlanNumbers
from engine.values.counts import TryCount


class Yields:
    """Counts of first tries, by class of action, and of what they brought and cost."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._brought: defaultdict[str, TryCount] = defaultdict(TryCount)
        self._lost: defaultdict[str, TryCount] = defaultdict(TryCount)

    def add(self, kind: str, brought: float, *, lost: bool, share: float) -> None:
        """Count a first try.

        Args:
            kind: Its class.
            brought: Points, and what was discovered, in points.
            lost: Whether it cost something in hand.
            share: What part of what the class brings was promised.
        """
        self._brought[kind].add(brought, share)
        self._lost[kind].add(lost * share, share)

    def rate(self, kind: str) -> float:
        """Return the points that trying an action of a class for the first time brings."""
        return self._brought[kind].rate(self._n.first, self._n.doubt)

    def loss_rate(self, kind: str) -> float:
        """Return how often an action of a class, tried for the first time, cost something in hand."""
        return self._lost[kind].rate(self._n.loss, 1.0)

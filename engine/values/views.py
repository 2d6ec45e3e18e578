"""What a place looks like, by what one comes there with."""

from __future__ import annotations

from engine.values.conditions import Tokens
from engine.values.likeness import Likeness

_KEPT = 24
"""Latest looks of a place that are kept."""
_NONE: Tokens = frozenset()


class Views:
    """What one place looked like to who first came there in an episode."""

    def __init__(self, likeness: Likeness) -> None:
        self.likeness = likeness
        self._seen: dict[Tokens, Tokens] = {}
        self._light = _NONE
        self._expected: dict[Tokens, Tokens] = {}
        self._latest: list[tuple[Tokens, int]] = []
        """What was in hand, the latest first, and the numbers of that."""

    def add(self, have: Tokens, see: Tokens) -> None:
        """Learn what it looks like with this in hand."""
        self._expected.clear()
        self._latest = []
        self._seen.pop(have, None)
        self._seen[have] = see
        if len(self._seen) > _KEPT:
            del self._seen[next(iter(self._seen))]

    def with_in_hand(self, have: Tokens, light: Tokens) -> Tokens:
        """Return what it looked like to who came with the most similar things in hand; nothing if nobody ever came.

        Args:
            light: What lifts a danger: with it a place looks like to those who had it, too, and without it like to
                those who had not, however similar all else was.
        """
        if not self._seen:
            return _NONE
        seen = self._seen.get(have)
        if seen is not None:
            return seen
        if light != self._light:
            self._light = light
            self._expected.clear()
        seen = self._expected.get(have)
        if seen is None:
            if not self._latest:
                self._latest = [(held, self.likeness.number(held)) for held in reversed(self._seen)]
            known, lit = self._latest, light.isdisjoint(have)
            near = [item for item in known if light.isdisjoint(item[0]) == lit] or known if light else known
            similar = self.likeness.jaccard(have, [number for _, number in near])
            seen = self._expected[have] = self._seen[near[similar.index(max(similar))][0]]
        return seen

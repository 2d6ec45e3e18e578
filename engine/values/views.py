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
        self._likeness = likeness
        self._seen: dict[Tokens, Tokens] = {}
        self._light = _NONE
        self._expected: dict[Tokens, Tokens] = {}

    def add(self, have: Tokens, see: Tokens) -> None:
        """Learn what it looks like with this in hand."""
        self._expected.clear()
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
            known, lit = list(reversed(self._seen)), light.isdisjoint(have)
            alike = [held for held in known if light.isdisjoint(held) == lit] if light else known
            near = alike or known
            similar = self._likeness.jaccard(have, map(self._likeness.number, near))
            seen = self._expected[have] = self._seen[near[similar.index(max(similar))]]
        return seen

"""What a place looks like, by what one comes there with."""

from __future__ import annotations

import functools

from engine.values.conditions import Tokens

_KEPT = 24
"""Latest looks of a place that are kept."""
_NONE: Tokens = frozenset()


class Views:
    """What one place looked like to who first came there in an episode."""

    def __init__(self) -> None:
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
            nearest = max(alike or known, key=lambda held: jaccard(held, have))
            seen = self._expected[have] = self._seen[nearest]
        return seen


@functools.lru_cache(maxsize=1 << 17)
def jaccard(a: Tokens, b: Tokens) -> float:
    """Return the share of tokens in common, 1 if there are none."""
    common = len(a & b)
    union = len(a) + len(b) - common
    return common / union if union else 1.0

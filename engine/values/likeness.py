"""How alike sets of tokens are: each set as a number with a bit for each token, for these are soon compared."""

from __future__ import annotations

from collections.abc import Iterable

from engine.values.conditions import Tokens

_KEPT = 1 << 16
"""Sets of which the number is kept."""


class Likeness:
    """Compares sets of tokens of one world."""

    def __init__(self) -> None:
        self._bits: dict[str, int] = {}
        self._numbers: dict[Tokens, int] = {}

    def number(self, tokens: Tokens) -> int:
        """Return the number that stands for a set of tokens."""
        found = self._numbers.get(tokens)
        if found is None:
            if len(self._numbers) > _KEPT:
                self._numbers.clear()
            found = self._numbers[tokens] = sum(map(self.bit, tokens))
        return found

    def bit(self, token: str) -> int:
        """Return the number that stands for a token alone."""
        return self._bits.setdefault(token, 1 << len(self._bits))

    def jaccard(self, tokens: Tokens, others: Iterable[int]) -> list[float]:
        """Return the shares of tokens that a set has in common with others, by their numbers; 1 if there are none."""
        number, size = self.number(tokens), len(tokens)
        if not size:
            return [float(not other) for other in others]
        return [
            (common := (number & other).bit_count()) / (size + other.bit_count() - common) for other in others
        ]

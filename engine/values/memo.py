"""Answers that are kept until what they depend on changes, and a fast comparison of sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Answer = TypeVar("_Answer")


class Memo(Generic[_Key, _Answer]):
    """Answers by question, all of the same version of what is known.

    Args:
        most: Answers that are kept; with more, all are forgotten.
    """

    __slots__ = ("_answers", "_most", "_version")

    def __init__(self, most: int = 1 << 10) -> None:
        self._most = most
        self._version: object = None
        self._answers: dict[_Key, _Answer] = {}

    def find(self, version: object, key: _Key, answer: Callable[[], _Answer]) -> _Answer:
        """Return the answer to a question; it is worked out unless it is kept and of this version."""
        if self._version != version or len(self._answers) > self._most:
            self._version = version
            self._answers.clear()
        try:
            return self._answers[key]
        except KeyError:
            found = self._answers[key] = answer()
            return found

    def clear(self) -> None:
        """Forget all answers."""
        self._answers.clear()

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the answers out of a copy: they can be worked out again."""
        return type(self), (self._most,)


class Likeness:
    """Compares sets of tokens of one world: each set as a number with a bit for each token, which is fast.

    Args:
        most: Sets of which the number is kept.
    """

    def __init__(self, most: int = 1 << 16) -> None:
        self._most = most
        self._bits: dict[str, int] = {}
        self._numbers: dict[frozenset[str], int] = {}

    def number(self, tokens: frozenset[str]) -> int:
        """Return the number that stands for a set of tokens."""
        found = self._numbers.get(tokens)
        if found is None:
            if len(self._numbers) > self._most:
                self._numbers.clear()
            bits = self._bits
            found = self._numbers[tokens] = sum(bits.setdefault(token, 1 << len(bits)) for token in tokens)
        return found

    def jaccard(self, tokens: frozenset[str], others: Iterable[frozenset[str]]) -> list[float]:
        """Return the shares of tokens that a set has in common with others; 1 if there are none."""
        number, size, numbered = self.number(tokens), len(tokens), self.number
        if not size:
            return [float(not other) for other in others]
        return [
            (common := (number & numbered(other)).bit_count()) / (size + len(other) - common) for other in others
        ]

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the numbers out of a copy: they can be made again."""
        return type(self), (self._most,)

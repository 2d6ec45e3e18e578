"""Answers that are kept until what they depend on changes."""

from __future__ import annotations

from collections.abc import Callable, Hashable
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

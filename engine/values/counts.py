"""What all statistics here are made with: rates with a prior, what first tries bring, answers that are kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from engine.settings.plan import PlanNumbers

_Key = TypeVar("_Key", bound=Hashable)
_Answer = TypeVar("_Answer")


def rate(hits: float, tries: float, prior: float, strength: float) -> float:
    """Return the mean of a Beta distribution: the share of hits, shrunk towards a prior worth so many tries."""
    return (hits + prior * strength) / (tries + strength)


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Return the share of tokens that two sets have in common, 1 if both are empty."""
    common = len(one & other)
    union = len(one) + len(other) - common
    return common / union if union else 1.0


class TryCount:
    """A count of tries and of what they came to."""

    __slots__ = ("hits", "tries")

    def __init__(self) -> None:
        self.tries = self.hits = 0.0

    def add(self, hits: float, tries: float = 1.0) -> None:
        """Count tries."""
        self.tries += tries
        self.hits += hits

    def rate(self, prior: float = 0.0, strength: float = 0.0) -> float:
        """Return what a try comes to, where `strength` tries that came to `prior` each are added to those counted."""
        return rate(self.hits, self.tries, prior, strength)


class Memo(Generic[_Key, _Answer]):
    """Answers by question. Those about one subject hold for one version of it, and are forgotten with the next.

    Args:
        most: Answers that are kept; with more, all are forgotten.
    """

    __slots__ = ("_about", "_most", "_size")

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._about: dict[str, tuple[Hashable, dict[_Key, _Answer]]] = {}
        """By subject, its latest version and the answers that hold for it."""

    def __len__(self) -> int:
        """Return the number of answers that are kept."""
        return self._size

    def find(self, subject: str, version: Hashable, key: _Key, answer: Callable[[], _Answer]) -> _Answer:
        """Return the answer to a question; it is worked out unless it is kept."""
        known = self._about.get(subject)
        if known is not None and known[0] == version and key in known[1]:
            return known[1][key]
        found = answer()  # which may ask further questions
        known = self._about.get(subject)
        if known is None or known[0] != version:
            self._size -= len(known[1]) if known is not None else 0
            known = self._about[subject] = version, {}
        if self._size >= self._most:
            self._about = {subject: (version, known[1])}
            known[1].clear()
            self._size = 0
        self._size += key not in known[1]
        known[1][key] = found
        return found


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

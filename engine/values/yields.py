"""What trying something for the first time brings, by the class of the action: points, discoveries, losses.

What is done to the same thing comes to much the same: who put ten things into an egg in vain knows the egg, and hardly
anything of cases. So tries of a class that are done to one thing count together as little more than one, and what was
tried on a thing tells more of it than of others. This is the estimate of a mean from groups whose members are
correlated (the design effect of cluster sampling), shrunk towards it group by group.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from dataclasses import dataclass

from engine.values.conditions import objects

_FIRST = 2.0
"""Points expected of a class never tried, worth `_TRIES` tries."""
_TRIES = 2.0
_ALIKE = 0.5
"""Correlation of what tries of a class bring that are done to the same thing."""


@dataclass(slots=True)
class _Tally:
    """First tries, and the points they brought."""

    tries: float = 0.0
    brought: float = 0.0

    @property
    def weight(self) -> float:
        """How many tries at different things these are worth, all at the same thing."""
        return self.tries / (1.0 + _ALIKE * max(0.0, self.tries - 1.0))


class Yields:
    """Counts of first tries and of what they brought."""

    def __init__(self) -> None:
        self._single: defaultdict[str, _Tally] = defaultdict(_Tally)
        self._groups: defaultdict[str, dict[str, _Tally]] = defaultdict(dict)
        self._tries: defaultdict[str, float] = defaultdict(float)
        self._losses: defaultdict[str, float] = defaultdict(float)

    def add(self, kind: str, brought: float, *, lost: bool, share: float = 1.0, action: str = "") -> None:
        """Count a first try.

        Args:
            kind: Its class.
            brought: Points, and what was discovered, in points.
            lost: Whether it cost something in hand.
            share: What part of what the class brings was promised.
            action: What was done; tries with two things are counted by what they are done to.
        """
        target = target_of(action)
        tally = self._groups[kind].setdefault(target, _Tally()) if target else self._single[kind]
        tally.tries += share
        tally.brought += brought
        self._tries[kind] += share
        self._losses[kind] += lost * share

    def rate(self, kind: str, action: str = "") -> float:
        """Return the points that trying an action of a class for the first time brings."""
        single = self._single[kind]
        tries, brought = single.tries + _TRIES, single.brought + _FIRST * _TRIES
        groups = self._groups[kind]
        for group in groups.values():
            weight = group.weight
            tries += weight
            brought += weight * group.brought / group.tries
        rate = brought / tries
        known = groups.get(target_of(action))
        if known is None:
            return rate
        strength = (1.0 - _ALIKE) / _ALIKE
        return (known.brought + strength * rate) / (known.tries + strength)

    def loss_rate(self, kind: str) -> float:
        """Return how often an action of a class, tried for the first time, cost something in hand."""
        return (self._losses[kind] + 0.2) / (self._tries[kind] + 1.0)


@functools.lru_cache(maxsize=1 << 14)
def target_of(action: str) -> str:
    """Return the word for what an action with two things is done to, "" if it has one thing or none.

    To the case, if it is "put egg in case" or "open case with egg".
    """
    named = objects(action)
    before, between, after = "", "", ""
    for word in action.split()[1:]:
        if word not in named:
            between = word if before and not after else between
        elif between:
            after = word
        else:
            before = word
    if not after:
        return ""
    return before if between == "with" else after

"""Episodes as they were lived, from their beginning: whether the same comes of doing all the same again.

Games draw their luck from a generator that begins alike, so who does everything as in an earlier episode mostly meets
the same luck: a fight won once is won again. How far that holds is counted wherever luck was seen to matter; where
episodes do not begin alike, or luck falls anew each time, it soon counts for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from engine.settings.planning import PlanNumbers


class _Known(NamedTuple):
    history: int
    told: int
    reward: float


class Histories:
    """A tree of all that was done from the beginning of episodes on, and where this episode stands in it."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._now: int | None = 0
        self._passed: list[int | None] = []
        self._count = 0
        self._led: dict[tuple[int, str], _Known] = {}
        self._after: dict[int, list[tuple[float, int, int]]] = {}
        self._killed: dict[int, set[str]] = {}
        """By history, what killed when it was done last."""
        self._as_before, self._otherwise = numbers.as_before, numbers.otherwise
        self._departed = False
        self.repeated = False
        """Whether all of the last episode was done before, and came to the same: nothing was learnt in it."""

    @property
    def faithfulness(self) -> float:
        """Return how likely luck falls as it did when all that was done before is the same."""
        return self._as_before / (self._as_before + self._otherwise)

    @property
    def deadly(self) -> frozenset[str]:
        """Return the actions that killed after all the same; none where luck mostly falls otherwise."""
        if self._now is None or self.faithfulness <= self._n.faithful:
            return frozenset()
        return frozenset(self._killed.get(self._now, ()))

    def add(self, action: str, told: int, reward: float, *, by_luck: bool, died: bool = False) -> None:
        """Go on by a step of the present episode.

        Args:
            told: A digest of the state after it as the game told it: how states are read changes as more is known.
            by_luck: Whether different things were seen to come of this action in the same situation.
        """
        self._passed.append(self._now)
        if self._now is None:
            return
        if died:
            self._killed.setdefault(self._now, set()).add(action)
        else:
            self._killed.get(self._now, set()).discard(action)
        key = (self._now, action)
        known = self._led.get(key)
        self._departed = self._departed or known is None or (known.told, known.reward) != (told, reward)
        if known is not None and by_luck:
            same = (known.told, known.reward) == (told, reward)
            self._as_before += same
            self._otherwise += not same
        if known is None:
            self._count += 1
        history = self._count if known is None else known.history
        self._led[key] = _Known(history, told, reward)
        self._now = history

    def is_as_before(self, action: str, told: int, reward: float) -> bool:
        """Return whether all of this episode, and this action after it, was done before, and the same came of it."""
        known = self._led.get((self._now, action)) if self._now is not None else None
        return known is not None and (known.told, known.reward) == (told, reward)

    def lose(self) -> None:
        """Take note that a step of this episode is not known: it is no known history any more."""
        self._now, self._departed = None, True

    def close(self, rewards: Sequence[float], number: int) -> float:
        """End the episode, kept elsewhere under this number; return the most that was gained in it."""
        best = 0.0
        for index in range(len(rewards) - 1, -1, -1):
            best = max(0.0, best + rewards[index])
            history = self._passed[index]
            if best > 0.0 and history is not None:
                known = self._after.setdefault(history, [])
                known.append((best, number, index))
                known.sort(key=lambda t: (-t[0], -t[1]))
                del known[self._n.continuations :]
        if rewards:
            self.repeated = not self._departed
        self._now, self._passed, self._departed = 0, [], False
        return best

    def continued(self) -> Iterator[tuple[int, int]]:
        """Yield the episodes that went on best from here, by number, and the step with which they did."""
        for _, number, index in self._after.get(self._now, ()) if self._now is not None else ():
            yield number, index

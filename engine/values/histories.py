"""Histories: all that was done from the beginning of episodes on, and how each went on best.

Games draw random numbers from a generator that begins with the same seed. So an episode that does everything as an
earlier one did mostly has the same results: a fight won once is won again. Wherever an action is known to have
different results, it is counted how often the result was the same after the same history. Where each episode has
random numbers of its own, this probability soon falls.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.settings.plan import PlanNumbers


class _Known(NamedTuple):
    """What came of an action after a history: the history that it made, a digest of the state, and the points."""

    history: int
    state_digest: int
    reward: float


class Histories:
    """A tree of all that was done from the beginning of episodes on, and where this episode stands in it."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._now: int | None = 0
        """Number of the history so far, None if a part of it is not known."""
        self._passed: list[int | None] = []
        self._possible: list[tuple[str, ...]] = []
        """What was possible after each history passed."""
        self._led: dict[tuple[int, str], _Known] = {}
        self._after: defaultdict[int, list[tuple[float, int, int]]] = defaultdict(list)
        """By history, the most that was still gained after it, the episode, and the step; the best first."""
        self._refused: set[tuple[int, str]] = set()
        self._news = False
        """Whether anything of this episode was not done before."""
        self._spent: set[int] = set()
        """Histories after which an episode gained nothing more, and was as an earlier one to its end."""
        self._closed: set[int] = set()
        """Histories with which the game ended, and those that whatever is possible after them leads to such a one."""
        self._as_before, self._otherwise = numbers.as_before, 1.0

    @property
    def repeat_probability(self) -> float:
        """The probability that random events have the same results when all that was done before is the same."""
        return self._as_before / (self._as_before + self._otherwise)

    def add(
        self,
        action: str,
        state_digest: int,
        reward: float,
        *,
        by_luck: bool,
        ended: bool,
        possible: tuple[str, ...] = (),
    ) -> None:
        """Go on by a step of the present episode.

        Args:
            state_digest: Digest of the state after it as the game gave it; how it is read changes as more is known.
            by_luck: Whether different things were seen to come of this action in the same situation.
            ended: Whether the game ended with it.
            possible: All that was possible in its place; nothing if that is not known.
        """
        self._passed.append(self._now)
        self._possible.append(possible)
        if self._now is None:
            return
        key, same = (self._now, action), self.is_as_before(action, state_digest, reward)
        known = self._led.get(key)
        self._news |= known is None
        if known is not None and by_luck:
            self._as_before += same
            self._otherwise += not same
        self._now = known.history if known is not None else len(self._led) + 1
        self._led[key] = _Known(self._now, state_digest, reward)
        if ended:
            self._close(self._now)
        else:
            self._closed.discard(self._now)

    def _close(self, ended: int) -> None:
        """Take note that the game ended with a history, and after which others it now has whatever was done."""
        self._closed.add(ended)
        for history, possible in zip(reversed(self._passed), reversed(self._possible), strict=True):
            if history is None or not possible or not all(self.is_closed(action, history) for action in possible):
                break
            self._closed.add(history)

    def is_closed(self, action: str, history: int | None = None) -> bool:
        """Return whether the game ended with this action, or soon after it whatever was done.

        Args:
            history: What was done before; None for all that was done in this episode.
        """
        history = self._now if history is None else history
        known = self._led.get((history, action)) if history is not None else None
        return known is not None and known.history in self._closed

    def is_as_before(self, action: str, state_digest: int, reward: float) -> bool:
        """Return whether all of this episode, and this action after it, was done before, and the same came of it."""
        known = self._led.get((self._now, action)) if self._now is not None else None
        return known is not None and (known.state_digest, known.reward) == (state_digest, reward)

    def repeats(self, actions: Iterable[str], *, to_the_end: bool) -> bool:
        """Return whether this episode, if these actions come next, is one as it was before.

        Args:
            to_the_end: Whether it ends with them. If not, it counts that the game ended on the way, or soon after it
                whatever was done, or that an episode with the same beginning was as an earlier one, with no gain after
                these actions.
        """
        now = self._now
        for action in actions:
            known = self._led.get((now, action)) if now is not None else None
            now = known.history if known is not None else None
            if now in self._closed:
                return True
        return now in self._spent or (to_the_end and now is not None)

    def along(self, actions: Iterable[str]) -> Iterator[int]:
        """Yield the known histories before each of these actions, from the beginning of episodes on."""
        now = 0
        for action in actions:
            yield now
            known = self._led.get((now, action))
            if known is None:
                return
            now = known.history

    def was_taken(self, history: int, action: str) -> bool:
        """Return whether an action was ever taken after a history, or was not possible when it was to be taken."""
        return (history, action) in self._led or (history, action) in self._refused

    def refuse(self, action: str) -> None:
        """Take note that an action is not possible now."""
        if self._now is not None:
            self._refused.add((self._now, action))

    def lose(self) -> None:
        """Take note that a step of this episode is not known: it is no known history any more."""
        self._now = None

    def close(self, rewards: Sequence[float], number: int) -> None:
        """End the episode, kept elsewhere under this number.

        Args:
            rewards: Of its steps, up to the last gain.
        """
        if self._passed and self._now is not None and not self._news:
            self._spent.update(one for one in (*self._passed[len(rewards) :], self._now) if one is not None)
        best = 0.0
        for index in range(len(rewards) - 1, -1, -1):
            best, history = max(0.0, best + rewards[index]), self._passed[index]
            if best > 0.0 and history is not None:
                known = self._after[history]
                known.append((best, number, index))
                known.sort(reverse=True)
                del known[self._n.breadth :]
        self._now, self._passed, self._possible, self._news = 0, [], [], False

    def continued(self) -> Iterator[tuple[int, int]]:
        """Yield the episodes that went on best from here, by number, and the step with which they did."""
        for _, number, index in self._after.get(self._now, ()) if self._now is not None else ():
            yield number, index

"""Remembers what commands did, so that a search need not try each command in each state.

A command did nothing, or it did the same as another one that is a better wording for that. Both are remembered under
the command's key (`engine.games.actions.alike`): what its doing depends on. One with the same key is not tried again;
one that did the same as another only if that one has changed the world in this state, too. The other one is remembered
by its wording for the same things, as more may decide what it does: how much the player can carry, say. What could not
be done with few things in the player's hands cannot be done with more; with fewer, it is tried again.

Commands for two things to which nothing special is done are left out in two more cases. The story refused the first
thing with another second one in the same words as the second thing with another first one: then these words do not
depend on both. Or the same wording did nothing for other things but take one of them first: taking is a command of its
own, so the thing can be taken, and the wording tried then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

from engine.games.actions import limits
from engine.games.actions.order import Attempt

_Wording = tuple[str, tuple[int, ...]]
"""A better wording for a command, and which of the command's things are in its gaps."""
_Refusal = tuple[str, _Wording | None]
"""The story's answer without the names of things, and the better wording for what was done; None if nothing was."""
Key = tuple[Hashable, ...]
"""What decides what a command does. The last parts are its things."""
_NONE: frozenset[_Refusal] = frozenset()


class Experience:
    """What commands of one story did.

    Args:
        pickup: Numbers of the actions that take something.
    """

    def __init__(self, pickup: Collection[int] = ()) -> None:
        self.pickup = pickup
        self.instead: dict[Key, tuple[_Wording | None, int]] = {}
        self.refused: dict[Key, set[_Refusal]] = {}
        self.taking: dict[str, set[_Wording]] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, what: Hashable) -> int:
        """Return a number for something, the same for all that is equal."""
        return self._numbers.setdefault(what, len(self._numbers))

    def begin(self) -> StateKnowledge:
        """Return what is known in a new state."""
        if max(len(self.instead), len(self._numbers)) >= limits.REMEMBERED:
            for known in (self.instead, self.refused, self.taking, self._numbers):
                known.clear()
        return StateKnowledge(self)


class StateKnowledge:
    """What is known in one state, in which more is found out."""

    def __init__(self, known: Experience) -> None:
        self._known = known
        self._best: dict[Hashable, Attempt] = {}
        self._works: set[str] = set()

    def needless(self, key: Key, load: int, attempt: Attempt, is_plain: Callable[[Key], bool]) -> bool:
        """Whether a command need not be tried.

        Args:
            key: What decides what it does.
            load: How many things the player has, if that matters; else 0.
            attempt: The command.
            is_plain: Tells whether a key is that of a command for two things to which nothing special is done.
        """
        known = self._known
        before = known.instead.get(key)
        if before is not None and load >= before[1]:
            return self._is_done(before[0], attempt)
        if not is_plain(key):
            return False
        taking = known.taking.get(attempt.form, ())
        if any(self._is_done(wording, attempt) for wording in taking):
            return True
        first, second = (known.refused.get(side, _NONE) for side in _sides(key, load))
        return any(self._is_done(wording, attempt) for _, wording in first & second)

    def nothing(self, key: Key, load: int, answer: str | None) -> None:
        """A command did nothing. The answer is None if it is not for two plain things."""
        self._instead(key, load, answer, None)

    def works(
        self, key: Key, load: int, attempt: Attempt, effect: Hashable, answer: str | None, *, best: bool
    ) -> None:
        """A command had an effect, and is the best wording for it so far or not."""
        self._known.instead.pop(key, None)
        if best:
            self._best[effect] = attempt
            self._works.add(attempt.command)
            return
        other = self._best[effect]
        if other.form and not other.every and all(thing in attempt.things for thing in other.things):
            better = other.form, tuple(attempt.things.index(thing) for thing in other.things)
            self._instead(key, load, answer, better)
            if answer is not None and other.action in self._known.pickup:
                self._known.taking.setdefault(attempt.form, set()).add(better)

    def _instead(self, key: Key, load: int, answer: str | None, better: _Wording | None) -> None:
        self._known.instead[key] = better, load
        if answer is not None:
            for side in _sides(key, load):
                self._known.refused.setdefault(side, set()).add((answer, better))

    def _is_done(self, better: _Wording | None, attempt: Attempt) -> bool:
        """Whether a command does nothing, or the same as one that has changed the world in this state."""
        if better is None:
            return True
        form, places = better
        return form.format(*(attempt.things[place].name for place in places)) in self._works


def _sides(key: Key, load: int) -> tuple[Key, Key]:
    """Return what the commands with the same first thing have in common, and those with the same second."""
    wording, context, first, second = key
    return (wording, context, load, 0, first), (wording, context, load, 1, second)

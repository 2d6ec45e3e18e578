"""Remembers what commands did, so that a search need not try each command in each state.

A command did nothing, or it did the same as another one that is a better wording for that. Both are remembered under
the command's key (`engine.games.actions.alike`): what its doing depends on. One with the same key is not tried again;
one that did the same as another only if that one has changed the world in this state, too. The other one is remembered
by its wording for the same things, as more may decide what it does: how much the player can carry, say.
"""

from __future__ import annotations

from collections.abc import Hashable

from engine.games.actions import limits
from engine.games.actions.order import Attempt

_Wording = tuple[str, tuple[int, ...]]
"""A better wording for a command, and which of the command's things are in its gaps."""


class Experience:
    """What commands of one story did."""

    def __init__(self) -> None:
        self._instead: dict[Hashable, _Wording | None] = {}
        self._numbers: dict[Hashable, int] = {}

    def number(self, what: Hashable) -> int:
        """Return a number for something, the same for all that is equal."""
        return self._numbers.setdefault(what, len(self._numbers))

    def begin(self) -> Here:
        """Return what is known in a new state."""
        if max(len(self._instead), len(self._numbers)) >= limits.REMEMBERED:
            self._instead.clear()
            self._numbers.clear()
        return Here(self._instead)


class Here:
    """What is known in one state.

    Args:
        instead: For each key that needs no trial a wording that does the same, None if it does nothing.
    """

    def __init__(self, instead: dict[Hashable, _Wording | None]) -> None:
        self._instead = instead
        self._best: dict[Hashable, Attempt] = {}
        self._works: set[str] = set()

    def needless(self, key: Hashable, attempt: Attempt) -> bool:
        """Whether a command need not be tried."""
        if key not in self._instead:
            return False
        better = self._instead[key]
        if better is None:
            return True
        form, places = better
        return form.format(*(attempt.things[place].name for place in places)) in self._works

    def nothing(self, key: Hashable) -> None:
        """A command did nothing."""
        self._instead[key] = None

    def works(self, key: Hashable, attempt: Attempt, effect: Hashable, *, best: bool) -> None:
        """A command had an effect, and is the best wording for it so far or not."""
        self._instead.pop(key, None)
        if best:
            self._best[effect] = attempt
            self._works.add(attempt.command)
            return
        other = self._best[effect]
        if other.form and not other.every and all(thing in attempt.things for thing in other.things):
            self._instead[key] = other.form, tuple(attempt.things.index(thing) for thing in other.things)

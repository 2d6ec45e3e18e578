"""Knows what the commands tried in one state did, so that a search need not try each command.

A command did nothing, or it did the same as another one that is a better wording for that. Both are noted under the
command's key (`engine.games.actions.alike`): what its doing depends on. One with the same key is not tried again. The
other one is noted by its wording for the same things, as more may decide what it does.

Commands for two things to which nothing special is done are left out in two more cases. The story refused the first
thing with another second one in the same words as the second thing with another first one: then these words do not
depend on both. Or the same wording did nothing for other things but take one of them first: taking is a command of its
own, so the thing can be taken, and the wording tried then.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable

from engine.games.actions.order import Attempt

_Wording = tuple[str, tuple[int, ...]]
"""A better wording for a command, and which of the command's things are in its gaps."""
_Refusal = tuple[str, _Wording | None]
"""The story's answer without the names of things, and the better wording for what was done; None if nothing was."""
Key = tuple[Hashable, ...]
"""What decides what a command does. The last parts are its things."""
_NONE: frozenset[_Refusal] = frozenset()


class Experience:
    """What commands did in one state.

    Args:
        pickup: Numbers of the actions that take something.
    """

    def __init__(self, pickup: Collection[int] = ()) -> None:
        self._pickup = pickup
        self._instead: dict[Key, _Wording | None] = {}
        self._refused: dict[Key, set[_Refusal]] = {}
        self._pickup_wordings: dict[str, set[_Wording]] = {}
        self._best: dict[Hashable, Attempt] = {}
        self._works: set[str] = set()

    def needless(self, key: Key, attempt: Attempt, is_plain: Callable[[Key], bool]) -> bool:
        """Whether a command need not be tried.

        Args:
            key: What decides what it does.
            attempt: The command.
            is_plain: Tells whether a key is that of a command for two things to which nothing special is done.
        """
        if key in self._instead:
            return self._is_done(self._instead[key], attempt)
        if not is_plain(key):
            return False
        if any(self._is_done(wording, attempt) for wording in self._pickup_wordings.get(attempt.form, ())):
            return True
        first, second = (self._refused.get(side, _NONE) for side in _sides(key))
        return any(self._is_done(wording, attempt) for _, wording in first & second)

    def nothing(self, key: Key, answer: str | None) -> None:
        """A command did nothing. The answer is None if it is not for two plain things."""
        self._note(key, answer, None)

    def works(self, key: Key, attempt: Attempt, effect: Hashable, answer: str | None, *, best: bool) -> None:
        """A command had an effect, and is the best wording for it so far or not."""
        self._instead.pop(key, None)
        if best:
            self._best[effect] = attempt
            self._works.add(attempt.command)
            return
        other = self._best[effect]
        if other.form and not other.every and all(thing in attempt.things for thing in other.things):
            better = other.form, tuple(attempt.things.index(thing) for thing in other.things)
            self._note(key, answer, better)
            if answer is not None and other.action in self._pickup:
                self._pickup_wordings.setdefault(attempt.form, set()).add(better)

    def _note(self, key: Key, answer: str | None, better: _Wording | None) -> None:
        self._instead[key] = better
        if answer is not None:
            for side in _sides(key):
                self._refused.setdefault(side, set()).add((answer, better))

    def _is_done(self, better: _Wording | None, attempt: Attempt) -> bool:
        """Whether a command does nothing, or the same as one that has changed the world in this state."""
        if better is None:
            return True
        form, places = better
        return form.format(*(attempt.things[place].name for place in places)) in self._works


def _sides(key: Key) -> tuple[Key, Key]:
    """Return what the commands with the same first thing have in common, and those with the same second."""
    wording, first, second = key
    return (wording, 0, first), (wording, 1, second)

"""Remembers what commands did, so that a search need not try each command in each state.

A command did nothing, or it did the same as another one that is a better wording for that. Both are remembered under
the command's key (`engine.games.actions.alike`): what its doing depends on. One with the same key is not tried again;
one that did the same as another only if that one has changed the world in this state, too.
"""

from __future__ import annotations

from collections.abc import Hashable

from engine.games.actions import limits


class Experience:
    """What commands of one story did."""

    def __init__(self) -> None:
        self._instead: dict[Hashable, Hashable] = {}

    def begin(self) -> Here:
        """Return what is known in a new state."""
        if len(self._instead) >= limits.REMEMBERED:
            self._instead.clear()
        return Here(self._instead)


class Here:
    """What is known in one state.

    Args:
        instead: For each key that needs no trial the key of the command that does the same, None if it does nothing.
    """

    def __init__(self, instead: dict[Hashable, Hashable]) -> None:
        self._instead = instead
        self._best: dict[Hashable, Hashable] = {}
        self._works: set[Hashable] = {None}

    def needless(self, key: Hashable) -> bool:
        """Whether a command need not be tried."""
        return key in self._instead and self._instead[key] in self._works

    def nothing(self, key: Hashable) -> None:
        """A command did nothing."""
        self._instead[key] = None

    def works(self, key: Hashable, effect: Hashable, *, best: bool) -> None:
        """A command had an effect, and is the best wording for it so far or not."""
        self._instead.pop(key, None)
        if best:
            self._best[effect] = key
            self._works.add(key)
        else:
            self._instead[key] = self._best[effect]

"""What used to stand at a place and is gone.

What an action needs is read from what is there when it is possible. Whether a troll bars a way shows only by what is
*not* there: so what stood at a place, was never in anybody's hand and is not there any more becomes a token of its
own. Then a way may need it, and what made the troll go away is what brings it about.
"""

from __future__ import annotations

import functools
from collections.abc import Set as AbstractSet

from engine.records import State
from engine.values.bringing import Bringing
from engine.values.conditions import names_in, words_of
from engine.values.dangers import name_in
from engine.values.situations import Situation, situation

GONE = "gone:"
"""What tokens of what is gone begin with."""
_KEPT = 1 << 12
"""Situations for which it is kept what was read."""


class Absences:
    """All that was ever seen at places.

    Args:
        bringing: Knows what can be carried off.
    """

    def __init__(self, bringing: Bringing) -> None:
        self._bringing = bringing
        self._stood: dict[tuple[str, str], set[str]] = {}
        self._read: dict[Situation, tuple[int, int, Situation]] = {}
        """By what there is, how much was known when it was read, and what was read."""

    def see(self, now: Situation) -> None:
        """Learn what is at a place; in the dark the place goes by another name, and nothing is missed there."""
        stood = self._stood.setdefault((now.place, name_in(now.see)), set())
        stood.update(token for token in now.see if token.startswith("see:"))

    def read(self, state: State) -> Situation:
        """Take a state apart, and add what is gone. What is there in another condition, like a door, is not gone."""
        now = situation(state)
        stood = self._stood.get((now.place, name_in(now.see)))
        if not stood:
            return now
        known, names = self._read.get(now), self._bringing.names
        if known is None or known[:2] != (len(stood), len(names)):
            if len(self._read) > _KEPT:
                self._read.clear()
            gone = self._gone(now, stood - now.see)
            read = now._replace(see=now.see.union(gone)) if gone else now
            known = self._read[now] = (len(stood), len(names), read)
        return known[2]

    def _gone(self, now: Situation, missed: AbstractSet[str]) -> list[str]:
        """Return tokens for what is gone of what is missed."""
        there = {token.partition("=")[0] for token in now.see}
        carried = words_of(now.have) | self._bringing.names
        return [
            GONE + token
            for token in missed
            if token.partition("=")[0] not in there and not _is_carried(token, carried)
        ]


def _is_carried(token: str, carried: AbstractSet[str]) -> bool:
    """Return whether a token is about something that can be carried: at least half of its names are of such.

    A troll with an axe is none, though the axe can be taken once he is dead. What is in something goes where that goes.
    """
    return any(2 * len(names & carried) >= max(1, len(names)) for names in _names(token))


@functools.cache
def _names(token: str) -> list[frozenset[str]]:
    """Return the words that name what a token is about, and those that name what that is in."""
    thing, _, holder = token.partition("@")
    return [names_in(thing), names_in(f"see:{holder}")] if holder else [names_in(thing)]

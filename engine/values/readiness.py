"""How ready actions are in imagined situations: whether possible, by what before it, and how new they are there.

Plans ask this of many places and for all that may be in hand by then: it is worked out once, and again only when
something is learnt about the place.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from engine.values.conditions import Tokens, union, words_of
from engine.values.experience import Experience
from engine.values.legs import Imagined
from engine.values.routes import Router

_KEPT = 1 << 10
"""Answers kept of one place."""
_HELPED = 2
"""How deep what makes an action possible is searched for; at most 2 _HELPED - 1 actions follow one another."""


class Readiness(NamedTuple):
    """How ready an action is in a situation.

    Attributes:
        share: What is left there of its promise.
        actions: It, after what makes it possible.
        names: Whether it names something in hand.
        then: What is carried and seen before it, after what makes it possible.
    """

    share: float
    actions: tuple[str, ...]
    names: bool
    then: Tokens


_Told = dict[tuple[str, Tokens, Tokens], Readiness]
"""By action, and what is carried and seen."""


class Readinesses:
    """Tells how ready actions are."""

    def __init__(self, experience: Experience, router: Router) -> None:
        self._x = experience
        self._router = router
        self._places: dict[str, tuple[tuple[int, int, int], _Told]] = {}

    def of(self, place: str, have: Tokens, see: Tokens, action: str) -> Readiness:
        """Return how ready an action is in a situation."""
        if self._router.is_here(place, have, see):
            return self._searched(place, have, see, action)
        version = (self._x.places[place].version, len(self._x.moves), self._x.deaths)
        known = self._places.get(place)
        if known is None or known[0] != version or len(known[1]) > _KEPT:
            known = self._places[place] = (version, {})
        found = known[1].get((action, have, see))
        if found is None:
            found = known[1][(action, have, see)] = self._searched(place, have, see, action)
        return found

    def found(self, place: str, action: str) -> float:
        """Return how likely the action is found possible at a place, by how often it was not where memory had it."""
        return 1.0 / (1.0 + self._x.missed.get((place, action), 0)) ** 2

    def _searched(self, place: str, have: Tokens, see: Tokens, action: str) -> Readiness:
        """Work it out for just this situation."""
        x, context, key = self._x, union(have, see), (place, action)
        here = self._router.is_here(place, have, see)
        helpers: tuple[str, ...] = ()
        then = context
        if here or x.missing(key, context):
            opened = self._router.enable(Imagined(place, have, {place: see}), action, _HELPED)
            if opened is None:
                return Readiness(0.0, (), False, context)
            helpers, after, sure = opened
            then = union(after.have, after.world.get(place, see))
        else:
            sure = x.places[place].possible.chance(action, context)
        alike = x.died_alike(key, then) if x.fatal.get(key, 0) else 0
        share = 1.0 / (1.0 + alike) if action in x.moves else 1.0
        # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
        elsewise = x.fatal.get(key, 0) if action not in x.moves or not alike else 0
        if x.tried.get(key, 0) > elsewise and not x.vain.holds(key):
            share *= 1.0 - x.similarity(key, then)
        if not here:
            share *= sure * self.found(place, action)
        return Readiness(share, (*helpers, action), _named(action, have), then)


def _named(action: str, have: Tokens) -> bool:
    return bool(have) and not _words(have).isdisjoint(_split(action))


@functools.lru_cache(maxsize=4096)
def _words(have: Tokens) -> frozenset[str]:
    """Return the words that name what is carried."""
    return words_of(have)


@functools.cache
def _split(action: str) -> frozenset[str]:
    return frozenset(action.split())

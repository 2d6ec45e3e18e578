"""How ready actions are in imagined situations: whether possible, by what before it, and how new they are there.

Plans ask this of every place and for everything that may be in hand by then. What was never tried somewhere hangs on
the few things that it, and what may make it possible, is known to need: it is worked out once for all situations that
are alike in these, and again only when what is known of these needs changes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.values.conditions import Tokens, union, words_of
from engine.values.experience import Experience
from engine.values.routes import Imagined, Router

_KEPT = 1 << 12
"""Answers kept of one place."""
_HELPED = 1
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


@dataclass(slots=True)
class _Place:
    """What was told of the actions of one place that were never tried there.

    Attributes:
        version: Of what is known of their needs.
        matters: By action, all that it hangs on.
        told: By action and what of this is there, what is left of its promise, what makes it possible, and what is
            there then and was not, and the other way round.
    """

    version: tuple[int, int, int]
    matters: dict[str, Tokens] = field(default_factory=dict)
    told: dict[tuple[str, Tokens], tuple[float, tuple[str, ...], Tokens, Tokens]] = field(
        default_factory=dict
    )


class Readinesses:
    """Tells how ready actions are."""

    def __init__(self, experience: Experience, router: Router) -> None:
        self._x = experience
        self._router = router
        self._places: dict[str, _Place] = {}

    def of(self, place: str, have: Tokens, see: Tokens, action: str) -> Readiness:
        """Return how ready an action is in a situation."""
        x, context, key = self._x, union(have, see), (place, action)
        if (
            x.tried[key]
            or x.fatal[key]
            or x.places[place].possible.was_met(context)
            or self._router.is_here(place, have, see)
        ):
            return self._searched(place, have, see, action)
        known = self._known(place)
        matters = known.matters.get(action)
        if matters is None:
            matters = known.matters[action] = x.matters(place, action, 2 * _HELPED - 1)
        there = (action, context)
        told = known.told.get(there)
        if told is None:
            share, actions, _, then = self._searched(place, have, see, action, doubt=False)
            told = known.told[there] = (share, actions, then - context, context - then)
        share, actions, gained, lost = told
        if not actions:
            return Readiness(0.0, (), False, context)
        then = (context - lost) | gained if gained or lost else context
        return Readiness(self._doubted(place, action, share), actions, _named(action, have), then)

    def chance(self, place: str, context: Tokens, action: str) -> float:
        """Return how likely the action will be possible at a place, by what it needs and how often it was not."""
        return self._doubted(place, action, self._x.places[place].possible.chance(action, context))

    def _doubted(self, place: str, action: str, chance: float) -> float:
        missed = self._x.missed.get((place, action), 0)
        return chance / (1.0 + missed) ** 2 if missed else chance

    def _searched(
        self, place: str, have: Tokens, see: Tokens, action: str, *, doubt: bool = True
    ) -> Readiness:
        """Work it out for just this situation."""
        x, context, key = self._x, union(have, see), (place, action)
        here = self._router.is_here(place, have, see)
        helpers: tuple[str, ...] = ()
        then = context
        if here or x.missing(key, context):
            opened = self._router.enable(Imagined(place, have, {place: see}), action, _HELPED)
            if opened is None:
                return Readiness(0.0, (), False, context)
            helpers, after = opened
            then = union(after.have, after.world.get(place, see))
        alike = x.died_alike(key, then) if x.fatal[key] else 0
        share = 1.0 / (1.0 + alike) if action in x.moves else 1.0
        # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
        elsewise = x.fatal[key] if action not in x.moves or not alike else 0
        if x.tried[key] > elsewise:
            share *= 1.0 - x.similarity(key, then)
        if not here:
            chance = x.places[place].possible.chance(action, then)
            share *= self._doubted(place, action, chance) if doubt else chance
        return Readiness(share, (*helpers, action), _named(action, have), then)

    def _known(self, place: str) -> _Place:
        version = self._x.needs_version(place)
        known = self._places.get(place)
        if known is None or known.version != version or len(known.told) > _KEPT:
            known = self._places[place] = _Place(version)
        return known


def _named(action: str, have: Tokens) -> bool:
    return bool(have) and not _words(have).isdisjoint(_split(action))


@functools.lru_cache(maxsize=4096)
def _words(have: Tokens) -> frozenset[str]:
    """Return the words that name what is carried."""
    return words_of(have)


@functools.cache
def _split(action: str) -> frozenset[str]:
    return frozenset(action.split())

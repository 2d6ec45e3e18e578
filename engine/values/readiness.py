"""How ready actions are in imagined situations: whether possible, by what before it, and how new they are there.

Plans ask this of every place and for everything that may be in hand by then. What was never tried somewhere hangs on
the few things that it, and what may make it possible, is known to need: it is worked out once for all situations that
differ in nothing else, and again only when what is known of these needs changes.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.values.conditions import Tokens, union, words_of
from engine.values.experience import Experience
from engine.values.routes import Imagined, Router

_SITUATIONS = 64
"""Situations of a place for which it is remembered how ready actions are there."""
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


@dataclass(slots=True)
class _Needs:
    """What is known of the needs of a place's actions, and what follows from it.

    Attributes:
        version: Of what is known.
        relevant: By action, all that any way to make it possible needs at once.
        chances: By action and which of the relevant things are there, how likely it is possible, None if it is not.
    """

    version: tuple[int, int, int]
    relevant: dict[str, Tokens] = field(default_factory=dict)
    chances: dict[tuple[str, Tokens], float | None] = field(default_factory=dict)


_Told = dict[tuple[Tokens, Tokens], dict[str, Readiness]]
"""By what is carried and seen, and by action."""


class Readinesses:
    """Tells how ready actions are."""

    def __init__(self, experience: Experience, router: Router) -> None:
        self._x = experience
        self._router = router
        self._needs: dict[str, _Needs] = {}
        self._told: dict[str, tuple[tuple[int, int, int], _Told]] = {}

    def at(self, place: str, have: Tokens, see: Tokens) -> dict[str, Readiness]:
        """Return what was told of a situation before and still holds, by action; `of` adds to it."""
        if self._router.is_here(place, have, see):
            return {}  # what is possible here is known better than from memory
        version = (self._x.places[place].version, len(self._x.moves), self._x.deaths)
        known = self._told.get(place)
        if known is None or known[0] != version or len(known[1]) > _SITUATIONS:
            known = self._told[place] = (version, {})
        return known[1].setdefault((have, see), {})

    def of(self, place: str, have: Tokens, see: Tokens, action: str, told: dict[str, Readiness]) -> Readiness:
        """Return how ready an action is in a situation.

        Args:
            told: What `at` returned for the situation.
        """
        found = told.get(action)
        if found is None:
            found = self._never_tried(place, have, see, action) or self._searched(place, have, see, action)
            told[action] = found
        return found

    def chance(self, place: str, context: Tokens, action: str) -> float:
        """Return how likely the action will be possible at a place, by what it needs and how often it was not."""
        return self._doubted(place, action, self._x.places[place].possible.chance(action, context))

    def _doubted(self, place: str, action: str, chance: float) -> float:
        return chance / (1.0 + self._x.missed[(place, action)]) ** 2

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
            helpers, after = opened
            then = union(after.have, after.world.get(place, see))
        alike = x.died_alike(key, then) if x.fatal[key] else 0
        share = 1.0 / (1.0 + alike) if action in x.moves else 1.0
        # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
        elsewise = x.fatal[key] if action not in x.moves or not alike else 0
        if x.tried[key] > elsewise:
            share *= 1.0 - x.similarity(key, then)
        if not here:
            share *= self.chance(place, then, action)
        return Readiness(share, (*helpers, action), _named(action, have), then)

    def _never_tried(self, place: str, have: Tokens, see: Tokens, action: str) -> Readiness | None:
        """Tell it by the things that matter, None if the whole situation does."""
        x, context, key = self._x, union(have, see), (place, action)
        possible = x.places[place].possible
        if (
            x.tried[key]
            or x.fatal[key]
            or possible.was_met(context)
            or self._router.is_here(place, have, see)
        ):
            return None
        needs = self._needs_at(place)
        relevant = needs.relevant.get(action)
        if relevant is None:
            relevant = needs.relevant[action] = possible.hindrances(action).union(*possible.needs(action))
        there = (action, context & relevant)
        if there not in needs.chances:
            missing = x.missing(key, context)
            needs.chances[there] = None if missing else possible.chance(action, context)
        chance = needs.chances[there]
        if chance is not None:
            return Readiness(self._doubted(place, action, chance), (action,), _named(action, have), context)
        attainable = x.attainable(key, context, 2 * _HELPED - 1)
        return None if attainable else Readiness(0.0, (), False, context)

    def _needs_at(self, place: str) -> _Needs:
        version = self._x.needs_version(place)
        known = self._needs.get(place)
        if known is None or known.version != version:
            known = self._needs[place] = _Needs(version)
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

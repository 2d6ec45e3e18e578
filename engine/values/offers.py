"""What can be tried in a situation: how much of an action's promise is left there, what comes before it, what it risks.

Plans ask this again and again for the same places with the same in hand, so answers are kept until something is learnt
about the place.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

from engine.values.conditions import Tokens, concerns, names_in, union, words_of
from engine.values.experience import Experience
from engine.values.legs import Imagined
from engine.values.routes import Router

LEAST = 0.02
"""Promises below this are none."""
_LIGHTLESS = 0.5
"""Probability of dying of having put out what lifts a danger that is still ahead."""
_HELPED = 2
"""How deep what makes an action possible is searched for; at most 2 _HELPED - 1 actions follow one another."""
_KEPT = 1 << 10
"""Answers kept of one place."""


class Offer(NamedTuple):
    """Something to try at a place.

    Attributes:
        promise: Points that it promises there.
        loss: Share of what is at stake that trying it may cost.
        actions: It, after what makes it possible.
        death: Probability of dying of it, or in the situation that it makes: the dark, where a light is put out by it.
        handles: Whether it is done to something in hand, or with it.
    """

    promise: float
    loss: float
    actions: tuple[str, ...]
    death: float
    handles: bool = False


_Asked = tuple[Tokens, Tokens, str, float, bool, bool]


class Offers:
    """Tells what can be tried."""

    def __init__(self, experience: Experience, router: Router) -> None:
        self._x = experience
        self._router = router
        self._places: dict[str, tuple[tuple[int, ...], dict[_Asked, Offer | None]]] = {}

    def think(self) -> None:
        """Begin a plan: what is possible here and now has changed."""
        self._places.pop(self._router.here.place, None)

    def of(
        self, place: str, have: Tokens, see: Tokens, action: str, promise: float, *, ahead: bool, sought: bool
    ) -> Offer | None:
        """Return what trying an action at a place comes to, None if nothing is left of its promise.

        Args:
            promise: What it promises where nothing is known to be missing.
            ahead: Whether there is danger ahead, for which light is needed.
            sought: Whether it is done for what it is known to bring about, and not for what it may show.
        """
        x = self._x
        version = (x.places[place].version, x.yields.version, len(x.moves), x.dangers.version, x.handlings, x.deaths)
        known = self._places.get(place)
        if known is None or known[0] != version or len(known[1]) > _KEPT:
            known = self._places[place] = (version, {})
        asked = (have, see, action, promise, ahead, sought)
        if asked not in known[1]:
            known[1][asked] = self._offer(place, *asked)
        return known[1][asked]

    def _offer(
        self, place: str, have: Tokens, see: Tokens, action: str, promise: float, ahead: bool, sought: bool
    ) -> Offer | None:
        x, key, here = self._x, (place, action), self._router.is_here(place, have, see)
        opened = self._router.enable(Imagined(place, have, {place: see}), action, _HELPED)
        if opened is None:
            return None
        actions, then = (*opened.actions, action), union(opened.at.have, opened.at.world.get(place, see))
        if not here:
            promise *= opened.sure * self.found(place, action)
        if not sought:
            promise *= self._left(key, then)
        if promise < LEAST:
            return None
        death = self._made(place, have, actions, then, ahead)
        if sought:
            return Offer(promise, 0.0, actions, death)
        if key in x.fatal and action not in x.moves:
            outcome = x.outcome(key, then)
            death = max(death, outcome.death if outcome is not None else 0.0)
        handles = bool(handled(action, have))
        loss = x.loss_rate(action) / len(have) if have and (handles or _named(action, have)) else 0.0
        return Offer(promise, loss, actions, death, handles)

    def _left(self, key: tuple[str, str], then: Tokens) -> float:
        """Return what share of an action's promise is left in a situation, after the tries in similar ones."""
        x, action = self._x, key[1]
        deaths = x.fatal.get(key, 0)
        alike = x.died_alike(key, then) if deaths and action in x.moves else 0
        share = 1.0 / (1.0 + alike)
        # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
        elsewise = 0 if alike else deaths
        if x.tried.get(key, 0) > elsewise and not x.vain.holds(key):
            share *= 1.0 - x.similarity(key, then)
        return share

    def found(self, place: str, action: str) -> float:
        """Return how likely the action is found possible at a place, by how often it was not where memory had it."""
        return 1.0 / (1.0 + self._x.missed.get((place, action), 0)) ** 2

    def _made(self, place: str, have: Tokens, actions: tuple[str, ...], then: Tokens, ahead: bool) -> float:
        """Return the hazard of the situation that an action, or what makes it possible, brings about.

        Args:
            actions: The action, after what makes it possible.
            then: What is carried and seen after that.
            ahead: Whether there is danger ahead, for which light is needed.
        """
        x, lightless = self._x, self.darkening(place, have, actions[-1], ahead=ahead)
        if len(actions) < 2:
            return lightless
        light = x.dangers.light & have
        if light and light.isdisjoint(then):
            lightless = self._dark(place, ahead)
        first, hazard = actions[-1] in x.moves, x.dangers.hazard
        return max(lightless, hazard(place, then, moving=True, first=first), hazard(place, then, moving=False))

    def darkening(self, place: str, have: Tokens, action: str, *, ahead: bool = False) -> float:
        """Return the probability of dying of what an action does to the light in hand.

        Args:
            ahead: Whether there is danger ahead, for which light is needed.
        """
        light = self._x.dangers.light & have
        dark = self._dark(place, ahead) if light else 0.0
        return dark * self._x.loses(action, light) if dark else 0.0

    def _dark(self, place: str, ahead: bool) -> float:
        return max(_LIGHTLESS if ahead else 0.0, self._x.dangers.worst(place))


@functools.lru_cache(maxsize=1 << 14)
def handled(action: str, have: Tokens) -> Tokens:
    """Return the words of what is in hand that an action names, of all of it if it is done to all."""
    return frozenset(word for token in have if concerns(action, token) for word in names_in(token))


def _named(action: str, have: Tokens) -> bool:
    return not words_of(have).isdisjoint(action.split())

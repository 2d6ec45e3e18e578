"""What can be tried at a place with this in hand, how much of its promise is left there, and what it risks.

Plans ask this again and again for the same places with the same in hand: it is worked out once, and again only when
something is learnt about the place.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.values.conditions import Tokens, concerns, names_in, union
from engine.values.experience import Experience
from engine.values.legs import Imagined
from engine.values.readiness import Readinesses
from engine.values.routes import Router

LEAST = 0.02
"""Promises below this are none."""
_LIGHTLESS = 0.5
"""Probability of dying of having put out what lifts a danger that is still ahead."""
_SITUATIONS = 64
"""Situations of a place for which it is remembered what can be tried there."""

Offered = tuple[tuple[float, str], ...]
"""Actions that promise something at a place, with that, best first."""
Sought = tuple[tuple[str, float], ...]
"""Actions that are sought for what they bring about, with what that promises."""
_Version = tuple[int, int, int, int, int, Offered]
"""Versions of what is known that tells what can be tried at a place."""


class Offer(NamedTuple):
    """Something to try at a place.

    Attributes:
        most: What neither this nor anything less promising exceeds.
        loss: Share of what is at stake that trying it may cost.
        actions: It, after what makes it possible.
        made: Probability of dying in the situation that this makes: the dark, where a light is put out or lost by it.
        handles: Whether it is done to something in hand, or with it.
        own: Probability of dying of it where one died of it before.
    """

    most: float
    promise: float
    loss: float
    actions: tuple[str, ...]
    moves: bool
    made: float
    handles: bool = False
    own: float = 0.0


class Asked:
    """What can be tried in one situation, best first, worked out only as far as somebody asks.

    Args:
        promising: What neither it nor anything after it exceeds, an action, and the most that it promises; best first.
        offer: Works one out; None if nothing is left of its promise.
    """

    __slots__ = ("_found", "_left", "_offer")

    def __init__(
        self,
        promising: Iterable[tuple[float, str, float]],
        offer: Callable[[float, str, float], Offer | None],
    ) -> None:
        self._found: list[Offer] = []
        self._left = list(promising)[::-1]
        self._offer = offer

    def promises_over(self, least: float) -> bool:
        """Return whether all of it together promises more than that."""
        known = sum(offer.promise for offer in self._found)
        while self._left and known <= least:
            if known + sum(promise for _, _, promise in self._left) <= least:
                return False
            offer = self._offer(*self._left.pop())
            if offer is not None:
                self._found.append(offer)
                known += offer.promise
        return known > least

    def over(self, least: float, number: int) -> Offer | None:
        """Return the offer of this number, counted from 0; None if none that is left can promise more than `least`."""
        while number >= len(self._found):
            if not self._left or self._left[-1][0] <= least:
                return None
            offer = self._offer(*self._left.pop())
            if offer is not None:
                self._found.append(offer)
        found = self._found[number]
        return found if found.most > least else None


_Told = dict[tuple[Tokens, Tokens, bool, Sought], Asked]
"""By what is in hand and what is seen, whether danger is ahead, and what is sought."""


@dataclass(slots=True)
class _Place:
    """What was told of one place."""

    version: _Version
    told: _Told = field(default_factory=dict)


class Offers:
    """Tells what can be tried."""

    def __init__(self, experience: Experience, router: Router) -> None:
        self._x = experience
        self._router = router
        self._ready = Readinesses(experience, router)
        self._places: dict[str, _Place] = {}
        self._here: _Told = {}

    def think(self) -> None:
        """Begin a plan: what is possible here and now has changed."""
        self._here.clear()
        self._places.pop(self._router.here.place, None)

    def at(
        self, goal: str, have: Tokens, see: Tokens, promising: Offered, sought: Sought, ahead: bool
    ) -> Asked:
        """Return what can be tried at a place with this in hand, best first.

        Args:
            ahead: Whether there is danger ahead, for which light is needed.
        """
        if self._router.is_here(goal, have, see):
            told, key = self._here, (have, see, ahead, sought)
        else:
            told, key = self._place(goal, promising).told, (have, see, ahead, sought)
        found = told.get(key)
        if found is None:
            lit = not self._x.dangers.light.isdisjoint(have)

            def offer(most: float, action: str, promise: float) -> Offer | None:
                if most == math.inf:
                    return self._sought(goal, have, see, action, promise, ahead)
                return self._promising(goal, have, see, action, promise, ahead, lit)

            candidates = [(math.inf, action, promise) for action, promise in sought]
            candidates += [(promise, action, promise) for promise, action in promising]
            found = told[key] = Asked(candidates, offer)
        return found

    def _place(self, goal: str, promising: Offered) -> _Place:
        """Return what was told of a place; nothing if anything about it has changed."""
        place, version = self._places.get(goal), self._version(goal, promising)
        if place is None or len(place.told) > _SITUATIONS or place.version != version:
            place = self._places[goal] = _Place(version)
        return place

    def _version(self, goal: str, promising: Offered) -> _Version:
        x = self._x
        return x.places[goal].version, len(x.moves), x.dangers.version, x.handlings, x.deaths, promising

    def _promising(
        self, goal: str, have: Tokens, see: Tokens, action: str, most: float, ahead: bool, lit: bool
    ) -> Offer | None:
        """Return the offer of an action for what it may show, after what makes it possible.

        Args:
            lit: Whether anything in hand lifts a danger.
        """
        x, at = self._x, self._ready.of(goal, have, see, action)
        promise = most * at.share
        if promise < LEAST:
            return None
        made = own = 0.0
        if lit or len(at.actions) > 1:
            made = self._made(goal, have, at.actions, at.then, ahead)
        if (goal, action) in x.fatal and action not in x.moves:
            outcome = x.outcome((goal, action), at.then)
            own = outcome.death if outcome is not None else 0.0
        handles = bool(handled(action, have))
        loss = x.loss_rate(action) / len(have) if at.names or handles else 0.0
        return Offer(most, promise, loss, at.actions, action in x.moves, made, handles, own)

    def _sought(
        self, goal: str, have: Tokens, see: Tokens, action: str, promise: float, ahead: bool
    ) -> Offer | None:
        """Return the offer of an action that is sought for what it brings about, after what makes it possible."""
        opened = self._router.enable(Imagined(goal, have, {goal: see}), action, 2)
        if opened is None:
            return None
        actions, then = (*opened.actions, action), union(opened.at.have, opened.at.world.get(goal, see))
        if not self._router.is_here(goal, have, see):
            promise *= opened.sure * self._ready.found(goal, action)
        if promise < LEAST:
            return None
        return Offer(math.inf, promise, 0.0, actions, False, self._made(goal, have, actions, then, ahead))

    def _made(self, goal: str, have: Tokens, actions: tuple[str, ...], then: Tokens, ahead: bool) -> float:
        """Return the hazard of the situation that an action, or what makes it possible, brings about.

        Args:
            actions: The action, after what makes it possible.
            then: What is carried and seen after that.
            ahead: Whether there is danger ahead, for which light is needed.
        """
        x, lightless = self._x, self.darkening(goal, have, actions[-1], ahead=ahead)
        if len(actions) < 2:
            return lightless
        light = x.dangers.light & have
        if light and light.isdisjoint(then):
            lightless = self._dark(goal, ahead)
        first, hazard = actions[-1] in x.moves, x.dangers.hazard
        return max(lightless, hazard(goal, then, moving=True, first=first), hazard(goal, then, moving=False))

    def darkening(self, place: str, have: Tokens, action: str, *, ahead: bool = False) -> float:
        """Return the probability of dying of what an action does to the light in hand.

        Args:
            ahead: Whether there is danger ahead, for which light is needed.
        """
        light = self._x.dangers.light & have
        dark = self._dark(place, ahead) if light else 0.0
        return dark * self._x.loses(action, light) if dark else 0.0

    def _dark(self, place: str, ahead: bool) -> float:
        return max(_LIGHTLESS if ahead else 0.0, self._x.dangers.guises.worst(place))


@functools.lru_cache(maxsize=1 << 14)
def handled(action: str, have: Tokens) -> Tokens:
    """Return the words of what is in hand that an action names, of all of it if it is done to all."""
    return frozenset(word for token in have if concerns(action, token) for word in names_in(token))

"""What can be tried in a situation: what is left of an action's promise, what makes it possible, and what it risks."""

from __future__ import annotations

import functools
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.effects import Key
from engine.values.memo import Memo
from engine.values.model import Model
from engine.values.paths import Imagined, Paths
from engine.values.text import Tokens, concerns, names_in, union, words_of


class Offer(NamedTuple):
    """Something to try at a place.

    Attributes:
        promise: Points that it promises there.
        actions: It, after what makes it possible.
        death: Probability of dying of it where one died of it before, or in the situation that it makes: the dark,
            where a light is put out by it.
        names: Whether it names something in hand.
        handles: Whether it is done to something in hand, or with it.
    """

    promise: float
    actions: tuple[str, ...]
    death: float
    names: bool = False
    handles: bool = False


OfferMemo = Memo[tuple[object, ...], Offer | None]


class Offers:
    """Tells what can be tried, for one task.

    Args:
        memo: Answers that hold for other tasks, too.
    """

    def __init__(self, model: Model, numbers: PlanNumbers, paths: Paths, memo: OfferMemo | None = None) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        self._memo: OfferMemo = memo if memo is not None else Memo(1 << 15)

    def of(
        self, place: str, have: Tokens, see: Tokens, action: str, promise: float, *, ahead: bool, sought: bool
    ) -> Offer | None:
        """Return what trying an action at a place comes to, None if nothing is left of its promise.

        Args:
            promise: What it promises where nothing is known to be missing.
            ahead: Whether there is danger ahead, for which light is needed.
            sought: Whether it is done for what it is known to bring about, and not for what it may show.
        """
        m, task = self._m, self._paths.task
        version = (len(m.moves), m.hazards.version)
        valid = task.valid if place == task.now.place else None
        lit = (m.yields.version, m.handlings) if not m.hazards.light.isdisjoint(have) else None
        key = (place, m.places[place].version, valid, lit, have, see, action, promise, ahead, sought)
        return self._memo.find(
            version, key, lambda: self._offer(place, have, see, action, promise, ahead, sought)
        )

    def _offer(
        self, place: str, have: Tokens, see: Tokens, action: str, promise: float, ahead: bool, sought: bool
    ) -> Offer | None:
        m, key, here = self._m, (place, action), self._paths.is_here(place, have, see)
        opened = self._paths.enable(Imagined(place, have, {place: see}), action, self._n.helped)
        if opened is None:
            return None
        actions, then = (*opened.actions, action), union(opened.have, opened.see)
        if not here:
            promise *= opened.sure / (1.0 + m.missed.get(key, 0)) ** 2
        if not sought:
            promise *= self._left(key, then)
        if promise < self._n.least:
            return None
        death = self._made(place, have, actions, then, ahead)
        if sought:
            return Offer(promise, actions, death)
        own = m.death(key, then) if key in m.fatal and action not in m.moves else 0.0
        handles = bool(handled(action, have))
        names = handles or not words_of(have).isdisjoint(action.split())
        return Offer(promise, actions, max(death, own), names, handles)

    def _left(self, key: Key, then: Tokens) -> float:
        """Return what share of an action's promise is left in a situation, after the tries in similar ones."""
        m, action = self._m, key[1]
        deaths = m.fatal.get(key, 0)
        alike = m.effects.died_alike(key, then) if deaths and action in m.moves else 0
        share = 1.0 / (1.0 + alike)
        # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
        elsewise = 0 if alike else deaths
        if m.tried.get(key, 0) > elsewise and not m.vain.holds(key):
            share *= 1.0 - m.effects.similarity(key, then)
        return share

    def _made(self, place: str, have: Tokens, actions: tuple[str, ...], then: Tokens, ahead: bool) -> float:
        """Return the hazard of the situation that an action, or what makes it possible, brings about.

        Args:
            actions: The action, after what makes it possible.
            then: What is carried and seen after that.
            ahead: Whether there is danger ahead, for which light is needed.
        """
        m, action = self._m, actions[-1]
        lightless = darkening(m, self._n, place, have, action, ahead=ahead)
        if len(actions) < 2:
            return lightless
        light = m.hazards.light & have
        if light and light.isdisjoint(then):
            lightless = _dark(m, self._n, place, ahead)
        hazard = m.hazards.hazard
        moving = hazard(place, then, moving=True, first=action in m.moves)
        return max(lightless, moving, hazard(place, then, moving=False))


def darkening(
    model: Model, numbers: PlanNumbers, place: str, have: Tokens, action: str, *, ahead: bool = False
) -> float:
    """Return the probability of dying of what an action does to the light in hand.

    Args:
        ahead: Whether there is danger ahead, for which light is needed.
    """
    light = model.hazards.light & have
    dark = _dark(model, numbers, place, ahead) if light else 0.0
    return dark * model.loses(action, light) if dark else 0.0


def _dark(model: Model, numbers: PlanNumbers, place: str, ahead: bool) -> float:
    return max(numbers.lightless if ahead else 0.0, model.hazards.worst(place))


@functools.lru_cache(maxsize=1 << 14)
def handled(action: str, have: Tokens) -> Tokens:
    """Return the words of what is in hand that an action names, of all of it if it is done to all."""
    return frozenset(word for token in have if concerns(action, token) for word in names_in(token))

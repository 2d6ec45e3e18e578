"""What could be tried where: what it promises, what makes it possible, and what it risks.

Places promise something for two reasons (`PlacePromise`): actions that were never tried there, and lights to be had
there. An `ActionPromise` is one such action in one situation: what is left of its promise there, what makes it
possible, and the danger of it. Which lights are worth fetching is decided here, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from engine.settings.plan import PlanNumbers
from engine.values.model import MOVE, WorldModel
from engine.values.paths import Paths
from engine.values.text import (
    EMPTY,
    Key,
    Situation,
    Tokens,
    concerns,
    names_in,
    objects,
    without_state,
    words_of,
)

_Promising = tuple[tuple[float, str], ...]
"""Actions that promise something at a place, with that, best first."""


@dataclass(frozen=True, slots=True)
class PlacePromise:
    """What a place promises to who comes there.

    Attributes:
        sums: The most that so many things tried there can promise together, for one, two and so on.
    """

    place: str
    promising: _Promising
    sums: tuple[float, ...]

    @property
    def most(self) -> float:
        """The most that all of it together can promise."""
        return self.sums[-1] if self.sums else 0.0

    def bound(self, travel: int) -> float:
        """Return the highest rate that a detour of this length can have."""
        rates = (total / (travel + count) for count, total in enumerate(self.sums, 1))
        return max(rates, default=0.0)


class ActionPromise(NamedTuple):
    """Something to try at a place.

    Attributes:
        promise: Points that it promises there.
        actions: It, after what makes it possible.
        death: Probability of dying of it where one died of it before, or of the dark where it may put out a light.
        names: Whether it names something in hand.
        handles: The words that name what is in hand that it is done to, or with.
    """

    promise: float
    actions: tuple[str, ...]
    death: float
    names: bool = False
    handles: Tokens = EMPTY


class Promises:
    """Tells what can be tried, for one task.

    Attributes:
        promises: What each place that promises anything promises.
    """

    def __init__(self, model: WorldModel, numbers: PlanNumbers, paths: Paths) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        self._curiosity = paths.task.curiosity
        self._light_worth = self._curiosity * model.yields.rate(MOVE)
        """Points that fetching a light is worth: as many as a move never taken."""
        self._untried: dict[str, float] = {}
        """By action, what it promises where it was never taken."""
        self._fetchable = self._find_fetchable()
        self.promises = self._place_promises()

    # ----------------------------------------------------------------------------------------- promises

    def _place_promises(self) -> list[PlacePromise]:
        m, found = self._m, list[PlacePromise]()
        for name in m.places:
            promising = self._most_promising(name)
            fetchable = len(self._fetchable.get(name, ()))
            if promising or fetchable:
                promises = sorted([self._light_worth] * fetchable + [promise for promise, _ in promising], reverse=True)
                sums = tuple(itertools.accumulate(promises))
                found.append(PlacePromise(name, promising, sums))
        return found

    def _most_promising(self, name: str) -> _Promising:
        """Return the most promising actions of a place that were not tried yet in this episode."""
        m, progress, liked = self._m, self._paths.task.progress, self._paths.task.liking.get(name, {})
        rated, least, untried = list[tuple[float, str]](), self._n.spare, self._untried
        for action in m.places[name].preconditions:
            if action not in untried:
                untried[action] = m.promise(action, self._curiosity)
            promise = untried[action] * liked.get(action, 1.0)
            if promise < least:
                continue  # it promises no more where it was taken already
            key = (name, action)
            if key in progress.tried or key in progress.failed:
                continue
            if m.tried.get(key, 0) < self._n.patience or action in m.moves:
                promise = m.undiscovered(key, promise)
                if promise >= least:
                    rated.append((-promise, action))
        rated.sort()
        return tuple((-promise, action) for promise, action in rated[: 2 * self._n.breadth])

    def _find_fetchable(self) -> dict[str, list[tuple[str, str]]]:
        """Return by place the actions that bring in hand what lifts a danger, each with that."""
        found: dict[str, list[tuple[str, str]]] = {}
        task = self._paths.task
        here, progress = task.now.place, task.progress
        for token, sources in self._m.sources.items():
            if token not in self._m.hazards.light:
                continue
            for place, action in itertools.islice(sources, self._n.breadth):
                if (place, action) not in progress.tried and (place, action) not in progress.failed:
                    found.setdefault(place, []).append((action, token))
            # What brought it about by being done to it elsewhere may be possible here: a lamp can be lit anywhere.
            names = names_in(token)
            for action in dict.fromkeys(action for _, action in sources):
                is_new = (here, action) not in progress.tried and (here, action) not in progress.failed
                wanted = is_new and (action, token) not in found.get(here, ())
                if wanted and action in task.valid and not objects(action).isdisjoint(names):
                    found.setdefault(here, []).append((action, token))
        return found

    # ----------------------------------------------------------------------------------------- actions

    def _is_light_in(self, token: str, have: Tokens) -> bool:
        """Return whether a light, or one of the same kind, is in hand."""
        kind, lights = without_state(token), self._m.hazards.light
        return any(without_state(held) == kind for held in lights & have)

    def stay(self, promised: PlacePromise, have: Tokens) -> Iterator[tuple[float, str, bool]]:
        """Yield what can be tried at a place with this in hand: its promise, it, and whether its effect is sought.

        What is sought comes first, then the most promising.
        """
        for action, token in self._fetchable.get(promised.place, ()):
            if self._light_worth >= self._n.spare and not self._is_light_in(token, have):
                yield self._light_worth, action, True
        yield from ((promise, action, False) for promise, action in promised.promising)

    def of(self, at: Situation, action: str, promise: float, *, sought: bool) -> ActionPromise | None:
        """Return what trying an action in a situation comes to, None if nothing is left of its promise.

        Args:
            promise: What it promises where nothing is known to be missing.
            sought: Whether it is done for what it is known to bring about, and not for what it may show.
        """
        m, key = self._m, (at.place, action)
        opened = self._paths.enable(at, action, self._n.levels, to_try=True)
        if opened is None:
            return None
        actions, then = (*opened.actions, action), opened.at.context
        if at != self._paths.here:
            promise *= opened.sure
        if not sought:
            promise *= self._left(key, then)
        promise += sum(m.cost((at.place, one)) for one in actions)
        if promise < self._n.spare:
            return None
        death = max(m.darkening(at.have, one) for one in actions)
        if sought:
            return ActionPromise(promise, actions, death)
        own = m.death(key, then) if key in m.fatal and action not in m.moves else 0.0
        handles = EMPTY.union(*(names_in(token) for token in at.have if concerns(action, token)))
        names = bool(handles) or not words_of(at.have).isdisjoint(action.split())
        return ActionPromise(promise, actions, max(death, own), names, handles)

    def _left(self, key: Key, then: Tokens) -> float:
        """Return what share of an action's promise is left in a situation, after the tries in similar ones."""
        m, deaths = self._m, self._m.fatal.get(key, 0)
        alike = m.effects.died_alike(key, then) if deaths and key[1] in m.moves else 0
        share = 1.0 / (1.0 + alike)
        # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
        elsewise = 0 if alike else deaths
        if m.tried.get(key, 0) > elsewise:
            share *= 1.0 - m.effects.similarity(key, then)
        return share

"""What could be tried where: what it promises, what makes it possible, and what it risks.

Places promise something for three reasons (`PlacePromise`): actions that were never tried there, things to be had there
that may help elsewhere, and things in hand that never were there. An `Offer` is one such action in one situation: what
is left of its promise there, what makes it possible, and the danger of it. Which things are worth fetching, and which
shut ways are worth opening, is decided here, too.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.model import MOVE, Model
from engine.values.paths import Paths, Way
from engine.values.text import (
    Key,
    Situation,
    Tokens,
    concerns,
    is_held,
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
        bonus: For coming there with something new in hand, because it is deadly and nothing is known to help.
        sums: The most that so many things tried there can promise together, for one, two and so on.
    """

    place: str
    promising: _Promising
    bonus: float
    sums: tuple[float, ...]

    @property
    def most(self) -> float:
        """The most that all of it together can promise, the bonus apart."""
        return self.sums[-1] if self.sums else 0.0

    def bound(self, travel: int) -> float:
        """Return the highest rate that a detour of this length can have."""
        rates = ((self.bonus + total) / (travel + count) for count, total in enumerate(self.sums, 1))
        return max(rates, default=0.0)


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


class Offers:
    """Tells what can be tried, for one task.

    Attributes:
        promises: What each place that promises anything promises.
    """

    def __init__(self, model: Model, numbers: PlanNumbers, paths: Paths) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        self._curiosity = paths.task.curiosity
        self._use_worth = self._curiosity * model.yields.rate(MOVE)
        """Points that one whole use of a thing is worth, as many as a move never taken: the unit of what follows."""
        self._brought: dict[tuple[str, Tokens], float] = {}
        self._helpful, self._carry = self._uses()
        self._fetchable = self._find_fetchable()
        self.promises = self._place_promises()

    # ----------------------------------------------------------------------------------------- promises

    def _place_promises(self) -> list[PlacePromise]:
        m, use_worth, progress = self._m, self._use_worth, self._paths.task.progress
        spent: dict[str, set[str]] = {}
        for key in (*progress.tried, *progress.failed):
            if key in progress.failed or not m.vain.holds(key):
                spent.setdefault(key[0], set()).add(key[1])
        found, helpless = list[PlacePromise](), set(m.hazards.helpless())
        for name in m.places:
            promising = self._most_promising(name, frozenset(spent.get(name, ())))
            fetchable = len(self._fetchable.get(name, ()))
            if promising or fetchable or not m.bringing.all_were_at(name):
                promises = sorted([use_worth] * fetchable + [promise for promise, _ in promising], reverse=True)
                sums = tuple(itertools.accumulate(promises))
                found.append(PlacePromise(name, promising, use_worth if name in helpless else 0.0, sums))
        return found

    def _most_promising(self, name: str, spent: Tokens) -> _Promising:
        """Return the most promising actions of a place that were not tried yet in this episode."""
        m, place, liked = self._m, self._m.places[name], self._paths.task.liking.get(name, {})

        def best() -> _Promising:
            rated = list[tuple[float, str]]()
            for action in place.preconditions:
                key = (name, action)
                if action not in spent and (m.tried[key] <= self._n.retried or action in m.moves or m.vain.holds(key)):
                    promise = m.novelty(key, self._curiosity, liked)
                    if promise >= self._n.least:
                        rated.append((-promise, action))
            return tuple((-negative, action) for negative, action in heapq.nsmallest(2 * self._n.several, rated))

        version = (m.yields.version, m.vain.version, len(m.moves), self._curiosity, place.version)
        found: _Promising = self._paths.memo.find(None, ("best", version, name, spent, tuple(liked.items())), best)
        return found

    def shut_ways(self, ways: Mapping[str, Way]) -> list[Key]:
        """Return the shut ways that one comes to first on the way to what promises most for its distance.

        Args:
            ways: The ways from here.
        """
        paths, task, best = self._paths, self._paths.task, dict[Key, float]()

        def is_shut(key: Key) -> bool:
            context = paths.seen(task.now._replace(place=key[0])).context
            return bool(self._m.places[key[0]].preconditions.missing(key[1], context)) or key in task.progress.barred

        for promised in self.promises:
            way = ways.get(promised.place)
            first = next(filter(is_shut, way.moves), None) if way is not None and promised.promising else None
            if way is not None and first is not None:
                best[first] = max(best.get(first, 0.0), promised.bound(way.steps))
        return sorted(best, key=lambda key: (-best[key], key))[: self._n.shut_ways]

    # ----------------------------------------------------------------------------------------- bringing

    def brings(self, place: str, have: Tokens) -> float:
        """Return what bringing there things that never were there promises, in points."""
        found = self._brought.get((place, have))
        if found is None:
            key, best = (place, ""), sorted(self._m.bringing.chances(place, have), reverse=True)[: self._n.several]
            failed = key in self._paths.task.progress.failed
            worth = 0.0 if failed else self._curiosity * sum(best) / (1.0 + self._m.missed[key]) ** 2
            found = self._brought[(place, have)] = worth
        return found

    def _uses(self) -> tuple[dict[str, float], dict[str, float]]:
        """Return how much things help where one dies, and what carrying them about promises, in uses.

        One use is worth `_use_worth` points.
        """
        m, helpful, carry, helpless = self._m, dict[str, float](), dict[str, float](), self._m.hazards.helpless()
        scale = self._n.carry * self._curiosity / self._use_worth if self._curiosity else 0.0
        for token in m.sources:
            if is_held(token):
                continue  # how things are packed makes no new thing
            if m.hazards.helps(token):
                helpful[token] = 1.0
            else:  # what was never there may help
                thing = frozenset((token,))
                helpful[token] = self._n.fetch * any(m.hazards.untested(name, thing) for name in helpless)
            unknown = len(m.places) - m.bringing.places[token]
            use = min(1.0, scale * m.bringing.opens(token) * min(unknown, self._n.carry_places))
            if unknown and use * self._use_worth > self._n.least:
                carry[token] = use
        return helpful, carry

    def _find_fetchable(self) -> dict[str, list[tuple[str, str]]]:
        """Return by place the actions that bring in hand what helps or may help where one dies, or is to be carried.

        What a shut way needs is not asked: nothing is fetched for its sake.
        """
        found: dict[str, list[tuple[str, str]]] = {}
        task = self._paths.task
        here, progress = task.now.place, task.progress
        for token, sources in self._m.sources.items():
            if not self._helpful.get(token) and token not in self._carry:
                continue
            for place, action in itertools.islice(sources, self._n.sources):
                if (place, action) not in progress.tried and (place, action) not in progress.failed:
                    found.setdefault(place, []).append((action, token))
            # What brought it about by being done to it elsewhere may be possible here: a lamp can be lit anywhere.
            names = names_in(token)
            for action in dict.fromkeys(action for _, action in sources):
                wanted = (action, token) not in found.get(here, ()) and (here, action) not in progress.tried
                if wanted and action in task.valid and not objects(action).isdisjoint(names):
                    found.setdefault(here, []).append((action, token))
        return found

    def _use(self, token: str, have: Tokens, ahead: bool) -> float:
        """Return how much of a use having it would be: none if it is there, or something as good of the same kind."""

        def use(token: str) -> float:
            return max(self._helpful.get(token, 0.0) if ahead else 0.0, self._carry.get(token, 0.0))

        kind, own = without_state(token), use(token)
        same = (use(held) for held in have if without_state(held) == kind)
        return own if token not in have and own > max(same, default=0.0) else 0.0

    # ----------------------------------------------------------------------------------------- offers

    def stay(self, promised: PlacePromise, have: Tokens, ahead: bool) -> Iterator[tuple[float, str, bool]]:
        """Yield what can be tried at a place with this in hand: its promise, it, and whether its effect is sought.

        What is sought comes first, then the most promising.

        Args:
            ahead: Whether there is danger ahead.
        """
        place, worth = promised.place, self._use_worth
        sought = [(self._use(token, have, ahead) * worth, action) for action, token in self._fetchable.get(place, ())]
        yield from ((promise, action, True) for promise, action in sought if promise >= self._n.least)
        yield from ((promise, action, False) for promise, action in promised.promising)

    def of(self, at: Situation, action: str, promise: float, *, ahead: bool, sought: bool) -> Offer | None:
        """Return what trying an action in a situation comes to, None if nothing is left of its promise.

        Args:
            promise: What it promises where nothing is known to be missing.
            ahead: Whether there is danger ahead, for which light is needed.
            sought: Whether it is done for what it is known to bring about, and not for what it may show.
        """
        m, task = self._m, self._paths.task
        version = (len(m.moves), m.hazards.version, m.places[at.place].version)
        valid = task.valid if at.place == task.now.place else None
        lit = (m.yields.version, m.handlings) if not m.hazards.light.isdisjoint(at.have) else None
        key = ("offer", version, valid, lit, at, action, promise, ahead, sought)
        found: Offer | None = self._paths.memo.find(None, key, lambda: self._offer(at, action, promise, ahead, sought))
        return found

    def _offer(self, at: Situation, action: str, promise: float, ahead: bool, sought: bool) -> Offer | None:
        m, key = self._m, (at.place, action)
        opened = self._paths.enable(at, action, self._n.helped)
        if opened is None:
            return None
        actions, then = (*opened.actions, action), opened.at.context
        if at != self._paths.here:
            promise *= opened.sure / (1.0 + m.missed.get(key, 0)) ** 2
        if not sought:
            promise *= self._left(key, then)
        if promise < self._n.least:
            return None
        death = self._made(at, actions, then, ahead)
        if sought:
            return Offer(promise, actions, death)
        own = m.death(key, then) if key in m.fatal and action not in m.moves else 0.0
        handles = bool(handled(action, at.have))
        names = handles or not words_of(at.have).isdisjoint(action.split())
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

    def _made(self, at: Situation, actions: tuple[str, ...], then: Tokens, ahead: bool) -> float:
        """Return the hazard of the situation that an action, or what makes it possible, brings about.

        Args:
            actions: The action, after what makes it possible.
            then: What is carried and seen after that.
            ahead: Whether there is danger ahead, for which light is needed.
        """
        m, action = self._m, actions[-1]
        lightless = m.darkening(at.place, at.have, action, ahead=ahead)
        if len(actions) < 2:
            return lightless
        light = m.hazards.light & at.have
        if light and light.isdisjoint(then):
            lightless = m.dark_death(at.place, ahead=ahead)
        hazard = m.hazards.hazard
        moving = hazard(at.place, then, moving=True)
        return max(lightless, moving, hazard(at.place, then, moving=False))


@functools.lru_cache(maxsize=1 << 14)
def handled(action: str, have: Tokens) -> Tokens:
    """Return the words of what is in hand that an action names, of all of it if it is done to all."""
    return frozenset(word for token in have if concerns(action, token) for word in names_in(token))

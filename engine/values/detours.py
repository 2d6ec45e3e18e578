"""Detours from a route: what was never tried, where it promises most for its length and risks least.

A place may be worth a visit for what was never tried there, or for things in hand that never were there. It is visited
from the point of the route that promises most for it.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.model import Model
from engine.values.offers import Offers, PlacePromise
from engine.values.paths import Paths, Way, Ways
from engine.values.plans import Detour, Route
from engine.values.text import EMPTY, Key, Situation, Tokens, objects, union


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A point on a route that detours can start from.

    Attributes:
        steps: Steps of the route that come before it.
        stake: The gains that are still to come there.
        later: Words that name the things that the rest of the route does something to.
        ways: The ways from there.
        returns: Whether one has to come back to it.
    """

    steps: int
    place: str
    have: Tokens
    stake: float
    later: Tokens
    ways: Mapping[str, Way]
    returns: bool


class _Start(NamedTuple):
    """How a place can be visited from a point on a route.

    Attributes:
        bound: The highest rate that this can have.
        travel: Steps there, and back if there has to be a way back.
        arrives: Probability of coming there.
        alive: Probability of coming there and back alive, as far as the ways are concerned.
    """

    bound: float
    travel: int
    anchor: _Anchor
    way: Way
    back: Way | None
    arrives: float
    alive: float


class Explorer:
    """Finds what is worth trying on the way along a route."""

    def __init__(
        self, model: Model, numbers: PlanNumbers, paths: Paths, offers: Offers, ways: Ways, route: Route
    ) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        self._offers = offers
        self._ways = ways
        self._route = route
        self._anchors = self._find_anchors()

    def detours(self) -> list[Detour]:
        """Return the detours that the steps left free by the route are spent on, the best rate first."""
        queue: list[tuple[float, Key, int, PlacePromise, _Start, Detour]] = []

        def look(number: int, promised: PlacePromise, start: _Start, steps: float) -> None:
            detour = self._detour(promised, start, steps)
            if detour is not None:
                heapq.heappush(queue, (-detour.rate, detour.goal, number, promised, start, detour))

        for number, promised in enumerate(self._offers.promises):
            start = self._start(promised)
            if start is not None:
                look(number, promised, start, self._route.left)
        taken, slack, least = list[Detour](), self._route.left, 0.0
        while queue and slack >= 1.0:
            _, _, number, promised, start, detour = heapq.heappop(queue)
            if detour.rate < least:
                break  # what comes of being farther on with more steps left is worth more
            if detour.cost > slack:
                look(number, promised, start, slack)  # less may be tried there
                continue
            taken.append(detour)
            slack -= detour.cost
            least = self._n.worthwhile * taken[0].rate
        return taken

    def _find_anchors(self) -> list[_Anchor]:
        """Return where the route comes to each place first, and its end."""
        route, end, task = self._route, len(self._route.actions), self._paths.task
        marks = [*(() if route.needs_exact_replay else route.marks), (end, route.at.place, route.at.have)]
        first = {mark[1]: mark for mark in reversed(marks)}
        anchors = list[_Anchor]()
        for steps, place, have in sorted({*first.values(), marks[-1]}, key=lambda mark: mark[:2]):
            stake = sum(points for when, points in route.earned if when > steps)
            # From here only ways can be gone that are possible now.
            ways = self._ways.of(place, task.valid if not steps and task.valid else None)
            later = EMPTY.union(*map(objects, route.actions[steps:]))
            anchors.append(_Anchor(steps, place, have, stake, later, ways, steps < end))
        return anchors

    def _start(self, promised: PlacePromise) -> _Start | None:
        """Return the start on the route from which visiting a place promises most, None if there is none."""
        best: _Start | None = None
        back_from = self._ways.of(promised.place)
        for anchor in self._anchors:
            way = anchor.ways.get(promised.place)
            back = back_from.get(anchor.place) if anchor.returns else None
            if way is None or (anchor.returns and back is None):
                continue
            travel = way.steps + (back.steps if back is not None else 0)
            if travel + bool(promised.sums) > self._route.left:
                continue
            brings = self._offers.brings(promised.place, anchor.have) if way.steps else 0.0
            bound = promised.bound(travel) + brings / max(1, travel)
            if best is not None and (-bound, travel) >= (-best.bound, best.travel):
                continue  # it is no better even if it is open and safe
            if any(self._is_shut(anchor, key) for key in way.moves):
                continue
            arrives, alive = self._survival(anchor, way, back)
            bound *= arrives
            lost = (1.0 - alive) * (anchor.stake + self._paths.price(self._route.left)) if alive < 1.0 else 0.0
            if arrives * (promised.most + brings) <= lost or bound <= 0.0:
                continue
            start = _Start(bound, travel, anchor, way, back, arrives, alive)
            if best is None or (-bound, travel) < (-best.bound, best.travel):
                best = start
        return best

    def _is_shut(self, anchor: _Anchor, move: Key) -> bool:
        """Return whether a move needs something that is neither in hand at a point of the route nor at its place."""
        here = not anchor.steps and move[0] == anchor.place  # only what is possible begins a way from here
        return not here and self._paths.is_shut(move, anchor.have, self._world(anchor))

    def _survival(self, anchor: _Anchor, way: Way, back: Way | None) -> tuple[float, float]:
        """Return the probabilities of coming to a place, and of coming there and back alive."""
        arrives = alive = 1.0
        for key in way.deadly:
            arrives *= 1.0 - self._danger_from(anchor, key)
        for key in back.deadly if back is not None else ():
            alive *= 1.0 - self._danger_from(anchor, key)
        return arrives, alive * arrives

    def _detour(self, promised: PlacePromise, start: _Start, slack: float) -> Detour | None:
        """Return the best detour to a place within so many steps, None if none is worth its danger."""
        _, travel, anchor, way, back, arrives, alive = start
        m, goal, have = self._m, promised.place, anchor.have
        at = Situation(goal, have, self._paths.look(self._world(anchor), goal, have))
        # Dying costs what was still to be gained, and what the steps left could have discovered.
        price = anchor.stake + self._paths.price(self._route.left)
        leaving, staying = (m.hazards.hazard(goal, at.context, moving=moving) for moving in (True, False))
        total = -(1.0 - alive) * price
        first: tuple[str, ...] = ()
        best: tuple[float, float, int] | None = None
        if way.steps:
            brings = self._offers.brings(goal, have)
            if brings > 0.0:
                total += arrives * brings
                best = (total / travel, total, travel)
        count, cost = 0, travel
        for most, action, sought in self._offers.stay(promised, have):
            if count >= self._n.several or (best is not None and not sought and arrives * most <= best[0]):
                break  # nothing that follows makes the rate any better
            offer = self._offers.of(at, action, most, sought=sought)
            if offer is None:
                continue
            # Trying it may cost something in hand, and that a share of what is at stake.
            moves, loss = action in m.moves, m.loss_rate(action) / len(have) if have and offer.names else 0.0
            if not anchor.later.isdisjoint(offer.handles):
                loss = m.loss_rate(action)  # what is needed later on the route
            risk = max(leaving if moves else staying, offer.death) * price
            promise = arrives * offer.promise - anchor.stake * loss - risk
            if promise < self._n.least:
                continue
            first, count, total = first or offer.actions, count + 1, total + promise
            cost += len(offer.actions)
            if moves:
                cost += self._n.look_around + (back is not None)  # a move has to be taken back
            if cost > slack:
                break
            if best is None or total / cost > best[0]:
                best = (total / cost, total, cost)
        if best is None or best[1] <= 0.0 or best[2] > slack:
            return None
        rate, worth, cost = best
        aim = (goal, first[-1] if first else "")
        return Detour(rate, worth * self._route.success, cost, anchor.steps, (*way.actions, *first), aim, way, back)

    def _world(self, anchor: _Anchor) -> Mapping[str, Tokens]:
        """Return what places look like where a detour leaves a route: as now at its start, else as at its end."""
        return self._route.at.world if anchor.steps else self._paths.task.now.world

    def _danger_from(self, anchor: _Anchor, move: Key) -> float:
        """Return the probability of dying of a known move with in hand what is in hand at a point of the route."""
        look = self._paths.look(self._world(anchor), move[0], anchor.have)
        return self._m.death(move, union(anchor.have, look))

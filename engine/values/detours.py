"""Detours from a route: what was never tried, where it promises most for its length and risks least.

A place is visited from the point of the route that promises most for it.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.settings.plan import PlanNumbers
from engine.values.model import WorldModel
from engine.values.paths import ImaginedSituation, Paths, Way, Ways
from engine.values.plans import Detour, Route
from engine.values.promises import PlacePromise, Promises
from engine.values.text import EMPTY, Key, Situation, Tokens, objects


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A point on a route that detours can start from.

    Attributes:
        steps: Steps of the route that come before it.
        at: The situation there. Where it is not the beginning of the route, places look as at the route's end.
        stake: The gains that are still to come there.
        price: Points that dying on a detour from there costs: these, and what the steps left could have discovered.
        later: Words that name the things that the rest of the route does something to.
        ways: The ways from there.
        returns: Whether one has to come back to it.
    """

    steps: int
    at: ImaginedSituation
    stake: float
    price: float
    later: Tokens
    ways: Mapping[str, Way]
    returns: bool


class _Visit(NamedTuple):
    """How a place can be visited from a point on a route.

    Attributes:
        bound: The highest rate that this can have.
        travel: Steps there, and back if there has to be a way back.
        arrives: Probability of coming there.
        alive: Probability of coming there and back, possible and alive.
    """

    bound: float
    travel: int
    promised: PlacePromise
    anchor: _Anchor
    way: Way
    back: Way
    arrives: float
    alive: float


class Explorer:
    """Finds what is worth trying on the way along a route."""

    def __init__(
        self, model: WorldModel, numbers: PlanNumbers, paths: Paths, promises: Promises, ways: Ways, route: Route
    ) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        self._promises = promises
        self._ways = ways
        self._route = route
        self._anchors = self._find_anchors()

    def detours(self) -> list[Detour]:
        """Return the detours that the steps left free by the route are spent on, the best rate first."""
        queue: list[tuple[float, bool, Key, _Visit, Detour | None]] = []
        """By the highest rate possible: what is not worked out yet before what is, the places and goals all differ."""
        for promised in self._promises.promises:
            visit = self._visit(promised)
            if visit is not None:
                heapq.heappush(queue, (-visit.bound, False, (promised.place, ""), visit, None))
        taken, slack, least = list[Detour](), self._route.left, 0.0
        while queue and slack >= 1.0:
            rate, _, _, visit, detour = heapq.heappop(queue)
            if -rate < least:
                break  # much poorer than the best: the steps are kept, and all is looked at again farther on
            if detour is None or detour.cost > slack:  # less may be tried there than with more steps
                detour = self._detour(visit, slack)
                if detour is not None:
                    heapq.heappush(queue, (-detour.rate, True, detour.goal, visit, detour))
                continue
            taken.append(detour)
            slack -= detour.cost
            least = self._n.worthwhile * taken[0].rate
        return taken

    def _find_anchors(self) -> list[_Anchor]:
        """Return where the route comes to each place first, and its end."""
        route, end, task = self._route, len(self._route.actions), self._paths.task
        marks = [*(() if route.needs_exact_replay else route.marks), (end, route.at.place, route.at.have)]
        if route.ends:
            marks = [mark for mark in marks if mark[0] < end]
        first = {mark[1]: mark for mark in reversed(marks)}
        anchors, lost = list[_Anchor](), self._paths.price(route.left)
        for steps, place, have in sorted({*first.values(), *marks[-1:]}, key=lambda mark: mark[:2]):
            stake = sum(points for when, points in route.earned if when > steps)
            # From here only ways can be gone that are possible now.
            ways = self._ways.of(place, task.valid if not steps and task.valid else None)
            later = EMPTY.union(*map(objects, route.actions[steps:]))
            at = ImaginedSituation(place, have, route.at.world if steps else task.now.world)
            anchors.append(_Anchor(steps, at, stake, stake + lost, later, ways, steps < end))
        return anchors

    def _visit(self, promised: PlacePromise) -> _Visit | None:
        """Return the visit to a place that promises most, from where on the route it may be; None if there is none."""
        best: _Visit | None = None
        back_from = self._ways.of(promised.place)
        for anchor in self._anchors:
            way = anchor.ways.get(promised.place)
            back = back_from.get(anchor.at.place) if anchor.returns else ()
            if way is None or back is None:
                continue
            travel = len(way) + len(back)
            if travel + bool(promised.sums) > self._route.left:
                continue
            bound = promised.bound(travel)
            if best is not None and (-bound, travel) >= (-best.bound, best.travel):
                continue  # it is no better even if it is open and safe
            chance = math.prod(self._chance(anchor, move) for move in way)
            if not chance:
                continue
            arrives = chance * self._survival(anchor, way)
            alive = arrives * self._survival(anchor, back)
            bound *= arrives
            if arrives * promised.most <= (1.0 - alive) * anchor.price or bound <= 0.0:
                continue
            if best is None or (-bound, travel) < (-best.bound, best.travel):
                best = _Visit(bound, travel, promised, anchor, way, back, arrives, alive)
        return best

    def _chance(self, anchor: _Anchor, move: Key) -> float:
        """Return how likely a move is possible, and leads on, with in hand what is in hand at a point of the route."""
        context = self._paths.context(anchor.at, move[0])
        if not anchor.steps and move[0] == anchor.at.place:
            return self._m.effects.leads(move, context)  # only what is possible begins a way from here
        return self._m.chance(move, context)

    def _survival(self, anchor: _Anchor, way: Way) -> float:
        """Return the probability of surviving a way with in hand what is in hand at a point of the route."""
        alive = 1.0
        for move in way:
            if move[0] in self._m.hazards.deadly:
                alive *= 1.0 - self._m.death(move, self._paths.context(anchor.at, move[0]))
        return alive

    def _detour(self, visit: _Visit, slack: float) -> Detour | None:
        """Return the best detour that is a visit within so many steps, None if none is worth its danger."""
        m, anchor, goal = self._m, visit.anchor, visit.promised.place
        have, price = anchor.at.have, anchor.price
        at = Situation(goal, have, self._paths.look(anchor.at, goal))
        leaving, staying = (m.hazards.hazard(goal, at.context, moving=moving) for moving in (True, False))
        count, cost, total = 0, visit.travel, -(1.0 - visit.alive) * price
        total += sum(map(m.cost, (*visit.way, *visit.back)))
        first: tuple[str, ...] = ()
        best: tuple[float, float, int, tuple[str, ...]] | None = None
        for most, action, sought in self._promises.stay(visit.promised, have):
            if count >= self._n.breadth or (best is not None and not sought and visit.arrives * most <= best[0]):
                break  # nothing that follows makes the rate any better
            to_try = self._promises.of(at, action, most, sought=sought)
            if to_try is None:
                continue
            # Trying it may cost something in hand, and that a share of what is at stake.
            moves, loss = action in m.moves, m.loss_rate(action) / len(have) if have and to_try.names else 0.0
            if not anchor.later.isdisjoint(to_try.handles):
                loss = m.loss_rate(action)  # what is needed later on the route
            risk = max(leaving if moves else staying, to_try.death) * price
            promise = visit.arrives * to_try.promise - anchor.stake * loss - risk
            if promise < self._n.spare:
                continue
            first, count, total = first or to_try.actions, count + 1, total + promise
            cost += len(to_try.actions)
            if moves:
                cost += self._n.look_around + anchor.returns  # a move has to be taken back
            if cost > slack:
                break
            if best is None or total / cost > best[0]:
                best = (total / cost, total, cost, first)
        if best is None or best[1] <= 0.0 or best[2] > slack:
            return None
        rate, worth, cost, first = best
        actions = (*(move for _, move in visit.way), *first)
        aim = (goal, first[-1] if first else "")
        return Detour(rate, worth * self._route.success, cost, anchor.steps, actions, aim, visit.way, visit.back)

"""Detours from a route: what was never tried, where it promises most for its length and risks least."""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.values.conditions import Tokens, objects, union
from engine.values.dangers import DEADLY
from engine.values.experience import Experience, Key
from engine.values.legs import Route
from engine.values.offers import LEAST, handled
from engine.values.progress import PlannerSettings
from engine.values.promises import Promises
from engine.values.routes import SPARE, Router
from engine.values.visits import Anchor, Detour, Start, Visit
from engine.values.ways import Way, Ways

WORTHWHILE = 0.2
"""Detours that promise less per step than this share of the best one are not made."""
_LOOK_AROUND = 3
"""Steps kept free for looking around where an untried move may lead."""
_STEP = 0.08
"""What a step is worth to discovery, per unit of curiosity, when it is lost."""
_NEAR = 3
_LEAST_SHARE = 0.05
"""Share of its bound that a visit is expected to have at least."""
_FOUND = 1 << 30
"""Stage of a visit whose best detour is known."""


@dataclass(slots=True)
class _Tour:
    """A route that detours are looked for.

    Attributes:
        until: After how many of its steps there is no danger ahead any more.
        moves: How many of its first steps do nothing but move.
        bonus: What being at a deadly place with something new is worth.
        anchors: Points on it, the ways from there, and whether one has to come back to it.
        dangers: Probabilities of dying of known moves: by whether the route has begun, what is in hand, and move.
    """

    route: Route
    until: int
    moves: int
    bonus: float
    anchors: list[tuple[Anchor, Mapping[str, Way], bool]] = field(default_factory=list)
    dangers: dict[tuple[bool, Tokens, Key], float] = field(default_factory=dict)


class Explorer:
    """Finds what is worth trying."""

    def __init__(
        self,
        experience: Experience,
        settings: PlannerSettings,
        router: Router,
        promises: Promises,
        ways: Ways,
    ) -> None:
        self._x = experience
        self._s = settings
        self._router = router
        self._promises = promises
        self._ways = ways
        self._shares: dict[str, float] = {}
        """By place, what share of the highest rate that a visit could have it had lately."""
        self._bound: tuple[
            tuple[int, frozenset[Key]], dict[tuple[str, frozenset[str] | None], dict[str, Way]]
        ] = ((-1, frozenset()), {})

    def price(self, steps_left: float) -> float:
        """Return the points that dying costs, known gains apart: score, and what the steps left could discover."""
        return self._router.death_cost + _STEP * self._s.curiosity * steps_left

    def fill(self, route: Route, least: float) -> list[Detour] | None:
        """Return the detours that the steps left free by a route are spent on, the best rate first.

        None as soon as it is sure that the route is not worth more with them than `least`. Only detours that may be
        among the best are worked out, and no more than so many: each place is looked at first by a bound on what it
        can be worth from anywhere, then by one for each point of the route it can be reached from. Places come in the
        order of these bounds times the share of them that was found to be true lately.
        """
        moves = next((n for n, action in enumerate(route.actions) if action not in self._x.moves), _FOUND)
        until = self._last_danger(route, set(self._x.dangers.deadly()))
        tour = _Tour(route, until, moves, self._promises.bonus())
        tour.anchors = [
            (anchor, self._ways_from(anchor, anchor.steps <= moves), anchor.steps < len(route.actions))
            for anchor in _anchors(route)
        ]
        # Several points on a route may be at one place.
        nearest: dict[str, int] = {}
        for ways in {id(ways): ways for _, ways, _ in tour.anchors}.values():
            for goal, way in ways.items():
                if way.steps < nearest.get(goal, _FOUND):
                    nearest[goal] = way.steps
        held = frozenset[str]().union(*(anchor.have for anchor, _, _ in tour.anchors))
        queue: list[tuple[float, str, int, Visit]] = []
        for draw in self._promises.draws:
            if draw.goal in nearest:
                visit = Visit(draw, self._brings(draw.goal, held))
                bound = visit.bound(nearest[draw.goal])
                if bound > 0.0:
                    visit.share = self._shares.get(draw.goal, 1.0)
                    queue.append((-visit.share * bound, draw.goal, 0, visit))
        heapq.heapify(queue)
        value, slack, top = route.value, route.left, 0.0
        taken: list[Detour] = []
        looks = self._s.looks
        while queue and slack >= 1.0:
            negative, goal, stage, visit = heapq.heappop(queue)
            rate = -negative if stage == _FOUND else -negative / visit.share
            if rate < WORTHWHILE * top:
                continue  # what comes of being farther on with more steps left is worth more
            if value + slack * (max(0.0, rate) + SPARE) <= least:
                return None
            if stage == _FOUND:
                detour = visit.best
                if detour is not None and detour.cost <= slack:
                    top = top or detour.rate
                    slack -= detour.cost
                    value += detour.worth
                    taken.append(detour)
                continue
            if stage == 0:
                visit.starts = self._starts(tour, visit, slack)
            elif looks:
                looks -= 1
                self._look(tour, visit, visit.starts[stage - 1], slack)
                kept = visit.best.rate / visit.starts[0].bound if visit.best is not None else 0.0
                self._shares[goal] = max(_LEAST_SHARE, 0.5 * (visit.share + kept))
            # The next start can only be better if it may be by its bound.
            found = visit.best.rate if visit.best is not None else 0.0
            bound = visit.starts[stage].bound if looks and stage < len(visit.starts) else 0.0
            if bound > found:
                heapq.heappush(queue, (-visit.share * bound, goal, stage + 1, visit))
            elif visit.best is not None:
                heapq.heappush(queue, (-found, goal, _FOUND, visit))
        return taken if value + SPARE * slack > least else None

    def _ways_from(self, anchor: Anchor, moving: bool) -> Mapping[str, Way]:
        """Return the ways from a point on a route: from here, only those that can be gone now.

        Args:
            moving: Whether all that the route does before is moving: what is barred now is barred then.
        """
        first = self._router.valid if not anchor.steps and self._router.valid else None
        barred = self._router.barred | self._router.shut if moving else frozenset[Key]()
        if first is None and not barred:
            return self._ways.of(anchor.place)
        version = (self._x.moves_version, barred)
        if self._bound[0] != version:
            self._bound = (version, {})
        found = self._bound[1].get((anchor.place, first))
        if found is None:
            found = self._bound[1][(anchor.place, first)] = self._ways.search(anchor.place, first, barred)
        return found

    def _starts(self, tour: _Tour, visit: Visit, slack: float) -> list[Start]:
        """Return from where on the route a place can be visited in so many steps, the most promising first."""
        draw = visit.draw
        goal, starts = draw.goal, list[Start]()
        back_from = self._ways.of(goal)
        for anchor, ways, returns in tour.anchors:
            if not (draw.promising or visit.brings or draw.fetch) and anchor.steps > tour.until:
                continue
            way = ways.get(goal)
            if way is None:
                continue
            back = back_from.get(anchor.place) if returns else None
            if returns and back is None:
                continue
            travel = way.steps + (back.steps if back is not None else 0)
            if travel + bool(draw.sums) > slack:
                continue
            arrives, alive = self._survival(tour, anchor, way, back)
            lost = (1.0 - alive) * (anchor.stake + self.price(tour.route.left)) if alive < 1.0 else 0.0
            if arrives * visit.worth > lost:
                bound = arrives * visit.bound(travel)
                starts.append(Start(bound, travel, anchor, way, back, arrives, alive))
        starts.sort(key=lambda start: (-start.bound, start.travel, start.anchor.steps))
        return starts

    def _survival(self, tour: _Tour, anchor: Anchor, way: Way, back: Way | None) -> tuple[float, float]:
        """Return the probabilities of coming to a place, and of coming there and back alive."""
        perils = self._ways.perils(way)
        arrives = alive = 1.0
        for key in perils.unsure:
            arrives *= self._x.sureness(key)
        if anchor.steps > tour.moves and not self._router.shut.isdisjoint(way.moves):
            # What the route does before may open what is shut now.
            world = self._router.world_at(tour.route, anchor.steps)
            for key in self._router.shut.intersection(way.moves):
                arrives *= self._router.opens(key, world, anchor.have)
        for key in perils.deadly:
            arrives *= 1.0 - self._danger_from(tour, anchor, key)
        for key in self._ways.perils(back).deadly if back is not None else ():
            alive *= 1.0 - self._danger_from(tour, anchor, key)
        return arrives, alive * arrives

    def _brings(self, goal: str, held: Tokens) -> float:
        """Return the most that coming to a place with any of this in hand promises."""
        promises = self._promises
        if goal not in promises.bringable:
            return 0.0
        return promises.brings(goal, held) + sum(promises.opened(goal, held).values())

    def _look(self, tour: _Tour, visit: Visit, start: Start, slack: float) -> None:
        """Work out the detour to a place from one point of the route; keep it if it is the best to there so far."""
        anchor = start.anchor
        fetching = anchor.steps <= tour.until
        stake = visit.safe.get((anchor.have, fetching))
        if stake is not None and stake <= anchor.stake:
            return  # nearer to another point that has the same in hand, and no more at stake
        perils, back = self._ways.perils, start.back
        if not perils(start.way).deadly and not (back is not None and perils(back).deadly):
            visit.safe[(anchor.have, fetching)] = anchor.stake
        least = visit.best.rate if visit.best is not None else 0.0
        detour = self._detour(tour, visit, start, fetching, slack, least)
        if detour is not None and (visit.best is None or detour.rate > visit.best.rate):
            visit.best = detour

    def _detour(
        self, tour: _Tour, visit: Visit, start: Start, fetching: bool, slack: float, least: float
    ) -> Detour | None:
        """Return the best detour from an anchor to a place, None if none is worth its danger, or more than `least`."""
        _, travel, anchor, way, back, arrives, alive = start
        draw, route, goal, have = visit.draw, tour.route, visit.draw.goal, anchor.have
        see = self._router.look(self._router.world_at(route, anchor.steps), goal, have)
        settled = (have, see, fetching, back is None)
        if settled in visit.settled:
            return None
        offers = self._promises.stay(draw, have, see, fetching)
        leaving, staying = self._hazards(goal, have, see)
        # Dying costs what was still to be gained, and what the steps left could have discovered.
        spent = self.price(route.left)
        price = anchor.stake + spent
        leaving *= price
        staying *= price
        total = -(1.0 - alive) * price
        if draw.bonus:
            x = self._x
            total += (
                arrives * draw.bonus * x.dangers.hope(goal) * (1.0 - 0.5 ** x.dangers.untested(goal, have))
            )
        at_stake = leaving > 0.0 or staying > 0.0 or arrives < 1.0 or alive < 1.0
        count, cost = 0, travel
        first: tuple[str, ...] = ()
        best: tuple[float, float, int] | None = None
        bringing = way.steps > 0 and goal in self._promises.bringable
        opened = self._promises.opened(goal, have)
        if total < 0.0:
            needed = (least * max(1, travel) - total) / arrives - sum(opened.values())
            if not offers.promises_over(needed - self._promises.brings(goal, have)):
                return None  # not worth the danger of the way
        brings = 0.0
        if bringing:
            there = sum(promise for feature, promise in opened.items() if feature in see)
            brings = arrives * (self._promises.brings(goal, have) + there)
        if brings > 0.0:
            total += brings
            best = (total / max(1, travel), total, travel)
        for number in itertools.count():
            offer = offers.over(best[0] / arrives if best is not None else -math.inf, number)
            if offer is None:
                break  # nothing that follows makes the rate any better
            _, promise, loss, actions, moves, made, handles, own = offer
            if handles and not anchor.later.isdisjoint(handled(actions[-1], have)):
                loss = self._x.loss_rate(actions[-1])  # what is needed later on the route
            at_stake = at_stake or loss > 0.0 or made > 0.0 or own > 0.0
            promise = (
                arrives * promise
                - anchor.stake * loss
                - max(leaving if moves else staying, max(made, own) * price)
            )
            if promise < LEAST:
                continue
            first = first or actions
            total += promise
            count += 1
            cost += len(actions)
            if moves:
                cost += _LOOK_AROUND + (back is not None)  # a move has to be taken back
            if cost > slack:
                break
            if best is None or total / cost > best[0]:
                best = (total / cost, total, cost)
            if count >= self._s.several:
                break
        if not at_stake and cost <= slack:
            visit.settled.add(settled)
        if best is None or best[1] <= 0:
            return None
        rate, worth, cost = best
        last = first[-1] if first else ""
        actions = (*way.actions, *first)
        return Detour(rate, worth * route.alive, cost, anchor.steps, actions, (goal, last), way, back)

    def _hazards(self, goal: str, have: Tokens, see: Tokens) -> tuple[float, float]:
        """Return the hazards of leaving a place by a way never taken, and of trying anything else."""
        # The place may look as it did to others with the same in hand: dark, say.
        contexts = union(have, see), union(have, self._x.view(goal, have))
        hazard = self._x.dangers.hazard
        leaving = max(hazard(goal, context, moving=True, first=True) for context in contexts)
        return leaving, max(hazard(goal, context, moving=False, first=True) for context in contexts)

    def _last_danger(self, route: Route, deadly: set[str]) -> int:
        """Return after how many steps a route is at a deadly place for the last time; -1 if it never is."""
        near = self._ways.of(route.at.place)
        if any(name in near and near[name].steps <= _NEAR for name in deadly):
            return len(route.actions)
        here = self._router.here
        now = self._x.dangers.hazard(here.place, union(here.have, here.see), moving=True) > DEADLY
        return max((steps for steps, place, _ in route.marks if place in deadly), default=0 if now else -1)

    def _danger_from(self, tour: _Tour, anchor: Anchor, move: Key) -> float:
        """Return the probability of dying of a known move with in hand what is in hand at a point of the route."""
        asked = (anchor.steps > 0, anchor.have, move)
        found = tour.dangers.get(asked)
        if found is None:
            world = self._router.world_at(tour.route, anchor.steps)
            found = tour.dangers[asked] = self._danger(world, move, anchor.have)
        return found

    def _danger(self, world: Mapping[str, Tokens], key: Key, have: Tokens) -> float:
        """Return the probability of dying of a known move with this in hand."""
        return max(self._dying(key, union(have, see)) for see in self._looks(world, key[0], have))

    def _dying(self, key: Key, context: Tokens) -> float:
        outcome = self._x.outcome(key, context)
        return outcome.death if outcome is not None else self._x.dangers.hazard(key[0], context, moving=True)

    def _looks(self, world: Mapping[str, Tokens], place: str, have: Tokens) -> set[Tokens]:
        """Return what a place may look like: as the route leaves it, or as it did to others with the same in hand.

        The route may come there with a light that is not yet in hand, or not any more, when a detour does.
        """
        return {self._router.look(world, place, have), self._x.view(place, have)}


@functools.lru_cache(maxsize=1 << 12)
def _named_in(actions: tuple[str, ...]) -> Tokens:
    """Return the words that actions name things by."""
    return frozenset().union(*map(objects, actions))


def _anchors(route: Route) -> list[Anchor]:
    """Return where a route comes to each place first and last, and its end."""
    marks = [*(() if route.faithful else route.marks), (len(route.actions), route.at.place, route.at.have)]
    first: dict[str, tuple[int, str, Tokens]] = {}
    last: dict[str, tuple[int, str, Tokens]] = {}
    for mark in marks:
        first.setdefault(mark[1], mark)
        last[mark[1]] = mark
    chosen = {mark[:2]: mark for mark in (*first.values(), *last.values())}
    return [
        Anchor(
            steps,
            place,
            have,
            sum(points for when, points in route.earned if when > steps),
            _named_in(route.actions[steps:]),
        )
        for steps, place, have in sorted(chosen.values(), key=lambda mark: mark[:2])
    ]

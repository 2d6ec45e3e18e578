"""Makes plans: finds the best route to known gains, and has detours fill the steps that it leaves free.

Routes follow remembered trails again, or join known gains by the cheapest known ways. `engine.values.detours` finds
the detours.

A plan is made for one `PlanTask`, and everything that answers questions about it is made anew for it. Only answers that
hold for other tasks, too, are kept between plans.
"""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from engine.settings.plan import PlanNumbers
from engine.values.counts import Memo, TryCount
from engine.values.detours import Explorer
from engine.values.model import WorldModel
from engine.values.paths import Answers, ImaginedSituation, Paths, PlanTask, Ways
from engine.values.plans import NOTHING, Plan, Route, hold_back, without_edits
from engine.values.promises import Promises
from engine.values.text import Key
from engine.values.trails import Trail


class Planner:
    """Makes plans through a model."""

    def __init__(self, model: WorldModel, numbers: PlanNumbers) -> None:
        self._m = model
        self._n = numbers
        self._ways = Ways(model)
        self._answers: Answers = Memo(1 << 15)
        self.kept: defaultdict[str, TryCount] = defaultdict(TryCount)
        """By kind of plan, the points that it brought, of those that it was expected to bring."""

    def trust(self, kind: str) -> float:
        """Return how many points a kind of plan brings, per point that is expected of it."""
        return self.kept[kind].rate(1.0, self._n.trust)

    def plan(self, task: PlanTask, trails: Sequence[Trail], unedited: Sequence[Trail] | None = None) -> Plan:
        """Return the best route with its detours; `NOTHING` if nothing is worth doing.

        Args:
            trails: What remembered episodes did from here.
            unedited: The same without what persons say of points; None if they say nothing.
        """
        paths = self.paths(task)
        if unedited is None:
            return _unless_vain(*self._plan(paths, trails))
        with self._m.edits.ignored():
            known, complete = self._plan(paths, unedited)
        level, gained = _unless_vain(known, complete).value, paths.gained
        bare = without_edits(known, self._m, gained)
        stay = _unless_vain(hold_back(bare, level, self._m, gained), complete)
        other, _ = self._plan(paths, trails, complete)
        plan = _unless_vain(hold_back(other, level, self._m, gained), complete)
        return plan if plan.value > stay.value + self._n.least_regret * (abs(stay.value) + 1.0) else stay

    def following(self, trail: Trail, task: PlanTask) -> Plan:
        """Return the plan to do as a trail did."""
        route = Router(self._m, self._n, self.paths(task)).follow(trail)
        return Plan(route.value, route.value, route.actions, route.goal, route)

    def is_complete(self, plan: Plan, task: PlanTask) -> bool:
        """Return whether a plan likely gains all points that are left."""
        return plan.route is not None and self._is_complete(plan.route, task)

    def _plan(
        self, paths: Paths, trails: Sequence[Trail], is_complete: bool | None = None
    ) -> tuple[Plan, bool]:
        """Return the best plan, and whether nothing is left to discover.

        Args:
            is_complete: Whether nothing is; None if that hangs on the route that is found.
        """
        router, task = Router(self._m, self._n, paths), paths.task
        best = router.best(trails, {exact: self.trust(kind_of(exact)) for exact in (True, False)})
        if task.reserve:
            best = dataclasses.replace(best, left=best.left + task.steps - router.nowhere.left)
        if self._is_complete(best, task) if is_complete is None else is_complete:
            return Plan(best.value, best.value, best.actions, best.goal, best), True
        return self._with_detours(best, paths, Promises(self._m, self._n, paths)), False

    def paths(self, task: PlanTask) -> Paths:
        """Return what answers questions about where a task stands."""
        return Paths(self._m, self._n, task, self._answers)

    def _is_complete(self, route: Route, task: PlanTask) -> bool:
        """Return whether a route likely gains all points that are left."""
        if task.to_gain is None or task.to_gain <= 0:
            return False
        points = sum(self._m.gains.get(key, 0.0) for key in route.gained - task.progress.gained)
        likely = sum(points for _, points in route.earned)
        return points >= task.to_gain and 2.0 * likely >= task.to_gain and 2.0 * route.success >= 1.0

    def _with_detours(self, route: Route, paths: Paths, promises: Promises) -> Plan:
        """Return the plan that spends what a route leaves free on detours."""
        taken = Explorer(self._m, self._n, paths, promises, self._ways, route).detours()
        actions, goal, first = route.actions, route.goal, None
        if taken:
            # Of those that start together the best is made first: all is thought over again after it.
            first = min(taken, key=lambda detour: (detour.start, -detour.rate))
            actions, goal = (*route.actions[: first.start], *first.actions), first.goal
        spare = self._n.spare * (route.left - sum(detour.cost for detour in taken))
        value = route.value + sum(detour.worth for detour in taken) + spare
        tries = tuple(detour.goal for detour in sorted(taken, key=lambda detour: detour is not first))
        return Plan(value, route.value, actions, goal, route, first, tries, spare)


def _unless_vain(plan: Plan, complete: bool) -> Plan:
    """Return a plan; `NOTHING` if it is not worth doing, and something may be left to discover."""
    return plan if complete or (plan.actions and plan.value > 0.0) else NOTHING


_FULL: Mapping[bool, float] = {True: 1.0, False: 1.0}


def kind_of(exact: bool) -> str:
    """Return the kind of a plan by whether it repeats an episode exactly."""
    return "repeated" if exact else "joined"


class Router:
    """Finds routes for one task.

    Attributes:
        nowhere: The route that goes nowhere.
    """

    def __init__(self, model: WorldModel, numbers: PlanNumbers, paths: Paths) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        task, now = paths.task, paths.task.now
        marks = ((0, now.place, now.have),)
        self.nowhere = Route(now, float(max(0, task.steps - task.reserve)), gained=frozenset(paths.gained), marks=marks)

    def best(self, trails: Sequence[Trail], trust: Mapping[bool, float] = _FULL) -> Route:
        """Return the best route: of equal ones the shortest, which may be the one that goes nowhere.

        Args:
            trust: How many points are had of each that is expected, by whether an episode is repeated exactly.
        """
        found = [self.nowhere, *map(self.follow, trails)]
        beam = sorted(found, key=lambda route: -route.value)[: self._n.beam]
        while longer := [further for route in beam for further in self._further(route)]:
            unique = {(route.gained, route.at.place): route for route in sorted(longer, key=lambda r: r.value)}
            beam = sorted(unique.values(), key=lambda route: -route.value)[: self._n.beam]
            found += beam
        return max(found, key=lambda r: r.value * trust[r.needs_exact_replay] + self._n.spare * r.left)

    # ----------------------------------------------------------------------------------------- trails

    def follow(self, trail: Trail) -> Route:
        """Return the route that is a trail."""
        start, steps, end = self.nowhere, trail.steps, trail.steps[-1].then
        extra = start.at.have - steps[0].now.have
        seen = {at.place: at.see for step in steps for at in (step.now, step.then)}
        marks = [(number, step.now.place, step.now.have | extra) for number, step in enumerate(steps)]
        route = Route(
            ImaginedSituation(end.place, end.have | extra, {**start.at.world, **seen}),
            start.left - len(steps),
            sum(gain.points for gain in trail.earned),
            trail.sure,
            trail.actions,
            start.gained.union(gain.key for gain in trail.earned),
            (*marks, (len(steps), end.place, end.have | extra)),
            tuple((gain.steps, gain.points) for gain in trail.earned),
            needs_exact_replay=trail.repeat_probability > 0.0,
        )
        return self._paid(route, 0, 1.0)

    # ----------------------------------------------------------------------------------------- known gains

    def _further(self, route: Route) -> list[Route]:
        """Return `route` with each of the best next known gains added, and with each as good that ends the game."""
        if route.ends:
            return []
        reached, width = self._paths.reach(route.at, route.left), self._n.breadth // 2
        # Those that cannot be among the best, however easily they are gained once there, need not be worked out.
        hopes = sorted(
            (-gain / (reached[key[0]].cost + 1.0 + self._n.overhead), number, key)
            for number, (key, gain) in enumerate(self._m.gains.items())
            if key not in route.gained and key not in self._paths.task.progress.failed and key[0] in reached
        )
        rated, ends = list[tuple[float, int, Route]](), list[Route]()
        for hope, number, key in hopes:
            if len(rated) >= width and -hope * route.success <= -rated[width - 1][0]:
                break
            further = self._leg(route, key)
            if further is None or key not in further.gained:
                continue
            if further.ends:
                ends.append(further)
            else:
                rate = (further.value - route.value) / (route.left - further.left + self._n.overhead)
                rated.append((-rate, number, further))
                rated.sort(key=lambda item: item[:2])
        return [following for _, _, following in rated[:width]] + ends

    # ----------------------------------------------------------------------------------------- legs

    def _leg(self, route: Route, key: Key) -> Route | None:
        """Return the route with an action at a place added, and what that gains; None if it is not known how.

        What opens moves on the way, or makes the action possible, is done first where it is possible.
        """
        if route.ends:
            return None
        reached = self._paths.reach(route.at, route.left)
        if key[0] not in reached:
            return None
        way = reached[key[0]]
        at = self._paths.seen(way.at)
        enabled = self._paths.enable(at, key[1], self._n.levels)
        if enabled is None:
            return None
        done = self._paths.do(enabled.after(way.at), key[1])
        cost = way.cost + len(enabled.actions) + done.tries if done is not None else math.inf
        if done is None or cost > route.left:
            return None
        survives = way.alive * (1.0 - done.death)
        for helper in enabled.actions:
            outcome = self._m.outcome((key[0], helper), at.context)
            survives *= 1.0 - outcome.death if outcome is not None else 1.0
        success = route.success * survives * way.sure * enabled.sure
        fresh = key in self._m.gains and key not in route.gained
        points = self._m.gain(key) * success if fresh else 0.0
        gains = fresh and points >= self._n.spare * success
        actions, before = (*route.actions, *way.actions, *enabled.actions, key[1]), len(route.actions)
        marks = (*route.marks, *((before + number, place, have) for number, place, have in way.marks))
        leg = Route(
            at=done.at,
            left=route.left - cost,
            value=route.value + points - self._paths.death_cost * route.success * (1.0 - survives),
            success=success,
            actions=actions,
            gained=route.gained | {key} if gains else route.gained,
            marks=(*marks, (len(actions), done.at.place, done.at.have)),
            earned=(*route.earned, (len(actions), points)) if gains else route.earned,
            ends=done.ends,
        )
        return self._paid(leg, len(route.actions), route.success)

    def _paid(self, route: Route, start: int, alive: float) -> Route:
        """Return a route with the points taken off that its steps from `start` on cost by what persons say of them."""
        if not self._m.edits:
            return route
        cost = sum(self._m.cost(key) for key, _ in route.stops[start:])
        return dataclasses.replace(route, value=route.value + alive * cost)

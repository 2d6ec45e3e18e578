"""Plans: the best route to known gains, and what is tried in the steps that it leaves free.

Routes are found by `engine.values.routes`, detours from them by `engine.values.detours`. A plan is made for one `Task`,
and everything that answers questions about it is made anew for the task. Only answers that hold for other tasks, too,
are kept between plans.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.settings.planning import PlanNumbers
from engine.values.detours import NOTHING, Detour, Explorer, Plan
from engine.values.memo import Memo
from engine.values.model import Model
from engine.values.offers import OfferMemo, Offers
from engine.values.paths import EnabledMemo, Imagined, Paths, Route, Task
from engine.values.promises import Offered, Promises
from engine.values.routes import Router
from engine.values.trails import Trail
from engine.values.ways import Ways


class Planner:
    """Makes plans through a model."""

    def __init__(self, model: Model, numbers: PlanNumbers) -> None:
        self._m = model
        self._n = numbers
        self._ways = Ways(model)
        self._enabled: EnabledMemo = Memo(1 << 15)
        self._offers: OfferMemo = Memo(1 << 15)
        self._promising: Memo[object, Offered] = Memo()

    def plan(self, task: Task, trails: Sequence[Trail] = (), *, otherwise: bool = False) -> Plan:
        """Return the best route with its detours; `NOTHING` if nothing is worth doing.

        Args:
            trails: What remembered episodes did from here.
            otherwise: Whether a route that leaves no steps to try anything is weighed against not going it, because
                the last episode only repeated what was known.
        """
        paths = self.paths(task)
        router = Router(self._m, self._n, paths)
        route = router.best(trails)
        if self._is_complete(route, task):  # nothing is left to discover
            return Plan(route.value, route.value, route.actions, route.goal, route)
        offers = Offers(self._m, self._n, paths, self._offers)
        promises = Promises(self._m, self._n, paths, self._promising)
        explorer = Explorer(self._m, self._n, paths, promises, offers, self._ways)
        plan, nowhere = self._with_detours(route, explorer.fill(route)), router.nowhere()
        # What lies behind a shut way, and, where a route leaves no steps to try anything, what lies off it.
        shut = promises.shut_ways(self._ways.of(task.now.place))
        others = [router.through(base, key) for key in shut for base in {id(r): r for r in (nowhere, route)}.values()]
        others += [nowhere] if otherwise and not plan.tries else []
        for other in others:
            if other is not None:
                instead = self._with_detours(other, explorer.fill(other))
                plan = max(plan, instead, key=lambda plan: plan.value)
        return plan if plan.actions and plan.value > 0.0 else NOTHING

    def paths(self, task: Task) -> Paths:
        """Return what answers questions about where a task stands."""
        return Paths(self._m, self._n, task, self._enabled)

    def expect(self, task: Task, action: str) -> Imagined | None:
        """Return the situation expected after an action, None if it was never taken at this place."""
        done = self.paths(task).do(task.now, action)
        return done[0] if done is not None else None

    def _is_complete(self, route: Route, task: Task) -> bool:
        """Return whether a route likely gains all points that are left."""
        if task.to_gain is None or task.to_gain <= 0:
            return False
        points = sum(self._m.gains.get(key, 0.0) for key in route.gained - task.progress.gained)
        likely = sum(points for _, points in route.earned)
        return points >= task.to_gain and likely >= self._n.sure * task.to_gain and route.alive >= self._n.sure

    def _with_detours(self, route: Route, taken: list[Detour]) -> Plan:
        """Return the plan that spends what the route leaves free on detours."""
        actions, goal, first = route.actions, route.goal, None
        if taken:
            # Of those that start together the best is made first: all is thought over again after it.
            first = min(taken, key=lambda detour: (detour.start, -detour.rate))
            actions, goal = (*route.actions[: first.start], *first.actions), first.goal
        spare = self._n.spare * (route.left - sum(detour.cost for detour in taken))
        value = route.value + sum(detour.worth for detour in taken) + spare
        tries = tuple(detour.goal for detour in sorted(taken, key=lambda detour: detour is not first))
        return Plan(value, route.value, actions, goal, route, first, tries, spare)

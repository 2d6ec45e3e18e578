"""Plans through what is remembered: a way to gain again what was gained before, and what to try on the way.

First comes the best route to known gains (`engine.values.routes`). Then the steps that it leaves free are spent on
actions never tried (`engine.values.detours`): at the places on it, off it and beyond its end.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.values.conditions import Tokens
from engine.values.detours import Detour, Explorer
from engine.values.experience import Experience, Key
from engine.values.legs import Imagined, Route
from engine.values.progress import PlannerSettings, Progress
from engine.values.promises import Liking, Promises
from engine.values.routes import SPARE, Router
from engine.values.trails import Trail
from engine.values.ways import Ways

__all__ = ["Imagined", "Plan", "Planner", "PlannerSettings", "Progress"]


_SURE = 0.5
"""Probability of surviving a way to all points above which no other is looked for."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and what it is worth.

    Attributes:
        value: Points expected, discoveries included.
        known: The part of it that repeats known gains.
        actions: What to do up to the first thing never done before, first action first.
        goal: What is to be done last of these, and where.
        way: The route that it goes, as it was when the plan was made; None for the way to something never done.
        detour: The first of those made from it.
        tries: What its detours try, and where; the first one's first, then the most promising.
        spare: Points that the steps left over are counted with.
    """

    value: float
    known: float
    actions: tuple[str, ...]
    goal: Key = ("", "")
    route: tuple[str, ...] = ()
    faithful: bool = False
    way: Route | None = None
    detour: Detour | None = None
    tries: tuple[Key, ...] = ()
    spare: float = 0.0


class Planner:
    """Searches plans in an experience."""

    def __init__(self, experience: Experience, settings: PlannerSettings) -> None:
        self._x = experience
        self._s = settings
        self._router = Router(experience, settings)
        self._promises = Promises(experience, settings, self._router)
        self._explorer = Explorer(experience, settings, self._router, self._promises, Ways(experience))

    def plan(
        self,
        now: Imagined,
        steps_left: int,
        progress: Progress,
        liking: Liking,
        trails: Sequence[Trail] = (),
        valid: tuple[str, ...] = (),
        to_gain: float | None = None,
    ) -> Plan:
        """Return the best route with its detours; without anything worth doing, a plan with no actions.

        Args:
            now: Where the episode stands.
            liking: By place and action a factor on its novelty, from the model's opinion; 1 if absent.
            trails: What remembered episodes did from here.
            valid: What can be done here and now.
            to_gain: Points until the maximum score, None if there is none: who knows a way to all of them has
                nothing left to discover.
        """
        self._router.stand(now, valid, progress.barred)
        self._promises.think(progress, liking)
        nowhere = Route(now, float(steps_left), gained=frozenset(progress.gained), marks=((0, now.place, now.have),))
        route = self._router.best(nowhere, progress, trails)
        if to_gain is not None and to_gain > 0 and self._is_complete(route, to_gain, progress):
            return Plan(route.value, route.value, route.actions, route.goal, route.actions, route.faithful, route)
        plan = self._with_detours(route, self._explorer.fill(route))
        if not plan.tries:
            # What is known leaves no steps to try anything: doing that instead is the other choice.
            instead = self._with_detours(nowhere, self._explorer.fill(nowhere))
            plan = max(plan, instead, key=lambda plan: plan.value)
        return plan if plan.actions and plan.value > 0.0 else Plan(0.0, 0.0, ())

    def _is_complete(self, route: Route, to_gain: float, progress: Progress) -> bool:
        """Return whether a route likely gains all points that are left."""
        points = sum(self._x.gains.get(key, 0.0) for key in route.gained - progress.gained)
        return points >= to_gain and sum(p for _, p in route.earned) >= _SURE * to_gain and route.alive >= _SURE

    def value_discoveries(self, curiosity: float) -> None:
        """Take note of what discoveries are worth from now on."""
        self._s.curiosity = curiosity

    def price(self, steps_left: float) -> float:
        """Return the points that dying costs where no known gain is at stake: score, and what could be discovered."""
        return self._explorer.price(steps_left)

    def imagine(self, at: Imagined, action: str) -> Imagined | None:
        """Return the situation expected after `action`, None if it was never taken at this place."""
        return self._router.imagine(at, action)

    def darkening(self, place: str, have: Tokens, action: str) -> float:
        """Return the probability of dying, at a place that may be dark, of what an action does to the light in hand."""
        return self._promises.offers.darkening(place, have, action)

    def novelty(self, key: Key, liking: Liking) -> float:
        """Return what taking the action at the place promises to discover, in points."""
        return self._promises.novelty(key, liking)

    def _with_detours(self, route: Route, taken: list[Detour]) -> Plan:
        """Return the plan that spends what the route leaves free on detours."""
        value = route.value + sum(detour.worth for detour in taken)
        slack = route.left - sum(detour.cost for detour in taken)
        actions, goal, first = route.actions, route.goal, None
        if taken:
            # Of those that start together the best is made first: all is thought over again after it.
            first = min(taken, key=lambda detour: (detour.start, -detour.rate))
            actions, goal = (*route.actions[: first.start], *first.actions), first.goal
        # Steps left over are worth a little: of equal plans the shorter one.
        value += SPARE * slack
        tries = tuple(detour.goal for detour in sorted(taken, key=lambda detour: detour is not first))
        return Plan(
            value, route.value, actions, goal, route.actions, route.faithful, route, first, tries, SPARE * slack
        )

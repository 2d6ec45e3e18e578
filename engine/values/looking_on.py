"""Looks on when nothing new is gained: what is known is tried without some of its steps, or gets fewer of them.

A plan that is made of what is known takes all steps that known gains need. Where these are all the steps there are,
nothing else is ever tried, and every episode is like the one before. So an episode without a new gain has consequences
for the next one. And plans are held to what they promise: what each kind brings is counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from engine.settings.plan import PlanNumbers
from engine.values.paths import EpisodeProgress, PlanTask
from engine.values.planner import Planner, kind_of
from engine.values.plans import Plan
from engine.values.trails import Trails

_DISCOVERY = "discovery"
"""The kind of a plan's part that looks for what is new."""


class LookingOn:
    """What episodes brought that was new, and what the running one is to do for that.

    Attributes:
        reserve: Steps at the end of the episode that known gains may not take; None until that is decided.
        aimless: Whether these are left even though no plan knows what to discover: what was done least is done then.
    """

    def __init__(self, planner: Planner, trails: Trails, numbers: PlanNumbers) -> None:
        self._planner = planner
        self._trails = trails
        self._n = numbers
        self._best, self._quiet = 0.0, 0
        """The best score of an episode, and for how many of them there was no new gain."""
        self._expected: dict[str, float] = {}
        """Points that were expected of this episode at its beginning, by kind of plan."""
        self.reserve: int | None = None
        self.aimless = False

    def end(self, ended: EpisodeProgress) -> None:
        """Take note of what an episode came to; nothing of one that did not begin."""
        expects, self._expected, self.reserve, self.aimless = self._expected, {}, None, False
        if not ended.tried:
            return
        for kind, expected in expects.items():
            had = ended.new_points if kind == _DISCOVERY else ended.score - ended.new_points
            self._planner.kept[kind].add(max(0.0, had), max(0.0, expected))
        if ended.new_points or ended.score > self._best:
            self._quiet = 0
        elif not ended.place_found:
            self._quiet += 1
        self._best = max(self._best, ended.score)

    def expect(self, plan: Plan) -> None:
        """Take note of the first plan of the episode."""
        if plan.route is not None:
            kind = kind_of(plan.route.needs_exact_replay)
            self._expected = {kind: plan.known, _DISCOVERY: plan.value - plan.known}

    def decide(self, task: PlanTask, planned: Callable[[PlanTask], Plan]) -> Plan | None:
        """Decide how the episode that begins is played, so that it is not played as others were.

        After an episode without a new gain, the best one is tried without some of its steps; after two, steps are kept
        for discoveries, and so on by turns. The longer nothing new was gained, the more discoveries are worth beside
        what is known; but less if they often promised it in vain. Where no steps are left to leave out, no episode is
        played without a discovery: if none is known of, the last of several gains is given up for what was done least.

        Args:
            planned: Returns the best plan for a task.

        Returns:
            The plan that is to be tried, None if the episode is played by plans as they are made.
        """
        self.reserve = 0
        plan = planned(task) if self._quiet else None
        if plan is None or plan.known <= 0.0 or self._planner.is_complete(plan, task):
            return None
        trail = self._trails.without_a_block()
        if trail is None or self._quiet % 2 == 0:
            reserve = self._best_reserve(task, planned, only_other=trail is None)
            self.reserve, route = reserve or 0, plan.route
            if reserve is None and route is not None and (route.ends or route.left < 1.0) and len(route.earned) > 1:
                self.reserve, self.aimless = 1 + int(route.left), True
        return self._planner.following(trail, task) if trail is not None and not self.reserve else None

    def _best_reserve(self, task: PlanTask, planned: Callable[[PlanTask], Plan], *, only_other: bool) -> int | None:
        """Return how many steps are best kept for discoveries.

        Args:
            only_other: Only plans with discoveries will do, as others were played before; None if there are none.
        """
        best, chosen = -math.inf, None
        for part in range(self._n.breadth + 1):
            reserve = task.steps * part // self._n.breadth
            plan = planned(replace(task, reserve=reserve))
            if only_other and plan.detour is None:
                continue
            hoped = (1.0 + self._quiet) * self._planner.trust(_DISCOVERY) * (plan.value - plan.known)
            if plan.known + hoped > best:
                best, chosen = plan.known + hoped, reserve
        return chosen

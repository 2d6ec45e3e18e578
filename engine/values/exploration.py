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


class Exploration:
    """What episodes brought that was new, and what the running one is to do for that.

    Attributes:
        reserve: Steps at the end of the episode that known gains may not take; None until that is decided.
        settled: Whether the run settles for what is known; the episode is played by plans as they are made then.
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
        self.settled = self.aimless = False

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

        After an episode without a new gain, or if the plan repeats an earlier one, the best one is tried without some
        of its steps; the next time steps are kept for discoveries, and so on by turns. The longer nothing new was
        gained, the more discoveries are worth beside what is known; but less if they often promised it in vain. If
        nothing is left to leave out and no discovery is known of, the last gain is given up for what was done least.

        Args:
            planned: Returns the best plan for a task.

        Returns:
            The plan that is to be tried, None if the episode is played by plans as they are made.
        """
        self.reserve = 0
        if self.settled:
            return None
        plan = planned(task)
        if plan.known <= 0.0 or self._planner.is_complete(plan, task):
            return None
        if not self._quiet and not self.repeats(plan, task):
            return None
        trail = self._trails.without_a_block()
        if trail is None or self._quiet % 2 == 0:
            reserve = self._best_reserve(task, planned, only_other=trail is None)
            self.reserve = reserve or 0
            if reserve is None and self.repeats(plan, task):
                self.give_up(plan)
        return self._planner.following(trail, task) if trail is not None and not self.reserve else None

    def repeats(self, plan: Plan, task: PlanTask) -> bool:
        """Return whether going on with a plan plays the episode as an earlier one that had less than all points.

        Never so if the run settles for what is known, or if nobody knows how many points there are.
        """
        route = plan.route
        if self.settled or task.to_gain is None or route is None or self._planner.is_complete(plan, task):
            return False
        to_the_end = len(plan.actions) >= task.steps or (plan.detour is None and (route.ends or route.left < 1.0))
        return self._trails.histories.repeats(plan.actions, to_the_end=to_the_end)

    def give_up(self, plan: Plan) -> None:
        """Leave so many steps free that a plan cannot have its last gain; what was done least is done then."""
        self.reserve, self.aimless = 1 + int(plan.route.left if plan.route is not None else 0), True

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

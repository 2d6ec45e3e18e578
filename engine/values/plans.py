"""What a plan consists of: a route to known gains, and detours from it to what was never tried. And, given the one
plan that was made, what each candidate is worth: the four terms of Q, which docs/theory.md has as formulas.

What persons say of the points on the way of a plan (`engine.values.model.Edits`) moves its value by what they say, and
in no other way. So a plan is first made as if they had said nothing. It is kept, with their points added to it, unless
a plan that was made for these points is clearly better.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container
from dataclasses import dataclass

from engine.settings.plan import PlanNumbers
from engine.values.histories import Histories
from engine.values.model import WorldModel
from engine.values.paths import ImaginedSituation, Mark, Paths, Way
from engine.values.text import Key, Situation, Tokens


@dataclass(frozen=True, slots=True)
class Route:
    """Steps to known gains, or to where discoveries are expected.

    Attributes:
        at: Where it ends.
        left: Steps left there.
        value: Points expected.
        success: Probability of completing the route: alive, and every action possible when its turn comes.
        gained: Where points were gained by then, before the route included.
        marks: Where it begins, and where it comes to a place or something is done there.
        earned: (number of steps taken, points expected) for each gain.
        needs_exact_replay: Whether it counts on random events that have the same results as in an earlier episode. Then
            nothing else may be done on it.
        ends: Whether the game ends with its last step, so that nothing can be done after it.
    """

    at: ImaginedSituation
    left: float
    value: float = 0.0
    success: float = 1.0
    actions: tuple[str, ...] = ()
    gained: frozenset[Key] = frozenset()
    marks: tuple[Mark, ...] = ()
    earned: tuple[tuple[int, float], ...] = ()
    needs_exact_replay: bool = False
    ends: bool = False

    @property
    def stops(self) -> list[tuple[Key, Tokens]]:
        """Where each step of it is taken, that step, and what is carried then."""
        stops, at = list[tuple[Key, Tokens]](), 0
        for number, action in enumerate(self.actions):
            while at + 1 < len(self.marks) and self.marks[at + 1][0] <= number:
                at += 1
            stops.append(((self.marks[at][1], action), self.marks[at][2]))
        return stops

    @property
    def goal(self) -> Key:
        """Where the last step of it is taken, and that step."""
        return self.stops[-1][0] if self.actions else ("", "")


@dataclass(frozen=True, slots=True)
class Detour:
    """Something worth trying, and what it takes.

    Attributes:
        rate: Points promised per step, danger taken off.
        worth: Points promised, danger taken off.
        cost: Steps, the way there and back included.
        start: Steps of the route that come before it.
        actions: The way there, and the first thing to try.
        goal: Where it leads, and that first thing.
        way: The way there.
        back: The way back to the route; empty where nobody has to come back.
    """

    rate: float
    worth: float
    cost: float
    start: int
    actions: tuple[str, ...]
    goal: Key
    way: Way
    back: Way = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and what it is worth.

    Attributes:
        value: Points expected, discoveries included.
        known: The part of it that repeats known gains.
        actions: What to do up to the first thing never done before, first action first.
        goal: What is to be done last of these, and where.
        route: The route that it goes, as it was when the plan was made; None if there is nothing worth doing.
        detour: The first of those made from it.
        tries: What its detours try, and where; the first one's first, then the most promising.
        spare: Points that the steps left over are counted with.
    """

    value: float = 0.0
    known: float = 0.0
    actions: tuple[str, ...] = ()
    goal: Key = ("", "")
    route: Route | None = None
    detour: Detour | None = None
    tries: tuple[Key, ...] = ()
    spare: float = 0.0


NOTHING = Plan()
"""The plan where nothing is worth doing."""


TERMS = ("gain", "discovery", "delay", "risk")
"""Their names, in the order in which `Terms.of` returns them."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Values candidates against a plan.

    Attributes:
        collected: The part of the plan's known value that is collected already.
        paths: Answers about where the episode stands.
        histories: All that was done from the beginning of episodes on; None if that is not known.
    """

    model: WorldModel
    numbers: PlanNumbers
    plan: Plan
    collected: float
    paths: Paths
    histories: Histories | None = None

    def of(self, action: str, now: Situation) -> tuple[float, float, float, float]:
        """Return (gain, discovery, delay, risk) of one candidate; their sum is Q."""
        plan, task = self.plan, self.paths.task
        # What the plan gained already is not to come any more; all else about it stands, and all candidates lose alike.
        to_come = plan.known - self.collected
        if plan.actions and action == plan.actions[0]:
            return to_come, plan.value - plan.known, 0.0, 0.0
        m, n, key, context = self.model, self.numbers, (now.place, action), now.context
        risk = m.death(key, context)
        liked = task.liking.get(now.place, {})
        own = m.novelty(key, task.curiosity, liked) / (1 + task.progress.tried[key]) + m.cost(key)
        if not plan.actions:
            # Nothing is worth a plan: what was done least in just this situation may show something yet.
            rare = (1.0 - m.effects.ending(key)) * task.curiosity / (1.0 + m.tried_so[(now, action)])
            risk = max(risk, m.hazard(now.place, context, action), m.darkening(now.have, action))
            new = max(own, rare) if own >= 0.0 else own
            if self.histories is not None and self.histories.repeats((action,), to_the_end=task.steps <= 1):
                new = min(new, 0.0)
                risk = max(risk, float(self.histories.is_closed(action)))
            return 0.0, (1.0 - risk) * new, 0.0, -risk * self.paths.price(task.steps)
        # Whatever else is done first, the plan has to wait for it, and for the way back.
        if key in m.gains and key not in self.paths.gained:
            own += m.gain(key)
        scale = abs(plan.value) + 1.0
        delay = max(n.least_regret * scale, plan.value * min(1.0, n.overhead / max(1, task.steps)) - own)
        # The plan never comes if the game ends, and what the end itself gains is all there is.
        delay = max(delay, m.effects.ending(key) * (n.dread * scale - own))
        # Dying forfeits the plan. What it costs is left to the planner: all of it would stretch the scale here that
        # advantages are normalised by, until all living choices looked alike, and the prior's taste chose among them.
        return to_come, plan.value - plan.known, -delay, -n.dread * scale * risk


def without_edits(plan: Plan, model: WorldModel, gained: Container[Key]) -> Plan:
    """Return a plan that was made without what persons say, with the points that they add to it or take from it.

    Args:
        gained: Where points were gained in this episode already.
    """
    if plan.route is None:
        return plan
    route = plan.route
    more = [(number, points * route.success) for number, points in _on_route(plan, model, gained)]
    known, beside = sum(points for _, points in more), sum(_beside_route(plan, model, gained))
    route = dataclasses.replace(route, value=route.value + known, earned=tuple(sorted((*route.earned, *more))))
    return dataclasses.replace(plan, value=plan.value + known + beside, known=plan.known + known, route=route)


def hold_back(plan: Plan, level: float, model: WorldModel, gained: Container[Key]) -> Plan:
    """Return a plan that is worth more than the one without edits by no more than persons say that it gains.

    Args:
        level: What the plan without edits is worth.
        gained: As for `without_edits`.
    """
    said = [*(points for _, points in _on_route(plan, model, gained)), *_beside_route(plan, model, gained)]
    most = level + sum(points for points in said if points > 0.0)
    return dataclasses.replace(plan, value=min(plan.value, most), known=min(plan.known, most))


def _on_route(plan: Plan, model: WorldModel, gained: Container[Key]) -> list[tuple[int, float]]:
    """Return how many points more persons say that a plan's route gains, each with the number of steps taken then."""
    first = dict[Key, int]()
    for number, (key, _) in enumerate(plan.route.stops if plan.route is not None else (), 1):
        if key in model.edits and key not in gained:
            first.setdefault(key, number)
    return [(number, _more(key, model)) for key, number in first.items()]


def _beside_route(plan: Plan, model: WorldModel, gained: Container[Key]) -> list[float]:
    """Return how many points more persons say that a plan gains by what it does beside its route."""
    tried = dict.fromkeys(plan.tries)
    if (detour := plan.detour) is not None:
        tried |= dict.fromkeys((*detour.way, *detour.back))
        tried |= dict.fromkeys((detour.goal[0], action) for action in detour.actions[len(detour.way) :])
    on_route = {key for key, _ in plan.route.stops} if plan.route is not None else set()
    return [_more(key, model) for key in tried if key in model.edits and key not in gained and key not in on_route]


def _more(key: Key, model: WorldModel) -> float:
    return model.gain(key) - model.effects.gain(key)

"""Plans with what persons say of the points on their way (`engine.values.edits`).

What persons say moves the value of a plan by what they say, and in no other way. So a plan is first made as if they had
said nothing. It is kept, with their points added to it, unless a plan that was made for these points is clearly better.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Container

from engine.values.model import WorldModel
from engine.values.plans import Plan
from engine.values.text import Key


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


def held(plan: Plan, level: float, model: WorldModel, gained: Container[Key]) -> Plan:
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

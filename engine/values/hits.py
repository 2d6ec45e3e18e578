"""What a plan rests on: the remembered steps that it repeats, in the order in which it repeats them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from engine.records import Neighbour, PlanAccount
from engine.values.conditions import Tokens
from engine.values.detours import Detour
from engine.values.experience import Key
from engine.values.legs import Route
from engine.values.planner import Plan
from engine.values.situations import Situation
from engine.values.sources import Expected, Lived, Sources, alike

_NEAR = 16
"""Steps of a plan that are looked up one by one; of those after them only the ones that gain something."""
_MOST = 32
"""Remembered steps shown of a plan."""


class _PlanStep(NamedTuple):
    key: Key
    at: Expected
    gains: bool
    points: float


class Basis:
    """The remembered steps that the plan in force repeats."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._length = 0
        self._steps: list[_PlanStep] = []
        self._paying: list[int] = []
        self._found: dict[int, tuple[Lived, float] | None] = {}

    def rest_on(
        self,
        plan: Plan,
        way: Iterable[Situation],
        world: Mapping[str, Tokens],
        gains: Container[Key],
        gained: Container[Key],
    ) -> None:
        """Look at a new plan.

        Args:
            way: The situations that a plan without a route leads through.
            world: What was last seen at the places visited in this episode.
            gains: Where points were ever gained.
            gained: Where they were gained in this episode.
        """
        taken: Iterable[tuple[Key, Expected]]
        if plan.way is None:
            known = zip(way, plan.actions, strict=False)
            taken = (((now.place, action), Expected(now.have, now.see)) for now, action in known)
        else:
            taken = _expected(_along(plan.way, plan.detour), world)
        earned = _earned(plan.way) if plan.way is not None else {}
        self._steps = [
            _PlanStep(key, at, key in gains and key not in gained, earned.pop(key, 0.0)) for key, at in taken
        ]
        self._paying = [number for number, step in enumerate(self._steps) if step.gains or step.points]
        self._length = len(plan.actions)
        self._found.clear()

    def hits(self, left: int, now: Situation, told: int, others: Iterable[str]) -> tuple[Neighbour, ...]:
        """Return the remembered steps: the plan's in its order, then one of each of the other actions.

        Args:
            left: Actions of the plan that are still to be taken up to its goal.
            told: What `digest` says of the present state.
            others: What else was done at this place before.
        """
        here = Expected(now.have, now.see, told)
        begin = self._length - left
        found: list[Neighbour] = []
        near = range(begin, min(begin + _NEAR, len(self._steps)))
        for number in (*near, *(n for n in self._paying if n >= near.stop)):
            if number == begin:
                step = self._steps[number]
                lived = self._sources.best(step.key, here, gains=step.gains)
                fit = (lived, alike(lived, here)) if lived is not None else None
            else:
                fit = self._fit(number)
            if fit is not None:
                found.append(_shown(*fit, number - begin, self._steps[number].points))
                if len(found) == _MOST:
                    break
        for action in others:
            lived = self._sources.best((now.place, action), here)
            if lived is not None:
                found.append(_shown(lived, alike(lived, here), 0))
        return tuple(found)

    def account(
        self, plan: Plan, place: str, left: float | None, now: Iterable[int]
    ) -> PlanAccount:
        """Return what the value of the plan in force rests on besides the hits.

        Args:
            place: Where the episode stands.
            left: Points that are left to gain, None if nobody knows.
            now: How often each candidate was tried in this episode.
        """
        tries = tuple(_tried(where, action, place) for where, action in dict.fromkeys(plan.tries))
        return PlanAccount(
            len(plan.actions), tries, plan.spare, left, tuple(now), self._sources.remembered
        )

    def _fit(self, number: int) -> tuple[Lived, float] | None:
        """Return the remembered step that a step of the plan repeats, and how similar it is."""
        if number not in self._found:
            key, at, gains, _ = self._steps[number]
            lived = self._sources.best(key, at, gains=gains)
            self._found[number] = (lived, alike(lived, at)) if lived is not None else None
        return self._found[number]


def _expected(
    steps: Iterable[tuple[Key, Tokens]], world: Mapping[str, Tokens]
) -> Iterator[tuple[Key, Expected]]:
    """Yield the steps with what is expected then: places look as they did last, until the plan does something there."""
    changed = set[str]()
    before = ""
    for key, have in steps:
        place = key[0]
        if place == before:
            changed.add(place)
        yield key, Expected(have, None if place in changed else world.get(place))
        before = place


def _along(route: Route, detour: Detour | None) -> list[tuple[Key, Tokens]]:
    """Return where each step of a route with a detour is taken, that and the way back included, and what is carried.

    What was never done yet is among them: nothing is remembered of that. What a detour tries may be just what the
    route does, too, tried for another reason or earlier; the plan does it once.
    """
    steps = _stops(route)
    if detour is None:
        return steps
    have = steps[detour.start][1] if detour.start < len(steps) else route.at.have
    tries = [(detour.goal[0], action) for action in detour.actions[len(detour.way.moves) :]]
    back = detour.back.moves if detour.back is not None else ()
    rest = [*((key, have) for key in back), *steps[detour.start :]]
    for key in tries:
        again = next((n for n, (other, _) in enumerate(rest) if other == key), None)
        if again is not None:
            then = rest[again + 1][0][0] if again + 1 < len(rest) else route.at.place
            if not again or then == key[0]:  # a way may well be walked once more later
                del rest[again]
    return [*steps[: detour.start], *((key, have) for key in (*detour.way.moves, *tries)), *rest]


def _stops(route: Route) -> list[tuple[Key, Tokens]]:
    """Return where each step of a route is taken, and what is carried then."""
    steps, marks, at = list[tuple[Key, Tokens]](), route.marks, 0
    for number, action in enumerate(route.actions):
        while at + 1 < len(marks) and marks[at + 1][0] <= number:
            at += 1
        steps.append(((marks[at][1], action), marks[at][2]))
    return steps


def _tried(where: str, action: str, place: str) -> str:
    """Return what a detour tries, for people."""
    name = where.removeprefix("place:")
    if not action:
        return f"go to {name}"
    return action if where in ("", place) else f"{action} (in {name})"


def _earned(route: Route) -> dict[Key, float]:
    """Return the points that a route expects, by where they are gained."""
    stops = _stops(route)
    earned: dict[Key, float] = {}
    for steps, points in route.earned:
        key = stops[steps - 1][0]
        earned[key] = earned.get(key, 0.0) + points
    return earned


def _shown(lived: Lived, similarity: float, ahead: int, expected: float = 0.0) -> Neighbour:
    if (similarity, ahead, expected) == (1.0, 0, 0.0):
        return lived.hit
    return replace(lived.hit, similarity=similarity, ahead=ahead, expected=expected)

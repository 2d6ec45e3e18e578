"""What routes are made of: imagined situations, known gains, and the ways to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.values.conditions import Tokens
from engine.values.experience import Key


class Imagined(NamedTuple):
    """A situation the planner thinks itself into."""

    place: str
    have: Tokens
    world: Mapping[str, Tokens]


@dataclass(frozen=True, slots=True)
class Route:
    """Steps to known gains.

    Attributes:
        at: Where it ends.
        left: Steps left there.
        value: Points expected.
        alive: Probability of coming to the end as expected.
        gained: Where points were gained by then, before the route included.
        marks: (number of steps taken, place, what is carried) along it.
        earned: (number of steps taken, points expected) for each gain.
        faithful: Whether it counts on luck that falls as before, so that nothing else may be done on it.
    """

    at: Imagined
    left: float
    value: float = 0.0
    alive: float = 1.0
    actions: tuple[str, ...] = ()
    gained: frozenset[Key] = frozenset()
    marks: tuple[tuple[int, str, Tokens], ...] = ()
    earned: tuple[tuple[int, float], ...] = ()
    faithful: bool = False

    @property
    def goal(self) -> Key:
        """Where the last step of it is taken, and that step."""
        before = [place for steps, place, _ in self.marks if steps < len(self.actions)]
        return (before[-1], self.actions[-1]) if self.actions and before else ("", "")


class Reached(NamedTuple):
    """The cheapest known way to a place.

    Attributes:
        cost: Steps to it; danger and doubt cost steps, too.
        before: The place before it, None at the beginning.
        actions: What is done there to come here.
        alive: Probability of coming here alive.
        at: The situation then.
        sure: Probability that all of it is possible.
    """

    cost: float
    before: str | None
    actions: tuple[str, ...]
    alive: float
    at: Imagined
    sure: float = 1.0


class Enabled(NamedTuple):
    """How an action becomes possible at a place.

    Attributes:
        actions: What makes it possible.
        at: The situation after that.
        sure: Probability that all of these, and the action itself, are possible.
    """

    actions: tuple[str, ...]
    at: Imagined
    sure: float


def longer(
    route: Route,
    reached: Mapping[str, Reached],
    place: str,
    doing: tuple[str, ...],
    at: Imagined,
    cost: float,
    alive: float,
    value: float,
) -> Route:
    """Return a route with the way to a place, and what is done there, at its end.

    Args:
        at: Where that leads.
        cost: Steps for all of it.
        alive: Probability of coming through the whole route alive.
        value: Points that it adds.
    """
    moves, marks = _way(reached, place)
    taken = len(route.actions)
    actions = (*route.actions, *moves, *doing)
    passed = tuple((taken + n, where, reached[where].at.have) for n, where in marks)
    return Route(
        at,
        route.left - cost,
        route.value + value,
        alive,
        actions,
        route.gained,
        (*route.marks, *passed, (len(actions), at.place, at.have)),
        route.earned,
    )


def _way(reached: Mapping[str, Reached], place: str) -> tuple[tuple[str, ...], list[tuple[int, str]]]:
    """Return the actions that lead to a place, and after how many of them which place is reached."""
    legs: list[tuple[tuple[str, ...], str]] = []
    at: str | None = place
    while at is not None and reached[at].before is not None:
        legs.append((reached[at].actions, at))
        at = reached[at].before
    actions: list[str] = []
    marks: list[tuple[int, str]] = []
    for taken, name in reversed(legs):
        actions.extend(taken)
        marks.append((len(actions), name))
    return tuple(actions), marks

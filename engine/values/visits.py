"""Bounds on what a detour to a place can be worth, so that only few have to be worked out."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.values.conditions import Tokens
from engine.values.promises import Draw
from engine.values.ways import Way


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
        back: The way back to the route, None where nobody has to come back.
    """

    rate: float
    worth: float
    cost: float
    start: int
    actions: tuple[str, ...]
    goal: tuple[str, str]
    way: Way
    back: Way | None = None


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point on a route that detours can start from.

    Attributes:
        stake: The gains that are still to come there.
        later: Words that name what is still to be done things to there.
    """

    steps: int
    place: str
    have: Tokens
    stake: float
    later: Tokens


class Start(NamedTuple):
    """How a place can be visited from a point on a route.

    Attributes:
        bound: The highest rate that this can have.
        travel: Steps there, and back if there has to be a way back.
        arrives: Probability of coming there.
        alive: Probability of coming there and back alive, as far as the ways are concerned.
    """

    bound: float
    travel: int
    anchor: Anchor
    way: Way
    back: Way | None
    arrives: float
    alive: float


@dataclass(slots=True)
class Visit:
    """A place that may be worth a detour from a route, and the best one found so far.

    Attributes:
        brings: The most that coming there with what is in hand promises.
        share: What share of the highest rate that it can have it is expected to have.
        starts: Points on the route that it can be visited from, those with the highest bound first.
        safe: What was at stake at the nearest point with this in hand, if the way is safe, by that and `fetching`.
        settled: What is in hand and seen, and whether `fetching` and coming back, where nothing is at stake at all:
            from farther away the same is worth less.
    """

    draw: Draw
    brings: float = 0.0
    share: float = 1.0
    starts: list[Start] = field(default_factory=list)
    safe: dict[tuple[Tokens, bool], float] = field(default_factory=dict)
    settled: set[tuple[Tokens, Tokens, bool, bool]] = field(default_factory=set)
    best: Detour | None = None

    def bound(self, travel: int) -> float:
        """Return the highest rate that a visit so far off can have."""
        return self.draw.bound(travel) + self.brings / max(1, travel)

    @property
    def worth(self) -> float:
        """The most that it can be worth, danger apart."""
        return self.draw.bonus + self.draw.most + self.brings

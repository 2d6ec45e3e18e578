"""What a plan consists of: a route to known gains, and detours from it to what was never tried."""

from __future__ import annotations

from dataclasses import dataclass

from engine.values.paths import Way
from engine.values.task import Imagined
from engine.values.text import Key, Tokens


@dataclass(frozen=True, slots=True)
class Route:
    """Steps to known gains, or to where discoveries are expected.

    Attributes:
        at: Where it ends.
        left: Steps left there.
        value: Points expected.
        success: Probability of completing the route: alive, and every action possible when its turn comes.
        gained: Where points were gained by then, before the route included.
        marks: (number of steps taken, place, what is carried) along it.
        earned: (number of steps taken, points expected) for each gain.
    """

    at: Imagined
    left: float
    value: float = 0.0
    success: float = 1.0
    actions: tuple[str, ...] = ()
    gained: frozenset[Key] = frozenset()
    marks: tuple[tuple[int, str, Tokens], ...] = ()
    earned: tuple[tuple[int, float], ...] = ()

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
        back: The way back to the route, None where nobody has to come back.
    """

    rate: float
    worth: float
    cost: float
    start: int
    actions: tuple[str, ...]
    goal: Key
    way: Way
    back: Way | None = None


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

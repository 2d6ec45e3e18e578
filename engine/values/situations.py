"""States taken apart: a place, what is carried and what is seen there; and what actions did in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from engine.records import State
from engine.values.conditions import Tokens


class Situation(NamedTuple):
    """A state taken apart.

    Attributes:
        have: What is carried.
        see: What is at the place.
    """

    place: str
    have: Tokens
    see: Tokens


def situation(state: State) -> Situation:
    """Take a state apart by the classes of its tokens; digests (`load:`) only repeat the others."""
    have, see, place = [], [], state.place.lower()
    for token in state.tokens:
        if token.startswith("have:"):
            have.append(token)
        elif token.startswith("place:"):
            # A room that has a number is the same by day and in the dark, whatever it is called then.
            _, known, room = token.partition("#")
            place = f"room {room}" if known else token
            see += [token] if known else []
        elif not token.startswith("load:"):
            see.append(token)
    return Situation(place, frozenset(have), frozenset(see))


@dataclass(frozen=True, slots=True)
class Occasion:
    """One time an action was taken: in what context, and what it did there.

    Attributes:
        number: The context's number, for comparing it with others.
        did_something: Whether anything changed that tokens show.
    """

    context: Tokens
    number: int
    place: str
    gained: Tokens
    lost: Tokens
    appeared: Tokens
    vanished: Tokens
    moved: bool
    died: bool
    terminated: bool
    did_something: bool
    reward: float = 0.0
    fresh: bool = True

    def did_as(self, other: Occasion) -> bool:
        """Return whether both times the same came of it."""
        return (
            self.place == other.place
            and self.gained == other.gained
            and self.lost == other.lost
            and self.appeared == other.appeared
            and self.vanished == other.vanished
            and self.terminated == other.terminated
            and self.died == other.died
        )


class Outcome(NamedTuple):
    """What an action is expected to do in a context.

    Attributes:
        occasion: The latest similar occasion on which it did something.
        success: Probability that it does that, rather than nothing.
        death: Probability of dying of it.
    """

    occasion: Occasion
    success: float
    death: float

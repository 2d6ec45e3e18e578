"""Where an episode stands, and what a plan is made for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.values.text import Key, Situation, Tokens

Liking = Mapping[str, Mapping[str, float]]
"""By place and action, a factor on what it promises, from a model's opinion; 1 if absent."""


class Imagined(NamedTuple):
    """A situation in a plan: place, what is carried, and what all places visited look like."""

    place: str
    have: Tokens
    world: Mapping[str, Tokens]


@dataclass(slots=True)
class Progress:
    """What this episode has done so far.

    Attributes:
        world: What was last seen at each place visited.
        gained: Where points were gained already.
        tried: How often each action was taken at each place.
        failed: Goals that turned out to be impossible.
        idle: How often each action did nothing.
        barred: Moves that memory has and that were not possible when last there.
        checked: How often they were found to be so.
        planned: How often a plan for this goal was made in this situation.
    """

    world: dict[str, Tokens] = field(default_factory=dict)
    gained: set[Key] = field(default_factory=set)
    tried: Counter[Key] = field(default_factory=Counter)
    failed: set[Key] = field(default_factory=set)
    idle: Counter[Key] = field(default_factory=Counter)
    barred: set[Key] = field(default_factory=set)
    checked: Counter[Key] = field(default_factory=Counter)
    planned: Counter[tuple[Situation, Key]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Task:
    """What a plan is made for.

    Attributes:
        now: Where the episode stands.
        steps: Steps left.
        valid: What can be done here and now; empty if that is not known.
        curiosity: Factor on what discoveries are worth at present; 0 only repeats known gains.
        to_gain: Points until the maximum score, None if there is none.
    """

    now: Imagined
    steps: int
    progress: Progress
    valid: frozenset[str] = frozenset()
    curiosity: float = 1.0
    liking: Liking = field(default_factory=dict)
    to_gain: float | None = None

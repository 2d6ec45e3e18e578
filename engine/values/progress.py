"""What a plan is made with: how far and wide it is searched, and what the episode has done so far."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from engine.values.conditions import Tokens
from engine.values.experience import Key
from engine.values.situations import Situation


@dataclass(slots=True)
class PlannerSettings:
    """How far and how wide plans are searched.

    Attributes:
        curiosity: Factor on what discoveries are worth at present; 0 only repeats known gains.
        death_cost: Points that dying costs beyond what the rest of the plan is worth.
        again: Share of novelty that an action keeps which was tried here in another situation.
        overhead: Steps added to the length of a leg when legs are compared by points per step.
        beam: Routes kept after each further gain.
        width: Gains considered from each.
        depth: Gains added to a route at most.
        several: Untried actions considered at one place.
    """

    curiosity: float = 1.0
    death_cost: float = 2.0
    again: float = 0.3
    overhead: float = 2.0
    beam: int = 3
    width: int = 4
    depth: int = 8
    several: int = 5


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

"""What memory is asked for, and what it has to know of the kind of environment it belongs to."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.records import Neighbour, State


@dataclass(frozen=True, slots=True)
class Correction:
    """What a person changed about one remembered step. The step itself stays as it was stored.

    Attributes:
        g: Its return G in place of the computed one, for any discount; None for the computed one.
        gain: The points it gave, for plans, in place of the environment's; None for the environment's.
        pinned: Whether it is a neighbour of every state that it is similar enough to (r), besides the k most similar.
    """

    g: float | None = None
    gain: float | None = None
    pinned: bool = False


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """Which part of a memory is seen, and with which changes. Nothing is stored.

    Attributes:
        before: Entries from this number on are not seen; None sees all.
        until: Unix time after which corrections were not yet made, seconds.
        without: Entry numbers of steps that are not seen.
        corrections: By entry number: a correction in place of the stored one.
        partly: Whether episodes from `before` on that lack a step are seen all the same where episodes are told. The
            session that they are of does not tell them to its estimator again, which reads what is left of them here.
    """

    before: int | None = None
    until: float = math.inf
    without: frozenset[int] = frozenset()
    corrections: Mapping[int, Correction] = field(default_factory=dict)
    partly: bool = False

    def hides(self, entry: int) -> bool:
        """Whether the step with this entry number is not seen."""
        return entry in self.without or (self.before is not None and entry >= self.before)


EVERYTHING = MemoryFilter()
"""The filter that shows a memory as it is."""


@dataclass(frozen=True, slots=True)
class NeighbourSearch:
    """Which remembered steps are the neighbours N(s) of a state.

    Attributes:
        k: Neighbours at most.
        r: Least similarity.
        gamma: Discount factor of their returns.
        history_weight: w, the share of the histories' similarity in the whole.
        state_floor: Similarity that the states alone must exceed; 0 asks for none (the first stage of a retrieval in
            two, App. E).
        keep_above: Steps of this similarity or more are all returned, even beyond k; 0 for none.
        ties: "newest", or "return": the higher return comes first among equals, then the newest.
        zero_rewards: "zero", or "own": in a step's return, a later reward of 0 counts as the step's own.
        memory_filter: What is seen of the memory.
    """

    k: int
    r: float
    gamma: float
    history_weight: float = 0.0
    state_floor: float = 0.0
    keep_above: float = 0.0
    ties: str = "newest"
    zero_rewards: str = "zero"
    memory_filter: MemoryFilter = EVERYTHING


class Retriever(Protocol):
    """Something that finds neighbours: a memory scope, or another view of one."""

    def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Return N(s), best first, the newest first among equals."""
        ...


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """What memory has to know of the kind of environment that a scope belongs to.

    Attributes:
        forms: Whether texts may come from forms: then the values of password-like fields are taken out, too.
        lifted: Makes a retriever that tells what was played with other tasks in terms of the task asked for; None
            where an environment has but one task.
    """

    forms: bool = True
    lifted: Callable[[Retriever], Retriever] | None = None

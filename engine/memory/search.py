"""What memory is asked for, and what it has to know of the kind of environment it belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engine.records import Neighbour, State


@dataclass(frozen=True, slots=True)
class Search:
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
    """

    k: int
    r: float
    gamma: float
    history_weight: float = 0.0
    state_floor: float = 0.0
    keep_above: float = 0.0
    ties: str = "newest"
    zero_rewards: str = "zero"


class Retriever(Protocol):
    """Something that finds neighbours: a memory scope, or another view of one."""

    def retrieve(self, state: State, search: Search) -> tuple[Neighbour, ...]:
        """Return N(s), best first, the newest first among equals."""
        ...


@dataclass(frozen=True, slots=True)
class ScopeRules:
    """What memory has to know of the kind of environment that a scope belongs to.

    Attributes:
        forms: Whether texts may come from forms: then the values of password-like fields are taken out, too.
        lifted: Makes a retriever that tells what was lived with other tasks in terms of the task asked for; None
            where an environment has but one task.
    """

    forms: bool = True
    lifted: Callable[[Retriever], Retriever] | None = None

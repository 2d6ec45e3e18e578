"""What an estimator of V and Q is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from engine.records import Candidate, Neighbour, State, Step, Valuation


@dataclass(frozen=True, slots=True)
class Query:
    """All an estimator may look at for one choice.

    Attributes:
        neighbours: N(s), as the same estimator retrieved it.
        candidates: C with prior logits.
        valid_actions: Everything possible now; () if unknown.
        steps_left: Steps until the limit, this one included.
        to_gain: Points between the present score and the maximum, None if there is no known maximum.
    """

    state: State
    neighbours: tuple[Neighbour, ...]
    candidates: tuple[Candidate, ...]
    valid_actions: tuple[str, ...]
    steps_left: int
    to_gain: float | None = None


class Estimator(Protocol):
    """Where V and Q come from; the closed-form update is the same for all."""

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Return N(s), most similar first."""
        ...

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return actions to consider beside the model's candidates and the neighbours' actions."""
        ...

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V(s) and Q(s, a) for the candidates."""
        ...

    def begin_episode(self, state: State) -> None:
        """An episode begins in `state`."""
        ...

    def observe(self, step: Step, then: State, *, ended: bool, died: bool) -> None:
        """A step of the running episode was taken and led to `then`."""
        ...

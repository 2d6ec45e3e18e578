"""The paper's estimator: means of Monte-Carlo returns over the nearest remembered steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from engine import jitrl
from engine.records import Neighbour, State, Step, Valuation
from engine.settings import Settings
from engine.values.base import Query


class Retriever(Protocol):
    """The read side of a memory scope."""

    def neighbours(
        self,
        state: State,
        *,
        k: int,
        r: float,
        gamma: float,
        history_weight: float = 0.0,
        state_floor: float = 0.0,
    ) -> tuple[Neighbour, ...]:
        """Return at most k remembered steps with similarity r or more, best first, newest first among equals.

        With `state_floor` above 0, only steps whose states alone are more similar than that.
        """
        ...


class KnnEstimator:
    """N(s) by Jaccard similarity, then Eqs. 4 to 6."""

    def __init__(self, memory: Retriever, settings: Settings) -> None:
        self._memory = memory
        self._settings = settings

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Return N(s): the k most similar remembered steps of at least similarity r (step 1)."""
        s = self._settings
        return self._memory.neighbours(
            state,
            k=s.k,
            r=s.r,
            gamma=s.gamma,
            history_weight=s.history_weight,
            state_floor=s.task_threshold,
        )

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Nothing: the paper's set is the model's candidates and the neighbours' actions."""
        return ()

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V and Q as in steps 2 and 4."""
        values = jitrl.estimate_values(
            [candidate.action for candidate in query.candidates],
            [neighbour.action for neighbour in query.neighbours],
            [neighbour.g for neighbour in query.neighbours],
            rng.random(len(query.candidates)),
            lam=self._settings.lam,
            alpha=self._settings.alpha,
        )
        return Valuation(values.v, tuple(map(float, values.q)), tuple(map(int, values.n)), values.how)

    def begin_episode(self, state: State) -> None:
        """Nothing: only finished episodes count."""

    def observe(self, step: Step, then: State, *, ended: bool, died: bool) -> None:
        """Nothing: only finished episodes count."""

"""The paper's estimator: means of Monte-Carlo returns over the nearest remembered steps."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from engine import jitrl
from engine.records import Episode, Neighbour, State, Step, Valuation
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
        keep_above: float = 0.0,
        ties: str = "newest",
        zero_rewards: str = "zero",
    ) -> tuple[Neighbour, ...]:
        """Return at most k remembered steps with similarity r or more, best first, newest first among equals.

        With `state_floor` above 0, only steps whose states alone are more similar than that.

        Args:
            keep_above: Steps of this similarity or more are all returned, even beyond k; 0 for none.
            ties: "newest", or "return": the higher return comes first among equals, then the newest.
            zero_rewards: "zero", or "own": in a step's return, a later reward of 0 counts as the step's own.
        """
        ...


def retriever(memory: Retriever, settings: Settings) -> Retriever:
    """Return what finds neighbours in a memory scope the way that `settings.retrieval` names.

    Raises:
        MissingError: The package of `settings.embedder` is not installed.
    """
    if settings.retrieval == "jaccard":
        return memory
    from engine.memory.embedding import open_embedder
    from engine.memory.scope import Scope
    from engine.memory.semantic import SemanticMemory

    if not isinstance(memory, Scope):
        raise TypeError(f"embeddings are kept of a memory scope, not of {type(memory).__name__}")
    return SemanticMemory(
        memory,
        settings.retrieval,
        open_embedder(settings.embedder),
        settings.recall_pool,
        settings.recall_times,
    )


class KnnEstimator:
    """N(s) as the memory finds it, then Eqs. 4 to 6.

    Args:
        memory: A scope, or what `retriever` returns for one.
    """

    def __init__(self, memory: Retriever, settings: Settings) -> None:
        self._memory = memory
        self._settings = settings
        self._steps = 0

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Return N(s): the k most similar remembered steps of at least similarity r (step 1).

        With the setting `relax`, r falls with the steps of the running episode.
        """
        s = self._settings
        relaxed = s.r - s.relax * min(self._steps, s.relax_steps) / s.relax_steps
        return self._memory.neighbours(
            state,
            k=s.k,
            r=max(0.0, relaxed),
            gamma=s.gamma,
            history_weight=s.history_weight,
            state_floor=s.task_threshold,
            keep_above=s.keep_above,
            ties=s.ties,
            zero_rewards=s.zero_rewards,
        )

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Nothing: the paper's set is the model's candidates and the neighbours' actions."""
        return ()

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V and Q as in steps 2 and 4."""
        s = self._settings
        actions = [neighbour.action for neighbour in query.neighbours]
        returns = [neighbour.g for neighbour in query.neighbours]
        values = jitrl.estimate_values(
            [candidate.action for candidate in query.candidates],
            actions,
            returns,
            rng.random(len(query.candidates)),
            lam=jitrl.adaptive_optimism(actions, returns, s.lam) if s.optimism == "adaptive" else s.lam,
            alpha=s.alpha,
            baseline=s.baseline,
        )
        return Valuation(values.v, tuple(map(float, values.q)), tuple(map(int, values.n)), values.how)

    def begin_episode(self, state: State) -> None:
        """Count the episode's steps anew; only finished episodes are learnt from."""
        self._steps = 0

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """Count the step; only finished episodes are learnt from."""
        self._steps += 1

    def remembered(self, episode: Episode, first: int) -> None:
        """Nothing: memory is asked anew at every step."""

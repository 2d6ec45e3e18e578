"""The paper's estimator: means of Monte-Carlo returns over the nearest remembered steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engine import jitrl
from engine.memory.search import NeighbourSearch, Retriever
from engine.memory.view import ScopeView
from engine.records import Neighbour, State, Step, Valuation
from engine.settings import Settings
from engine.values.base import Estimator, Query

if TYPE_CHECKING:
    from engine.memory.scope import Scope


def retriever(memory: Scope | ScopeView, settings: Settings) -> Retriever:
    """Return what finds neighbours in a memory scope, or a view of one, the way that `retrieval` and `other_tasks` say.

    Raises:
        MissingError: The package of the embedder is not installed.
    """
    found: Retriever = memory
    if settings.retrieval != "jaccard":
        from engine.memory.embeddings.embedding import open_embedder
        from engine.memory.embeddings.semantic import SemanticMemory

        found = SemanticMemory(
            memory.scope if isinstance(memory, ScopeView) else memory,
            settings.retrieval,
            open_embedder(),
            settings.recall_pool,
            settings.recall_times,
        )
        if isinstance(memory, ScopeView):
            found = memory.through(found)
    if settings.other_tasks == "lifted" and memory.lifted is not None:
        return memory.lifted(found)
    return found


def least_similarity(settings: Settings, steps: int) -> float:
    """Return the similarity that a neighbour needs after so many steps of an episode: r, less what `relax` says."""
    taken_off = settings.relax * min(steps, settings.relax_steps) / settings.relax_steps
    return max(0.0, settings.r - taken_off)


class KnnEstimator(Estimator):
    """N(s) as the memory finds it, then Eqs. 4 to 6.

    Args:
        memory: A scope, or what `retriever` returns for one.
    """

    def __init__(self, memory: Retriever, settings: Settings) -> None:
        self._memory = memory
        self._settings = settings
        self._steps = 0

    def change(self, settings: Settings) -> None:
        """Use other values of k, r, lambda and alpha from now on."""
        self._settings = settings

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Return N(s): the k most similar remembered steps of at least similarity r (step 1).

        With the setting `relax`, r falls with the steps of the running episode.
        """
        s = self._settings
        search = NeighbourSearch(
            k=s.k,
            r=least_similarity(s, self._steps),
            gamma=s.gamma,
            history_weight=s.history_weight,
            state_floor=s.task_threshold,
            keep_above=s.keep_above,
            ties=s.ties,
            zero_rewards=s.zero_rewards,
        )
        return self._memory.retrieve(state, search)

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

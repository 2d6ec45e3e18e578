"""JitRL's agent with what a recording has in place of a model: used by `engine.session.recorded`."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.errors import UsageError
from engine.memory.search import MemoryFilter
from engine.records import (
    ActionRequest,
    Decision,
    Neighbour,
    Proposal,
    State,
    Update,
    Valuation,
)
from engine.session.replay import ReplayedDecision
from engine.settings import Settings
from engine.values.base import Estimator, Query, failure
from engine.values.knn import KnnEstimator

_Answer = TypeVar("_Answer")


class RecordedAgent(JitrlAgent):
    """JitRL's agent with the model's recorded proposals."""

    def __init__(self, estimator: Estimator, settings: Settings) -> None:
        super().__init__(_Silent(), estimator, settings)
        self._recorded: Decision | None = None

    @property
    def estimator(self) -> Estimator:
        """What it has of values."""
        return self._estimator

    def again(self, asked: ReplayedDecision) -> Decision:
        """Return the decision that is made now where another was recorded."""
        self._recorded = recorded = asked.recorded
        if isinstance(self._estimator, RecordedEstimator):
            self._estimator.recorded = recorded
        made = self.decide(asked.turn, asked.rng)
        near = made.update is not None and bool(made.update.neighbours)
        tally = dataclasses.replace(recorded.tally, found=recorded.tally.searched * near)
        return dataclasses.replace(made, note=recorded.note, tally=tally, calls=recorded.calls)

    def _asked(self, ask: Callable[[], _Answer], instead: _Answer) -> _Answer:
        """Return what the estimator answers.

        Raises:
            EstimatorError: It failed. Nobody plays on here, so a decision without it is of no use.
        """
        try:
            return ask()
        except Exception as error:
            raise failure(error) from error

    def propose(self, turn: Turn, rng: np.random.Generator, memory_text: str = "") -> Proposal:
        """Return what the model proposed then."""
        assert self._recorded is not None
        mine = tuple(
            dataclasses.replace(c, source="llm")
            for c in self._recorded.candidates
            if c.source in ("llm", "both")
        )
        return Proposal(mine, best=_best(self._recorded))

    def drawn(self, turn: Turn, proposal: Proposal, rng: np.random.Generator, also: str) -> Proposal:
        """Return what was drawn then in place of a proposal; without that, draw."""
        assert self._recorded is not None
        then = tuple(c for c in self._recorded.candidates if c.source == "random")
        if then:
            return dataclasses.replace(proposal, candidates=then)
        return super().drawn(turn, proposal, rng, also)


class _Silent:
    """A prior that is never asked."""

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        raise AssertionError("no model is asked")


class RecordedEstimator(Estimator):
    """An estimator that takes the neighbours from the recording, and V and Q where they stay the same.

    Args:
        settings: Those of the run as it would be.
        memory_filter: The memory as it would be.
        anew: Whether V and Q are computed anew from the recorded neighbours.
    """

    def __init__(self, settings: Settings, memory_filter: MemoryFilter, anew: bool) -> None:
        self._knn = KnnEstimator(_Nothing(), settings)
        self._settings = settings
        self._memory_filter = memory_filter
        self._anew = anew
        self.recorded: Decision | None = None

    def change(self, settings: Settings) -> None:
        """Use other settings from now on."""
        self._settings = settings
        self._knn.change(settings)

    @property
    def _update(self) -> Update:
        assert self.recorded is not None
        update = self.recorded.update
        if update is None:
            raise UsageError("a decision of this recording has no update of the logits")
        return update

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Return the recorded neighbours that are left with these settings and this memory."""
        near = () if self._update.valuation.terms else self._update.neighbours
        if not self._anew:
            return near
        assert self.recorded is not None
        s, corrections = self._settings, self._memory_filter.corrections
        least = s.r - s.relax * min(self.recorded.step, s.relax_steps) / s.relax_steps
        kept = [n for n in near if n.entry not in self._memory_filter.without and n.similarity >= least]
        kept = kept if s.keep_above else kept[: s.k]
        return tuple(
            dataclasses.replace(n, g=one.g) if (one := corrections.get(n.entry)) and one.g is not None else n
            for n in kept
        )

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return the actions that the estimator added then."""
        assert self.recorded is not None
        # With plans, a valid action that remembered steps took has the source "memory".
        added = ("valid", "memory") if self._update.valuation.terms else ("valid",)
        return tuple(c.action for c in self.recorded.candidates if c.source in added)

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V and Q: the recorded ones, or those of the recorded neighbours."""
        if self._anew:
            return self._knn.value(query, rng)
        update, recorded = self._update, self.recorded
        assert recorded is not None
        if [c.action for c in query.candidates] != [c.action for c in recorded.candidates]:
            raise UsageError("a recorded decision has candidates that cannot be made again")
        return dataclasses.replace(update.valuation, hits=update.neighbours if update.valuation.terms else ())


class _Nothing:
    """A retriever without steps."""

    def retrieve(self, state: State, search: Any) -> tuple[Neighbour, ...]:
        return ()


def _best(recorded: Decision) -> str:
    """Return the candidate that the model called the best; recordings of before have it only as the choice."""
    update = recorded.update
    if update is None or update.best:
        return update.best if update is not None else ""
    return recorded.action if set(update.valuation.how) <= {"prior"} else ""

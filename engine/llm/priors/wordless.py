"""Priors without a model. They are a baseline for models, and allow play when no model is installed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError, UsageError
from engine.jitrl import softmax
from engine.llm.model import Question, Reply, Usage
from engine.llm.questions import TEXT_ASKING, Asking
from engine.records import ActionRequest, Candidate, Notice, Proposal, Waiting


def open_prior(name: str, asking: Asking = TEXT_ASKING) -> UniformModel | VerbsModel:
    """Return the prior called `name` for one kind of environment.

    Raises:
        UsageError: There is no prior of this name.
    """
    if name == UniformModel.name:
        return UniformModel()
    if name == VerbsModel.name:
        return VerbsModel(asking)
    raise UsageError(f"there is no prior {name!r}; there are {UniformModel.name} and {VerbsModel.name}")


class Wordless:
    """Base class of priors without a model."""

    name = ""
    reading = ""

    def settle(self) -> None:
        """Do nothing."""

    def on_event(self, callback: Callable[[Waiting | Notice], None]) -> None:
        """Do nothing, because it makes no calls."""

    @property
    def usage(self) -> Usage:
        """Always 0."""
        return Usage()

    def complete(self, question: Question) -> Reply:
        """Raise ModelError, because there is no model that could write."""
        raise ModelError(f"{self.name} is no language model and cannot answer in words ({question.purpose})")

    def cancel(self) -> None:
        """Do nothing, because no call ever runs."""

    def resume(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class UniformModel(Wordless):
    """The uniform prior: candidates are drawn uniformly from the valid actions, and all logits are 0."""

    name = "prior/uniform"

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions."""
        drawn = rng.permutation(len(request.valid_actions))[: request.candidates]
        return Proposal(tuple(Candidate(request.valid_actions[i], 0.0) for i in drawn))


class VerbsModel(Wordless):
    """A prior from general knowledge about a kind of environment (`Asking.odds`).

    For games, this is a small table of verbs (`engine.llm.priors.verbs`). For web pages, it is the words of
    the task and the roles of elements (`engine.web.prior`).
    """

    name = "prior/verbs"

    def __init__(self, asking: Asking = TEXT_ASKING) -> None:
        self._asking = asking

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions, drawn without replacement by their odds."""
        z = np.array(self._asking.odds(request))
        drawn = gumbel_top(z, request.candidates, rng)
        logits = softmax(z[drawn]) if self._asking.shares else z[drawn]
        options = zip(drawn, logits, strict=True)
        return Proposal(tuple(Candidate(request.valid_actions[i], float(p)) for i, p in options))


def gumbel_top(z: NDArray[np.float64], k: int, rng: np.random.Generator) -> list[int]:
    """Return k indices drawn without replacement from the softmax of `z`, with the Gumbel-top-k trick.

    See Kool et al. 2019, "Stochastic beams and where to find them".
    """
    return [int(i) for i in np.argsort(-(z + rng.gumbel(size=len(z))))[:k]]

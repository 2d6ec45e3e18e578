"""Priors without a model: a floor to measure models against, and play when nothing is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.errors import ModelError, UsageError
from engine.llm.model import Messages, Reply, Usage
from engine.llm.verbs import logit
from engine.records import ActionRequest, Candidate, Proposal


def open_prior(name: str) -> UniformModel | VerbsModel:
    """Return the prior called `name`.

    Raises:
        UsageError: There is none of this name.
    """
    for prior in (UniformModel, VerbsModel):
        if name == prior.name:
            return prior()
    raise UsageError(f"there is no prior {name!r}; there are {UniformModel.name} and {VerbsModel.name}")


class _Wordless:
    """What priors without a model have in common."""

    name = ""

    @property
    def usage(self) -> Usage:
        """Nothing: there is no model."""
        return Usage()

    def complete(self, purpose: str, messages: Messages, schema: Mapping[str, Any] | None = None) -> Reply:
        """Raise ModelError: there is nothing here that could write."""
        raise ModelError(f"{self.name} is no language model and cannot answer in words ({purpose})")

    def cancel(self) -> None:
        """Nothing ever runs."""

    def resume(self) -> None:
        """Nothing was cancelled."""

    def close(self) -> None:
        """Nothing is held."""


class UniformModel(_Wordless):
    """Every valid action is as likely as any other: candidates drawn at random, all logits 0."""

    name = "prior/uniform"

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions."""
        drawn = rng.permutation(len(request.valid_actions))[: request.candidates]
        return Proposal(tuple(Candidate(request.valid_actions[i], 0.0) for i in drawn))


class VerbsModel(_Wordless):
    """A small table of verbs (`engine.llm.verbs`) says what is worth trying."""

    name = "prior/verbs"

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions, drawn without replacement by the table's odds."""
        z = np.array([logit(action) for action in request.valid_actions])
        # Gumbel-top-k: the same as drawing one after the other from the softmax of what is left.
        drawn = np.argsort(-(z + rng.gumbel(size=len(z))))[: request.candidates]
        return Proposal(tuple(Candidate(request.valid_actions[i], float(z[i])) for i in drawn))

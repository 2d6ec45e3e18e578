"""Priors without a model: a floor to measure models against, and play when nothing is installed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from engine.errors import ModelError, UsageError
from engine.llm.model import Messages, Reply, Usage
from engine.records import ActionRequest, Candidate, Proposal


def open_prior(name: str) -> UniformModel:
    """Return the prior called `name`.

    Raises:
        UsageError: There is none of this name.
    """
    if name != UniformModel.name:
        raise UsageError(f"there is no prior {name!r}; there is {UniformModel.name}")
    return UniformModel()


class UniformModel:
    """Every valid action is as likely as any other: candidates drawn at random, all logits 0."""

    name = "prior/uniform"

    @property
    def usage(self) -> Usage:
        """Nothing: there is no model."""
        return Usage()

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions."""
        drawn = rng.permutation(len(request.valid_actions))[: request.candidates]
        return Proposal(tuple(Candidate(request.valid_actions[i], 0.0) for i in drawn))

    def complete(self, purpose: str, messages: Messages, schema: Mapping[str, Any] | None = None) -> Reply:
        """Raise ModelError: there is nothing here that could write."""
        raise ModelError(f"prior/uniform is no language model and cannot answer in words ({purpose})")

    def cancel(self) -> None:
        """Nothing ever runs."""

    def resume(self) -> None:
        """Nothing was cancelled."""

    def close(self) -> None:
        """Nothing is held."""

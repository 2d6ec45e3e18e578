"""Priors without a model: a floor to measure models against, and play when nothing is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError, UsageError
from engine.jitrl import softmax
from engine.llm.asking import TEXT_ASKING, Asking
from engine.llm.model import Messages, Reply, Usage
from engine.records import ActionRequest, Candidate, Proposal, Waiting


def open_prior(name: str, asking: Asking = TEXT_ASKING) -> UniformModel | VerbsModel:
    """Return the prior called `name` for one kind of environment.

    Raises:
        UsageError: There is none of this name.
    """
    if name == UniformModel.name:
        return UniformModel()
    if name == VerbsModel.name:
        return VerbsModel(asking)
    raise UsageError(f"there is no prior {name!r}; there are {UniformModel.name} and {VerbsModel.name}")


class Wordless:
    """What priors without a model have in common."""

    name = ""
    reading = ""

    def settle(self) -> None:
        """There is nothing to find out."""

    def on_wait(self, callback: Callable[[Waiting], None]) -> None:
        """Nothing ever waits."""

    @property
    def usage(self) -> Usage:
        """Nothing: there is no model."""
        return Usage()

    def complete(
        self,
        purpose: str,
        messages: Messages,
        schema: Mapping[str, Any] | None = None,
        pictures: Sequence[bytes] = (),
        *,
        usable: Callable[[str], bool] | None = None,
        fresh: bool = False,
        temperature: float = 0.0,
    ) -> Reply:
        """Raise ModelError: there is nothing here that could write."""
        raise ModelError(f"{self.name} is no language model and cannot answer in words ({purpose})")

    def cancel(self) -> None:
        """Nothing ever runs."""

    def resume(self) -> None:
        """Nothing was cancelled."""

    def close(self) -> None:
        """Nothing is held."""


class UniformModel(Wordless):
    """Every valid action is as likely as any other: candidates drawn at random, all logits 0."""

    name = "prior/uniform"

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions."""
        drawn = rng.permutation(len(request.valid_actions))[: request.candidates]
        return Proposal(tuple(Candidate(request.valid_actions[i], 0.0) for i in drawn))


class VerbsModel(Wordless):
    """General knowledge of a kind of environment says what is worth trying (`Asking.odds`).

    Of games a small table of verbs says it (`engine.llm.priors.verbs`), of web pages the words of the task and what
    elements are for (`engine.web.prior`).
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
    """Return k indices drawn without replacement from the softmax of `z`, as the Gumbel-top-k trick does.

    See Kool et al. 2019, "Stochastic beams and where to find them".
    """
    return [int(i) for i in np.argsort(-(z + rng.gumbel(size=len(z))))[:k]]

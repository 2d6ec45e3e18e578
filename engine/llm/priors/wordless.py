"""Priors without a model: a floor to measure models against, and play when nothing is installed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import ModelError, UsageError
from engine.jitrl import softmax
from engine.llm.model import Messages, Reply, Usage
from engine.llm.priors.verbs import logit
from engine.records import ActionRequest, Candidate, Proposal, Waiting


def open_prior(name: str, domain: str = "game") -> UniformModel | VerbsModel:
    """Return the prior called `name` for games or for the web, as `Settings.domain` calls them.

    Raises:
        UsageError: There is none of this name.
    """
    if name == UniformModel.name:
        return UniformModel()
    if name == VerbsModel.name:
        return VerbsModel(domain)
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
    """General knowledge says what is worth trying.

    Of games a small table of verbs says it (`engine.llm.priors.verbs`), of web pages the words of the task and what
    elements are for (`engine.llm.priors.pages`).
    """

    name = "prior/verbs"

    def __init__(self, domain: str = "game") -> None:
        self._domain = domain

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions, drawn without replacement by the table's odds.

        On the web their logits are their shares of the odds, from 0 to 1: what the profile's transform makes of a
        model's confidences, too, and a scale on which what was lived outweighs what was believed.
        """
        if self._domain == "web":
            return self._on_page(request, rng)
        z = np.array([logit(action) for action in request.valid_actions])
        drawn = gumbel_top(z, request.candidates, rng)
        return Proposal(tuple(Candidate(request.valid_actions[i], float(z[i])) for i in drawn))

    def _on_page(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        from engine.llm.priors.pages import logits

        z = np.array(logits(request))
        drawn = gumbel_top(z, request.candidates, rng)
        share = softmax(z[drawn])
        options = zip(drawn, share, strict=True)
        return Proposal(tuple(Candidate(request.valid_actions[i], float(p)) for i, p in options))


def gumbel_top(z: NDArray[np.float64], k: int, rng: np.random.Generator) -> list[int]:
    """Return k indices drawn without replacement from the softmax of `z`, as the Gumbel-top-k trick does.

    See Kool et al. 2019, "Stochastic beams and where to find them".
    """
    return [int(i) for i in np.argsort(-(z + rng.gumbel(size=len(z))))[:k]]

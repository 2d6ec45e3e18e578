"""A log-linear mixture of two priors: z = w z1 + (1 - w) z2."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from engine.llm.model import Model, Preparing, Question, Reply, Usage, runs_in_process, takes_pictures
from engine.llm.priors.wordless import Wordless, gumbel_top
from engine.records import ActionRequest, Candidate, ModelCall, Notice, Proposal, Waiting, total_cost


class Mixture:
    """The weighted, normalised geometric mean of two priors.

    Args:
        first, second: The priors. The mixture closes them.
        weight: Weight of the first one's logits, within [0, 1]. The second one has 1 - weight.
    """

    def __init__(self, first: Model, second: Model, weight: float) -> None:
        self._parts = (first, second)
        self._weights = (weight, 1.0 - weight)

    @property
    def name(self) -> str:
        """Both names, joined by `+`."""
        return "+".join(part.name for part in self._parts)

    @property
    def usage(self) -> Usage:
        """Cost of both together."""
        a, b = (part.usage for part in self._parts)
        purposes: dict[str, int] = dict(a.by_purpose or {})
        for purpose, tokens in (b.by_purpose or {}).items():
            purposes[purpose] = purposes.get(purpose, 0) + tokens
        return Usage(
            calls=a.calls + b.calls,
            cached=a.cached + b.cached,
            tokens=a.tokens + b.tokens,
            cost_usd=total_cost((a.cost_usd, b.cost_usd)),
            seconds=a.seconds + b.seconds,
            dropped=a.dropped + b.dropped,
            retries=a.retries + b.retries,
            by_purpose=purposes or None,
        )

    @property
    def reading(self) -> str:
        """The reading of the first one, or of the second one if the first is not a language model."""
        return next((part.reading for part in self._parts if part.reading), "")

    def settle(self) -> None:
        """Settle both."""
        for part in self._parts:
            part.settle()

    def on_event(self, callback: Callable[[Waiting | Notice], None]) -> None:
        """Let both tell `callback`."""
        for part in self._parts:
            part.on_event(callback)

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return at most `request.candidates` valid actions, drawn by the mixed logits.

        An action that a language model did not propose gets the lowest logit of those that it proposed. A
        prior without a model has a logit for each action.

        Raises:
            ModelError: One of the two failed.
        """
        valid = request.valid_actions
        z = np.zeros(len(valid))
        named: dict[str, Candidate] = {}
        calls: list[ModelCall] = []
        notes: list[str] = []
        dropped = again = 0
        missing = False
        everything = dataclasses.replace(request, candidates=len(valid))
        for part, weight in zip(self._parts, self._weights, strict=True):
            proposal = part.propose(everything if isinstance(part, Wordless) else request, rng)
            calls += proposal.calls
            notes += [proposal.note] if proposal.note else []
            dropped, again = dropped + proposal.dropped, again + proposal.again
            missing = missing or proposal.missing
            opinion = {candidate.action: candidate for candidate in proposal.candidates}
            least = min((candidate.z for candidate in opinion.values()), default=0.0)
            z += weight * np.array([opinion[a].z if a in opinion else least for a in valid])
            if not isinstance(part, Wordless):
                named = {**opinion, **named}
        drawn = gumbel_top(z, request.candidates, rng)
        candidates = tuple(
            dataclasses.replace(named.get(valid[i], Candidate(valid[i], 0.0)), z=float(z[i])) for i in drawn
        )
        return Proposal(candidates, tuple(calls), "; ".join(notes), dropped, again=again, missing=missing)

    @property
    def runs_in_process(self) -> bool:
        """Whether the model that writes runs in this process."""
        return next((runs_in_process(part) for part in self._parts if not isinstance(part, Wordless)), False)

    @property
    def prepares(self) -> bool:
        """Whether one of the two can process prompts ahead."""
        return any(isinstance(part, Preparing) and part.prepares for part in self._parts)

    def prepare(self, request: ActionRequest, stopped: Callable[[], bool]) -> None:
        """Process the prompt for `request` ahead, in each of the two that can."""
        for part in self._parts:
            if isinstance(part, Preparing):
                part.prepare(request, stopped)

    @property
    def takes_pictures(self) -> bool:
        """Whether the model that writes takes pictures."""
        return next((takes_pictures(part) for part in self._parts if not isinstance(part, Wordless)), False)

    def complete(self, question: Question) -> Reply:
        """Return the answer of the first of the two that is a language model.

        Raises:
            ModelError: Neither is one, or there is no usable answer.
        """
        writer = next((part for part in self._parts if not isinstance(part, Wordless)), self._parts[0])
        return writer.complete(question)

    def cancel(self) -> None:
        """Cancel both."""
        for part in self._parts:
            part.cancel()

    def resume(self) -> None:
        """Let both accept calls again."""
        for part in self._parts:
            part.resume()

    def close(self) -> None:
        """Close both; calling this twice is safe."""
        for part in self._parts:
            part.close()

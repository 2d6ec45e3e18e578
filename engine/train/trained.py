"""The model that is being trained, as a session of the agent `static` plays with it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from engine import logits
from engine.errors import ModelError
from engine.llm.local.trie import choices
from engine.llm.model import Question, Reply, Usage
from engine.records import ActionRequest, Candidate, ModelCall, Notice, Proposal, Waiting
from engine.train.prompts import Prompts

if TYPE_CHECKING:
    from engine.train.policy import TriePolicy


@dataclasses.dataclass(frozen=True, slots=True)
class TrainingRow:
    """One decision as the trainer takes it.

    Attributes:
        prompt: Tokens of the prompt.
        action: Tokens of the chosen action.
        allowed: For each of these tokens, the tokens that it was drawn from; a single one is forced.
        logprobs: Their log-probabilities when they were drawn, nats.
    """

    prompt: tuple[int, ...]
    action: tuple[int, ...]
    allowed: tuple[tuple[int, ...], ...]
    logprobs: tuple[float, ...]


@dataclasses.dataclass(slots=True)
class _Proposed:
    prompt: tuple[int, ...]
    tails: dict[str, tuple[int, ...]]
    logprobs: dict[str, tuple[float, ...]]
    tokens: int


class TrainedModel:
    """The model that is being trained, as a session uses it. Implements `engine.llm.model.Model`.

    It proposes all valid actions, with the probabilities of the policy that is trained.

    Args:
        name: Its name in recordings.
        policy: Scores actions.
        prompts: Makes the prompts of one kind of environment.
    """

    reading = "string"
    usage = Usage()

    def __init__(self, name: str, policy: TriePolicy, prompts: Prompts) -> None:
        self.name = name
        self.last: _Proposed | None = None
        """What was proposed for the last decision; None if there was only one action."""
        self._policy, self._prompts = policy, prompts
        self._known: dict[tuple[tuple[int, ...], tuple[str, ...]], _Proposed] = {}
        self._stopped = False

    def renew(self) -> None:
        """Forget what was computed with earlier weights."""
        self._known.clear()
        self._policy.renew()

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return all valid actions, the likeliest first, with their log-probabilities as logits.

        Raises:
            ModelError: Cancelled.
        """
        if self._stopped:
            raise ModelError("cancelled", fatal=True)
        actions = request.valid_actions
        self.last = None
        if len(actions) <= 1:
            return Proposal(tuple(Candidate(action, 0.0) for action in actions))
        started = time.perf_counter()
        prompt = self._prompts.of(request)
        key = (tuple(self._prompts.tokens(prompt)), actions)
        made = self._known.get(key)
        cached = made is not None
        if made is None:
            tails = self._prompts.tails(prompt, actions)
            scores = self._policy.score(key[0], tails)
            made = _Proposed(
                key[0],
                {action: tuple(ids) for action, ids in zip(actions, tails, strict=True)},
                {action: tuple(values) for action, values in zip(actions, scores, strict=True)},
                len({tuple(ids[: depth + 1]) for ids in tails for depth in range(len(ids))}),
            )
            self._known[key] = made
        self.last = made
        logprobs = [sum(made.logprobs[action]) for action in actions]
        z = logits.from_logprobs(logprobs, 1.0)
        best = sorted(range(len(actions)), key=lambda i: -z[i])
        reply = "\n".join(f"{logprobs[i]:8.3f}  {actions[i]}" for i in best)
        call = ModelCall(
            "actions", self.name, prompt.text(), reply, len(made.prompt), made.tokens,
            latency_s=time.perf_counter() - started, cached=cached,
        )  # fmt: skip
        return Proposal(tuple(Candidate(actions[i], float(z[i]), logprob=logprobs[i]) for i in best), (call,))

    def row(self, action: str) -> TrainingRow | None:
        """Return the last decision as a row, None if there was nothing to choose."""
        made = self.last
        if made is None or action not in made.tails:
            return None
        tails = list(made.tails.values())
        allowed = choices(tails)[list(made.tails).index(action)]
        return TrainingRow(made.prompt, made.tails[action], allowed, made.logprobs[action])

    def settle(self) -> None:
        """Do nothing; its reading is known."""

    def on_event(self, callback: Callable[[Waiting | Notice], None]) -> None:
        """Do nothing; it makes no calls."""

    def complete(self, question: Question) -> Reply:
        """Refuse: it is trained to choose actions.

        Raises:
            ModelError: Always.
        """
        raise ModelError("the model that is trained writes no texts")

    def cancel(self) -> None:
        """Make the next proposal raise ModelError, until `resume` is called."""
        self._stopped = True

    def resume(self) -> None:
        """Propose again."""
        self._stopped = False

    def close(self) -> None:
        """Do nothing; the trainer still needs the weights."""

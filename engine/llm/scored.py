"""A local model as a prior: the exact likelihood of every valid action."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from engine import logits
from engine.llm import prompts
from engine.llm.cache import Cache, digest
from engine.llm.gateway import Gateway
from engine.llm.local import LocalEngine
from engine.llm.model import Messages, Reply, Usage
from engine.records import ActionRequest, Candidate, ModelCall, Proposal
from engine.settings import Settings

DEADLINE = 120.0
PROMPT_TOKENS = 1024


class ScoredModel:
    """Proposes from exact action likelihoods; see `engine.llm.open_model`."""

    def __init__(
        self, name: str, engine: LocalEngine, fingerprint: str, settings: Settings, cache: Cache
    ) -> None:
        self.name = name
        self._key = name.partition("/")[2] or name
        self._engine = engine
        self._fingerprint = fingerprint
        self._settings = settings
        self._cache = cache
        self._gateway = Gateway({self._key: engine})
        self._lock = threading.Lock()
        self._usage = Usage(by_purpose={})

    @property
    def usage(self) -> Usage:
        """What it has cost so far."""
        return self._usage

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates drawn from the softmax of all valid actions' likelihoods.

        Raises:
            ModelError: Too long, or cancelled.
        """
        actions = request.valid_actions
        if not actions:
            return Proposal(())
        prompt = prompts.render(
            "actions_scored", current_state=request.current_state, valid_actions=", ".join(actions)
        )
        mean, call = self._scores(prompt, actions)
        z = logits.from_logprobs(mean, self._settings.temperature)
        drawn = sorted(logits.gumbel_top_k(z, request.candidates, rng), key=lambda i: -z[i])
        return Proposal(
            tuple(Candidate(actions[i], float(z[i]), logprob=mean[i]) for i in drawn), calls=(call,)
        )

    def _scores(self, prompt: prompts.Prompt, actions: tuple[str, ...]) -> tuple[list[float], ModelCall]:
        key = digest("scores/1", self._fingerprint, prompt.messages, prompt.answer, actions)
        started = time.perf_counter()
        value = self._cache.get(key)
        cached = value is not None
        if value is None:
            self._engine.go()
            scores = self._gateway.score(DEADLINE, self._key, prompt.chat(), prompt.answer, actions)
            value = {"mean": scores.mean, "tokens": [scores.prompt_tokens, scores.answer_tokens]}
            self._cache.put(key, value)
        mean = [float(m) for m in value["mean"]]
        best = sorted(range(len(actions)), key=lambda i: -mean[i])
        call = ModelCall(
            purpose="actions",
            model=self.name,
            prompt=prompt.text(),
            reply="\n".join(f"{mean[i]:8.3f}  {actions[i]}" for i in best),
            prompt_tokens=value["tokens"][0],
            completion_tokens=value["tokens"][1],
            latency_s=time.perf_counter() - started,
            cached=cached,
        )
        self._count(call)
        return mean, call

    def complete(self, purpose: str, messages: Messages, schema: Mapping[str, Any] | None = None) -> Reply:
        """Return what the model writes."""
        self._engine.go()
        started = time.perf_counter()
        response = self._gateway.completion(
            DEADLINE, model=f"local/{self._key}", messages=[dict(m) for m in messages], max_tokens=512
        )
        text = response.choices[0].message.content or ""
        call = ModelCall(
            purpose=purpose,
            model=self.name,
            prompt="\n\n".join(f"[{m['role']}]\n{m['content']}" for m in messages),
            reply=text,
            prompt_tokens=response.usage.prompt_tokens,
            completion_tokens=response.usage.completion_tokens,
            latency_s=time.perf_counter() - started,
        )
        self._count(call)
        return Reply(text, call)

    def _count(self, call: ModelCall) -> None:
        with self._lock:
            tokens = 0 if call.cached else call.prompt_tokens + call.completion_tokens
            by_purpose = dict(self._usage.by_purpose or {})
            by_purpose[call.purpose] = by_purpose.get(call.purpose, 0) + tokens
            self._usage = dataclasses.replace(
                self._usage,
                calls=self._usage.calls + 1,
                cached=self._usage.cached + call.cached,
                tokens=self._usage.tokens + tokens,
                seconds=self._usage.seconds + call.latency_s,
                by_purpose=by_purpose,
            )

    def cancel(self) -> None:
        """Make a running call raise ModelError soon."""
        self._engine.stop()
        self._gateway.cancel()

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        self._gateway.close()
        self._engine.close()
        self._cache.close()

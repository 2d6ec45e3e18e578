"""One call to a model, whatever it is: cache, budget, pace, deadline, retries, accounts, no secrets."""

from __future__ import annotations

import contextlib
import dataclasses
import random
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.errors import JitrlError, MissingError, ModelError
from engine.llm.cache import Cache, digest
from engine.llm.failures import Failure, explain, redact
from engine.llm.gateway import Gateway
from engine.llm.local import Scores
from engine.llm.model import Usage
from engine.llm.pace import Pace
from engine.llm.prompts import Prompt
from engine.records import ModelCall

ATTEMPTS = 4
FIRST_WAIT, LONGEST_WAIT = 1.0, 30.0


class Failed(Exception):
    """A call failed for good; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class Limits:
    """What calls may take; 0 is no limit but for the deadline."""

    deadline_s: float = 120.0
    usd: float = 0.0
    tokens: int = 0
    minutes: float = 0.0
    attempts: int = ATTEMPTS
    first_wait_s: float = FIRST_WAIT


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back in words.

    Attributes:
        finish: "stop", "length", "content_filter" or what else the server calls it.
        refusal: The model's refusal, "" if it did not refuse.
        top: Alternatives of the first token with their log-probabilities, None if not told.
    """

    text: str
    finish: str
    refusal: str
    top: tuple[tuple[str, float], ...] | None
    call: ModelCall


class Client:
    """Makes calls to one model. Thread-safe.

    Args:
        name: The name the model was opened by; what people see.
        target: litellm's name for it.
        identity: Distinguishes it from all others in the cache: the name, or a digest of the weights.
        options: Sent with every call (address, key); kept out of records.
    """

    def __init__(
        self,
        name: str,
        target: str,
        identity: str,
        gateway: Gateway,
        cache: Cache,
        pace: Pace,
        limits: Limits,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.name = name
        self._target = target
        self._identity = identity
        self._gateway = gateway
        self._cache = cache
        self._pace = pace
        self._limits = limits
        self._options = dict(options or {})
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._usage = Usage(by_purpose={})
        self._priced = not limits.usd
        # Jitter keeps parallel workers apart; it has no part in any result.
        self._jitter = random.Random()

    @property
    def usage(self) -> Usage:
        """What all calls have cost so far."""
        return self._usage

    # ----------------------------------------------------------------------------------------- calls

    def ask(self, purpose: str, prompt: Prompt, **options: Any) -> Answer:
        """Return the model's answer in words.

        Raises:
            Failed: It cannot be had.
            ModelError: Cancelled, or the budget is spent.
        """
        seen = [prompt.digests] if prompt.pictures else []
        key = digest("reply/2", self._identity, prompt.messages, prompt.answer, options, *seen)
        started = time.perf_counter()
        value = self._cache.get(key)
        cached = value is not None
        if value is None:
            arguments = {"messages": prompt.chat(), **options}
            if prompt.answer:
                arguments["answer"] = prompt.answer
            self._prepare()
            started = time.perf_counter()
            value = self._with_retries(lambda: self._read(self._complete(arguments)))
            if value["finish"] != "length" and value["text"].strip():
                self._cache.put(key, value)
        call = self._record(purpose, prompt, value["text"], value, started, cached)
        top = value["top"]
        return Answer(
            value["text"],
            value["finish"],
            value["refusal"],
            tuple((str(t), float(p)) for t, p in top) if top is not None else None,
            call,
        )

    def score(self, purpose: str, prompt: Prompt, candidates: Sequence[str]) -> tuple[Scores, ModelCall]:
        """Return how likely each candidate is to follow the prompt; local models only.

        Raises:
            Failed: It cannot be had.
            ModelError: Cancelled, or the budget is spent.
        """
        key = self._scores_key(prompt, candidates)
        started = time.perf_counter()
        value = self._cache.get(key)
        cached = value is not None
        if value is None:
            scores = self._with_retries(
                lambda: self._gateway.score(
                    self._limits.deadline_s, self._target, prompt.chat(), prompt.answer, tuple(candidates)
                )
            )
            value = dataclasses.asdict(scores)
            self._cache.put(key, value)
        scores = Scores(
            tuple(map(float, value["mean"])),
            tuple(value["lengths"]),
            value["prompt_tokens"],
            value["answer_tokens"],
        )
        best = sorted(range(len(candidates)), key=lambda i: -scores.mean[i])
        reply = "\n".join(f"{scores.mean[i]:8.3f}  {candidates[i]}" for i in best)
        account = {"tokens": [scores.prompt_tokens, scores.answer_tokens], "usd": 0.0}
        return scores, self._record(purpose, prompt, reply, account, started, cached)

    def has_scores(self, prompt: Prompt, candidates: Sequence[str]) -> bool:
        """Return whether `score` would answer from the cache."""
        return self._cache.get(self._scores_key(prompt, candidates)) is not None

    def _scores_key(self, prompt: Prompt, candidates: Sequence[str]) -> str:
        return digest("scores/2", self._identity, prompt.messages, prompt.answer, list(candidates))

    def cancel(self) -> None:
        """Make the running call, and all further ones until `resume`, raise ModelError soon."""
        self._cancelled.set()
        self._gateway.cancel()

    def resume(self) -> None:
        """Take calls again after `cancel`."""
        self._cancelled.clear()
        self._gateway.resume()

    def dropped(self, count: int) -> None:
        """Count options that were no valid action."""
        with self._lock:
            self._usage = dataclasses.replace(self._usage, dropped=self._usage.dropped + count)

    # --------------------------------------------------------------------------------------- inside

    def _prepare(self) -> None:
        try:
            self._gateway.prepare()
        except JitrlError:
            raise
        except Exception as error:
            raise MissingError(f"litellm does not load ({error})") from None
        if not self._priced:
            self._check_price()

    def _check_price(self) -> None:
        """Refuse a budget in dollars that could not be kept."""
        try:
            info = self._gateway.library.get_model_info(self._target)
            self._priced = isinstance(info.get("input_cost_per_token"), (int, float))
        except Exception:  # litellm raises this and that for a model it has no price of
            self._priced = self._target.startswith("local/")
        if not self._priced:
            raise ModelError(
                f"no price is known for {self.name}, so a budget in dollars cannot be kept; limit it with "
                "budget_tokens instead of budget_usd",
                fatal=True,
            )

    def _complete(self, arguments: Mapping[str, Any]) -> Any:
        deadline = self._limits.deadline_s
        return self._gateway.completion(
            deadline,
            model=self._target,
            timeout=deadline,
            num_retries=0,
            max_retries=0,
            drop_params=True,
            **self._options,
            **arguments,
        )

    def _with_retries(self, call: Any) -> Any:
        self._check_budget()
        wait = self._limits.first_wait_s
        started = time.perf_counter()
        for attempt in range(1, self._limits.attempts + 1):
            self._sleep(self._pace.reserve(self._target))
            try:
                return call()
            except Exception as error:
                if self._cancelled.is_set():
                    raise ModelError("cancelled", fatal=True) from None
                failure = explain(error, self.name, self._options.get("api_base"))
                if not failure.retry or attempt == self._limits.attempts:
                    self._add_seconds(time.perf_counter() - started)
                    raise Failed(failure) from None
                if failure.wait is not None:
                    self._pace.hold(self._target, failure.wait)
            self._sleep(wait * (0.5 + self._jitter.random()))
            wait = min(LONGEST_WAIT, wait * 2)
        raise AssertionError("unreachable")

    def _sleep(self, seconds: float) -> None:
        if self._cancelled.wait(seconds) if seconds > 0 else self._cancelled.is_set():
            raise ModelError("cancelled", fatal=True)

    def _check_budget(self) -> None:
        used, limits = self._usage, self._limits
        for spent, limit, text, setting in (
            (used.cost_usd, limits.usd, f"${limits.usd:.2f}", "budget_usd"),
            (used.tokens, limits.tokens, f"{limits.tokens:,} tokens", "budget_tokens"),
            (used.seconds / 60, limits.minutes, f"{limits.minutes:g} minutes", "budget_minutes"),
        ):
            if limit and spent >= limit:
                raise ModelError(
                    f"the budget of {text} for {self.name} is spent; go on with a larger {setting}",
                    fatal=True,
                )

    def _read(self, response: Any) -> dict[str, Any]:
        """Return what matters of litellm's response as plain values."""
        choice = response.choices[0]
        message = choice.message
        logprobs = getattr(choice, "logprobs", None)
        first = (getattr(logprobs, "content", None) or [None])[0]
        top = getattr(first, "top_logprobs", None)
        usage = getattr(response, "usage", None)
        extra = getattr(message, "provider_specific_fields", None) or {}
        return {
            "text": message.content or "",
            "finish": choice.finish_reason or "",
            "refusal": getattr(message, "refusal", None) or extra.get("refusal") or "",
            "top": [[item.token, item.logprob] for item in top] if top else None,
            "tokens": [
                int(getattr(usage, "prompt_tokens", 0) or 0),
                int(getattr(usage, "completion_tokens", 0) or 0),
            ],
            "usd": self._cost(response),
        }

    def _cost(self, response: Any) -> float:
        with contextlib.suppress(Exception):  # a model without a known price: litellm raises this and that
            return float(self._gateway.library.completion_cost(response, model=self._target) or 0.0)
        return 0.0

    def _record(
        self, purpose: str, prompt: Prompt, reply: str, value: Mapping[str, Any], started: float, cached: bool
    ) -> ModelCall:
        latency = time.perf_counter() - started
        call = ModelCall(
            purpose=purpose,
            model=self.name,
            prompt=redact(prompt.text()),
            reply=redact(reply),
            prompt_tokens=value["tokens"][0],
            completion_tokens=value["tokens"][1],
            cost_usd=0.0 if cached else value["usd"],
            latency_s=latency,
            cached=cached,
        )
        tokens = 0 if cached else sum(value["tokens"])
        with self._lock:
            used = self._usage
            by_purpose = dict(used.by_purpose or {})
            by_purpose[purpose] = by_purpose.get(purpose, 0) + tokens
            self._usage = dataclasses.replace(
                used,
                calls=used.calls + 1,
                cached=used.cached + cached,
                tokens=used.tokens + tokens,
                cost_usd=used.cost_usd + call.cost_usd,
                seconds=used.seconds + (0.0 if cached else latency),
                by_purpose=by_purpose,
            )
        return call

    def _add_seconds(self, seconds: float) -> None:
        with self._lock:
            self._usage = dataclasses.replace(self._usage, seconds=self._usage.seconds + seconds)

"""Calls one model: with cache, budget, pace, deadline, retries, accounting, and secrets removed from records.

An answer is cached only when the caller has found it usable; see `ModelClient.keep`.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine import texts
from engine.errors import JitrlError, MissingError, ModelError, TooLong
from engine.llm.calls import failures
from engine.llm.calls.cache import Cache, digest
from engine.llm.calls.endpoint import LEAST_ROOM, Endpoint
from engine.llm.calls.failures import Failure, explain, redact
from engine.llm.calls.gateway import Gateway
from engine.llm.calls.pace import Pace
from engine.llm.calls.patience import PACED, PASSING, REASONS, TOO_LITTLE_S, CallLimits, Deadline, Patience
from engine.llm.listed import list_price
from engine.llm.local.engine import Scores
from engine.llm.model import Usage
from engine.llm.prompts import Prompt
from engine.records import ModelCall, Notice, Waiting, total_cost

TEXT_LIMIT = 1_000_000
"""Most characters of an answer; the rest is cut off."""

TELL_EVERY_S = 1.0

CHANGES = 12
"""Most times that a call is sent in another form, because the server refused a parameter."""


class CallFailed(Exception):
    """A call failed after all retries; `failure` says how."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """An answer in text.

    Attributes:
        text: The answer.
        finish: "stop", "length", "content_filter", or the server's own word.
        refusal: The model's refusal, "" if it did not refuse.
        lacking: Why it cannot be used and asking again does not help, "" if there is no such reason.
        top: Most probable first tokens with their log-probabilities (nats), None if the server gave none.
        call: The record of the call.
        key: Key for storing it in the cache, "" if it comes from there.
    """

    text: str
    finish: str
    refusal: str
    lacking: str
    top: tuple[tuple[str, float], ...] | None
    call: ModelCall
    key: str = ""


class ModelClient:
    """Makes calls to one model. Thread-safe.

    Args:
        name: Name the model was opened by, for people.
        target: litellm's name for it.
        identity: Identifies it in the cache: its name, or a digest of its weights.
        gateway: Access to litellm. It is an attribute, too.
        cache: Stores replies.
        pace: Limits the rate of calls.
        limits: Limits of time and cost. They are an attribute, too.
        options: Sent with every call (address, key), and kept out of records.
        endpoint: What is known of the server; None for a model in this process.
    """

    def __init__(
        self,
        name: str,
        target: str,
        identity: str,
        gateway: Gateway,
        cache: Cache,
        pace: Pace,
        limits: CallLimits,
        options: Mapping[str, Any] | None = None,
        endpoint: Endpoint | None = None,
    ) -> None:
        self.name = name
        self._target = target
        self.identity = identity
        self.gateway = gateway
        self._cache = cache
        self._pace = pace
        self.limits = limits
        self._options = dict(options or {})
        self.endpoint = endpoint or Endpoint(name, identity, None)
        self._cancelled = threading.Event()
        self._lock = threading.Lock()
        self._usage = Usage(by_purpose={})
        self._priced = not limits.usd
        self._jitter = random.Random()
        self._deadline = Deadline()
        self._broke = False
        self._notified: set[str] = set()
        self._on_event: Callable[[Waiting | Notice], None] = lambda event: None

    @property
    def usage(self) -> Usage:
        """Usage of all calls so far."""
        return self._usage

    @property
    def cancelled(self) -> bool:
        """Whether calls raise ModelError, until `resume` is called."""
        return self._cancelled.is_set()

    @property
    def until(self) -> float:
        """End of this thread's decision on the clock of `time.monotonic`; infinite outside decisions."""
        return self._deadline.until

    def decision(self) -> contextlib.AbstractContextManager[float]:
        """Give one deadline to all calls that this thread makes inside. A nested decision keeps the outer deadline.

        Pauses do not count: they postpone the deadline. A call without time left fails with a timeout.
        """
        return self._deadline.within(self.limits.deadline_s)

    def on_event(self, callback: Callable[[Waiting | Notice], None]) -> None:
        """Set a function that is told of waits, about once a second, and of what a person should know of the server.

        It is called in the thread that made the call.
        """
        self._on_event = callback

    # ----------------------------------------------------------------------------------------- calls

    def ask(self, purpose: str, prompt: Prompt, *, fresh: bool = False, **options: Any) -> TextAnswer:
        """Ask the model and return its answer. Call `keep` with it if it is usable.

        Args:
            purpose: What the call is for, in records.
            prompt: The prompt.
            fresh: Do not read the cache.
            options: Further arguments of litellm's `completion`.

        Raises:
            Failed: There is no answer.
            ModelError: Cancelled, or the budget is used up.
        """
        seen = [prompt.digests] if prompt.pictures else []
        key = digest("reply/2", self.identity, prompt.messages, prompt.answer, options, *seen)
        started = time.perf_counter()
        value = None if fresh else self._cache.get(key)
        cached = value is not None
        retries = 0
        if value is None:
            arguments = {"messages": prompt.chat(), **options}
            if prompt.answer:
                arguments["answer"] = prompt.answer
            with self.decision():
                with self._deadline.stopped():
                    self._prepare()
                started = time.perf_counter()
                value, retries = self._with_retries(lambda left: self._complete(prompt, arguments))
        call = self._record(purpose, prompt, value["text"], value, started, cached, retries)
        lacking = failures.why_unusable(self.name, value)
        if value["top"] is None:  # one token of an answer says enough where its alternatives are read
            self._notify_once(lacking)
        top = value["top"]
        return TextAnswer(
            value["text"],
            value["finish"],
            value["refusal"],
            lacking,
            tuple((str(t), float(p)) for t, p in top) if top is not None else None,
            call,
            "" if cached else key,
        )

    def keep(self, answer: TextAnswer) -> None:
        """Cache an answer that was usable. Answers that are empty, refused or cut off are not cached.

        Exception: an answer with `top` may be empty or cut off, as one-token answers always are.
        """
        if not answer.key or answer.refusal or answer.finish == "content_filter":
            return
        if not answer.top and (answer.finish == "length" or not answer.text.strip()):
            return
        call = answer.call
        value = {
            "text": answer.text,
            "finish": answer.finish,
            "refusal": "",
            "top": answer.top,
            "tokens": [call.prompt_tokens, call.completion_tokens],
            "usd": call.cost_usd,
            "estimated": call.estimated,
        }
        self._cache.put(answer.key, value)

    def score(self, purpose: str, prompt: Prompt, candidates: Sequence[str]) -> tuple[Scores, ModelCall]:
        """Score how likely each candidate follows the prompt; local models only.

        Raises:
            Failed: There are no scores.
            ModelError: Cancelled, or the budget is used up.
        """
        key = self._scores_key(prompt, candidates)
        started = time.perf_counter()
        value = self._cache.get(key)
        cached = value is not None
        retries = 0
        if value is None:
            with self.decision():
                scores, retries = self._with_retries(
                    lambda left: self.gateway.score(
                        left, self._target, prompt.chat(), prompt.answer, tuple(candidates)
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
        return scores, self._record(purpose, prompt, reply, account, started, cached, retries)

    def has_scores(self, prompt: Prompt, candidates: Sequence[str]) -> bool:
        """Whether `score` would answer from the cache."""
        return self._cache.get(self._scores_key(prompt, candidates)) is not None

    def _scores_key(self, prompt: Prompt, candidates: Sequence[str]) -> str:
        return digest("scores/2", self.identity, prompt.messages, prompt.answer, list(candidates))

    def cancel(self) -> None:
        """Make the running call and all further ones raise ModelError soon, until `resume` is called."""
        self._cancelled.set()
        self.gateway.cancel()

    def resume(self) -> None:
        """Accept calls again after `cancel`."""
        self._cancelled.clear()
        self.gateway.resume()

    def dropped(self, count: int) -> None:
        """Count proposed options that were no valid actions."""
        with self._lock:
            self._usage = dataclasses.replace(self._usage, dropped=self._usage.dropped + count)

    # -------------------------------------------------------------------------------------- details

    def _prepare(self) -> None:
        try:
            self.gateway.prepare()
        except JitrlError:
            raise
        except Exception as error:
            raise MissingError(f"litellm does not load ({error})") from None
        if not self._priced:
            self._check_price()

    def _check_price(self) -> None:
        """Raise ModelError if there is a budget in dollars but no known price."""
        self._priced = list_price(self._target, 1, 1) is not None
        if not self._priced:
            raise ModelError(
                f"no price is known for {self.name}, so a budget in dollars cannot be kept; limit it with "
                "budget_tokens instead of budget_usd",
                fatal=True,
            )

    def _complete(self, prompt: Prompt, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call the model and return what `_read` returns. It is sent again without a parameter that is refused.

        Raises:
            TooLong: The prompt leaves no room for an answer.
            Exception: Whatever litellm raises.
        """
        endpoint, estimate = self.endpoint, texts.tokens(prompt.text())
        most = endpoint.longest(min(LEAST_ROOM, arguments.get("max_tokens", 0)))
        if 0 < most < estimate:
            raise TooLong(f"the prompt is too long for {self.name}, whose context has {endpoint.context:,} tokens")
        for _ in range(CHANGES):
            sent = endpoint.request(arguments, estimate)
            try:
                response = self._send(sent)
            except Exception as error:
                trouble, kind = error, explain(error, self.name).kind
                changed = kind == failures.CONTEXT and endpoint.too_long(error, sent, estimate)
                if changed or (kind == failures.REFUSED and endpoint.refused(error, sent)):
                    continue
                break
            value = self._read(response, prompt, sent) | {"squeezed": endpoint.squeezed(arguments, sent)}
            if not prompt.pictures:
                endpoint.counted(estimate, value["tokens"][0])
            for stop in arguments.get("stop") or ():  # if the server does not take them
                value["text"] = value["text"].partition(stop)[0]
            self._notify_once(endpoint.settle(helped=True))
            return value
        endpoint.settle(helped=False)
        raise trouble

    def _send(self, arguments: Mapping[str, Any]) -> Any:
        seconds = self._deadline.left()
        if seconds < TOO_LITTLE_S:
            raise TimeoutError
        return self.gateway.completion(
            seconds,
            model=self._target,
            timeout=self.limits.deadline_s,  # the same each time: litellm has a client for each, with connections
            num_retries=0,
            max_retries=0,
            drop_params=True,
            **self._options,
            **arguments,
        )

    def _notify_once(self, sentence: str) -> None:
        """Tell a sentence about the server once."""
        if sentence and sentence not in self._notified:
            self._notified.add(sentence)
            self._on_event(Notice("warning", sentence))

    def _with_retries(self, call: Callable[[float], Any]) -> tuple[Any, int]:
        """Run `call` until it succeeds or retries end; return its result, and how often it failed before.

        `call` takes the seconds it may use.
        """
        self._check_budget()
        patience = Patience(self.limits, self._jitter)
        started = time.perf_counter()
        while True:
            self._pause(self._pace.reserve(self._target), PACED, patience.left())
            try:
                if (left := self._deadline.left()) < TOO_LITTLE_S:
                    raise TimeoutError
                value = call(left)
                self._broke = False
                return value, patience.failed
            except Exception as error:
                if self._cancelled.is_set():
                    raise ModelError("cancelled", fatal=True) from None
                failure = explain(error, self.name, self._options.get("api_base"))
            seconds = patience.after(failure)
            if seconds is None or self._deadline.left() < TOO_LITTLE_S:
                self._add(seconds=time.perf_counter() - started, retries=patience.failed - 1)
                if failure.kind == failures.BROKEN and not self._broke:  # one prompt may be the reason
                    failure = dataclasses.replace(failure, fatal=False)
                self._broke = failure.kind == failures.BROKEN
                if failure.kind == failures.CONTENT:  # play goes on without this answer
                    self._notify_once(failure.message)
                raise CallFailed(patience.with_attempts(failure))
            if failure.wait is not None:
                self._pace.hold(self._target, seconds)
            self._pause(seconds, REASONS.get(failure.kind, ""), patience.left() if failure.kind in PASSING else 0.0)

    def _pause(self, seconds: float, reason: str, left: float) -> None:
        """Wait without using up the deadline; report the reason if there is one and the wait is long enough.

        `left` are the seconds until the call is given up; 0 if that depends on the number of attempts.
        """
        begun = time.monotonic()
        end = begun + seconds
        announced = bool(reason) and (reason != PACED or seconds >= TELL_EVERY_S)
        with self._deadline.stopped():
            while not self._cancelled.is_set() and (rest := end - time.monotonic()) > 0:
                if announced:
                    self._on_event(Waiting(reason, rest, max(0.0, left + begun - time.monotonic())))
                self._cancelled.wait(min(TELL_EVERY_S, rest))
        if self._cancelled.is_set():
            raise ModelError("cancelled", fatal=True)

    def _check_budget(self) -> None:
        used, limits = self._usage, self.limits
        for spent, limit, text, setting in (
            (used.cost_usd, limits.usd, f"${limits.usd:.2f}", "budget_usd"),
            (used.tokens, limits.tokens, f"{limits.tokens:,} tokens", "budget_tokens"),
            (used.seconds / 60, limits.minutes, f"{limits.minutes:g} minutes", "budget_minutes"),
        ):
            if limit and (spent or 0) >= limit:
                raise ModelError(
                    f"the budget of {text} for {self.name} is spent; go on with a larger {setting}",
                    fatal=True,
                )

    def _read(self, response: Any, prompt: Prompt, sent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the needed parts of litellm's response as plain values. A key that a server echoes is taken out."""
        choice = response.choices[0]
        message = choice.message
        logprobs = getattr(choice, "logprobs", None)
        first = (getattr(logprobs, "content", None) or [None])[0]
        alternatives = getattr(first, "top_logprobs", None) or ()
        top = [(redact(str(item.token)), p) for item in alternatives if not math.isnan(p := float(item.logprob))]
        usage = getattr(response, "usage", None)
        extra = getattr(message, "provider_specific_fields", None) or {}
        text = redact(texts.encodable(message.content[: TEXT_LIMIT + 1])) if isinstance(message.content, str) else ""
        thoughts = str(getattr(message, "reasoning_content", None) or "")
        tokens = [int(getattr(usage, f"{kind}_tokens", 0) or 0) for kind in ("prompt", "completion")]
        estimated = not tokens[0] or not (tokens[1] or not (text or thoughts))
        if estimated:
            tokens = [
                tokens[0] or self._count(messages=prompt.chat()),
                tokens[1] or self._count(text=text + thoughts),
            ]
            self._notify_once(f"the server of {self.name} does not count tokens; they are estimated")
        return {
            "text": text[:TEXT_LIMIT],
            "finish": "length" if len(text) > TEXT_LIMIT else str(choice.finish_reason or ""),
            "refusal": redact(str(getattr(message, "refusal", None) or extra.get("refusal") or "")),
            "thought": bool(thoughts),
            "most": sent.get("max_tokens") or sent.get("max_completion_tokens"),
            "top": top or None,
            "tokens": tokens,
            "estimated": estimated,
            "usd": self._cost(response, tokens),
        }

    def _count(self, **text: Any) -> int:
        """Return an estimate of the tokens of messages or of a text, by the tokenizer that litellm brings along."""
        try:
            return int(self.gateway.library.token_counter(model="gpt-4o", **text))
        except Exception:  # it raises various exceptions for what it cannot read
            return texts.tokens(str(text))

    def _cost(self, response: Any, tokens: Sequence[int]) -> float | None:
        """Return what a reply cost in US dollars, None if no price is known."""
        listed = list_price(self._target, *tokens)
        with contextlib.suppress(Exception):  # litellm raises various exceptions for models without a known price
            computed = float(self.gateway.library.completion_cost(response, model=self._target) or 0.0)
            return computed or listed
        return listed

    def _record(
        self,
        purpose: str,
        prompt: Prompt,
        reply: str,
        value: Mapping[str, Any],
        started: float,
        cached: bool,
        retries: int,
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
            retries=retries,
            price_usd=value["usd"],
            estimated=bool(value.get("estimated")),
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
                cost_usd=total_cost((used.cost_usd, call.cost_usd)),
                seconds=used.seconds + (0.0 if cached else latency),
                retries=used.retries + retries,
                by_purpose=by_purpose,
            )
        return call

    def _add(self, seconds: float, retries: int) -> None:
        """Count the time and retries of a call that failed."""
        with self._lock:
            used = self._usage
            self._usage = dataclasses.replace(
                used, seconds=used.seconds + seconds, retries=used.retries + retries
            )

"""Runs a model file in this process, to score given answers and to write text."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.disk import open_binary, private_folder, write_private
from engine.errors import MissingError, ModelError, TooLong
from engine.llm.calls.cache import digest
from engine.llm.local.llamacpp import INSTALL, Unsupported
from engine.llm.local.runtime import TOO_LONG, UBATCH, Runtime
from engine.llm.local.trie import constrained_logprobs as among
from engine.llm.local.weights import fingerprint
from engine.llm.prompts import TRANSCRIPT, plain, tail
from engine.system import cores

CONTEXT = 4096
KEPT_STATES = 4


def default_threads() -> int:
    """Return the number of threads to compute with: all cores but one, which is left for the screen."""
    return max(1, cores() - 1)


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of given answers.

    Attributes:
        mean: Mean log-likelihood per token of each answer, in nats. For an engine with `constrained`, the tokens of an
            answer are drawn from those with which one of the answers can go on, and these are their likelihoods.
        lengths: Tokens of each answer, the end of the line included.
        prompt_tokens: Tokens before the answers.
        answer_tokens: Tokens of all answers, with shared prefixes counted once.
    """

    mean: tuple[float, ...]
    lengths: tuple[int, ...]
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Text:
    """Text written by the model.

    Attributes:
        text: The text.
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens of the text.
        cut: Whether it ended at the token limit.
        top: Most probable first tokens with their log-probabilities (nats), at temperature 1 and without the schema;
            () if not requested.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    cut: bool
    top: tuple[tuple[str, float], ...] = ()


class _LeftOff(Exception):
    """Preparing a prompt was stopped because it is no longer needed."""


class LocalEngine:
    """One GGUF model, loaded once. Calls from several threads run one after another.

    Args:
        path: The file.
        threads: Threads to compute with, None for all cores but one.
        context: Most tokens of prompt and answers together.
        constrained: Whether scores are those of a choice among the given answers alone, as trained models make it.
        on_progress: Called with the loaded share, 0 to 1. Loading stops if it returns False.

    Attributes:
        runtime: The model in memory.

    Raises:
        MissingError: The file or the runtime is missing, damaged, or of an unknown version.
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        context: int = CONTEXT,
        constrained: bool = False,
        on_progress: Callable[[float], bool] | None = None,
    ) -> None:
        try:
            self.runtime = Runtime(
                path, threads=threads or default_threads(), context=context, on_progress=on_progress
            )
        except Unsupported as error:
            raise MissingError(
                f"this version of the runtime is not supported ({error}); {INSTALL}"
            ) from None
        self._lock = threading.Lock()
        self._stopped = False
        self._stops = 0
        self.context = self.runtime.context
        self._constrained = constrained
        self.identity = fingerprint(path)

    def count(self, messages: Sequence[Mapping[str, str]], answer: str = "") -> int:
        """Return the number of tokens of a prompt."""
        with self._lock:
            return len(self._prompt(messages, answer))

    def warm(self, prompts: Sequence[tuple[Sequence[Mapping[str, str]], str]], folder: Path | None) -> None:
        """Compute the attention state of the common prefix of all prompts, or load it from `folder`.

        Args:
            prompts: (messages, answer) pairs.
            folder: Folder for storing the state, None for none.

        Raises:
            ModelError: Stopped.
        """
        with self._lock:
            common = _common([self._prompt(*prompt) for prompt in prompts])
            if not common:
                return
            path = folder and folder / f"prefix-{digest(self.identity, UBATCH, common)[:32]}.kv"
            if path and (state := _read_state(path)) and self.runtime.restore(common, state):
                return
            self.runtime.feed(common, self._check(None))
            if path:
                _write_state(path, self.runtime.state())

    def prepare(
        self, messages: Sequence[Mapping[str, str]], answer: str, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Process a prompt in advance, so that calls with the same prompt or a common prefix are faster.

        Args:
            messages: The prompt's messages.
            answer: Beginning of the answer.
            stopped: Called between passes; if it returns True, the rest is skipped.

        Raises:
            ModelError: The prompt is too long, or the model is closed.
        """
        check = self._check(None)

        def go_on() -> None:
            check()
            if stopped():
                raise _LeftOff

        with self._lock, contextlib.suppress(_LeftOff):
            self.runtime.feed(self._prompt(messages, answer), go_on)

    def score(
        self,
        messages: Sequence[Mapping[str, str]],
        answer: str,
        candidates: Sequence[str],
        *,
        deadline: float | None = None,
    ) -> Scores:
        """Score how likely each candidate follows `answer`, as a line of its own.

        Args:
            messages: The prompt's messages.
            answer: Beginning of the answer.
            candidates: The texts to score.
            deadline: Timeout in seconds, including the wait for other calls.

        Raises:
            ModelError: The prompt is too long, or the call was stopped.
            TimeoutError: The deadline passed.
        """
        check = self._check(deadline)
        with self._lock:
            prompt = self._prompt(messages, answer)
            tails = [self.runtime.tokenize(tail(answer, text)) for text in candidates]
            logprobs = self.runtime.score(prompt, tails, check)
        totals = among(tails, logprobs) if self._constrained else [sum(path) for path in logprobs]
        distinct = {tuple(tail[: depth + 1]) for tail in tails for depth in range(len(tail))}
        return Scores(
            mean=tuple(total / len(tail) for total, tail in zip(totals, tails, strict=True)),
            lengths=tuple(len(tail) for tail in tails),
            prompt_tokens=len(prompt),
            answer_tokens=len(distinct),
        )

    def write(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        answer: str = "",
        max_tokens: int = 512,
        temperature: float = 0.0,
        seed: int = 1,
        schema: Mapping[str, Any] | None = None,
        top: int = 0,
        deadline: float | None = None,
    ) -> Text:
        """Write an answer, sampled at `temperature` (0: always the most probable token).

        Args:
            messages: The prompt's messages.
            answer: Beginning of the answer.
            max_tokens: Most tokens to write.
            temperature: Sampling temperature.
            seed: Seed for sampling.
            schema: JSON schema that the answer must follow.
            top: Number of alternatives of the first token to return.
            deadline: Timeout in seconds.

        Raises:
            ModelError: The prompt is too long, the call was stopped, or no answer follows the schema.
            TimeoutError: The deadline passed.
        """
        check = self._check(deadline)
        rng = np.random.default_rng(seed)
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text = ""
        likeliest: tuple[tuple[str, float], ...] = ()
        with self._lock:
            tokens = self._prompt(messages, answer)
            start = len(tokens)
            limit = min(max_tokens, self.context - start)
            if limit < 1:
                raise TooLong(TOO_LONG.format(start, self.runtime.name, self.context))
            grammar = self.runtime.grammar(schema) if schema is not None else None
            try:
                while len(tokens) - start < limit:
                    logits = self.runtime.feed(tokens, check)
                    if top and len(tokens) == start:
                        likeliest = self._likeliest(logits, top)
                    weights = _weights(logits, temperature, rng)
                    token = grammar.best(weights) if grammar else int(weights.argmax())
                    if self.runtime.ends(token):
                        text += decoder.decode(b"", True)
                        return Text(text, start, len(tokens) - start, False, likeliest)
                    if grammar:
                        grammar.accept(token)
                    tokens.append(token)
                    text += decoder.decode(self.runtime.piece(token))
            finally:
                if grammar:
                    grammar.close()
        return Text(text, start, limit, True, likeliest)

    def _likeliest(self, logits: NDArray[np.float32], count: int) -> tuple[tuple[str, float], ...]:
        values = logits.astype(np.float64)
        values -= values.max()
        values -= np.log(np.exp(values).sum())
        best = np.argsort(-values, kind="stable")[:count]
        return tuple((self.runtime.piece(int(t)).decode(errors="replace"), float(values[t])) for t in best)

    def _check(self, deadline: float | None) -> Callable[[], None]:
        until = math.inf if deadline is None else time.monotonic() + deadline
        stops = self._stops

        def check() -> None:
            if self._stopped or self._stops != stops:
                raise ModelError("cancelled", fatal=True)
            if time.monotonic() > until:
                raise TimeoutError

        return check

    def _prompt(self, messages: Sequence[Mapping[str, str]], answer: str) -> list[int]:
        if [m["role"] for m in messages] == [TRANSCRIPT]:
            return self.runtime.tokenize(f"{messages[0]['content']}\n\n{answer}")
        chat = [(m["role"], plain(m["content"])) for m in messages]
        return self.runtime.tokenize(self.runtime.render(chat) + answer, special=True)

    def stop(self) -> None:
        """Make the running call and waiting calls raise ModelError soon."""
        self._stopped = True
        self._stops += 1

    def go(self) -> None:
        """Accept calls again after `stop`."""
        self._stopped = False

    def close(self) -> None:
        """Stop a running call, wait for it, and free the memory; calling this twice is safe."""
        self.stop()
        with self._lock:
            self.runtime.close()


def _common(sequences: Sequence[list[int]]) -> list[int]:
    """Return the longest common prefix."""
    length = 0
    for tokens in zip(*sequences, strict=False):
        if len(set(tokens)) > 1:
            break
        length += 1
    return sequences[0][:length] if sequences else []


def _read_state(path: Path) -> bytes | None:
    """Read a stored state; None if there is none or it is damaged."""
    try:
        with open_binary(path) as file:
            raw = file.read()
    except OSError:
        return None
    found, state = raw[:32], raw[32:]
    return state if hashlib.sha256(state).digest() == found else None


def _write_state(path: Path, state: bytes) -> None:
    """Store a state and delete all but the latest few. Errors of the disk are ignored."""
    with contextlib.suppress(OSError):
        private_folder(path.parent)
        write_private(path, hashlib.sha256(state).digest() + state)
        kept = sorted(path.parent.glob("prefix-*.kv"), key=lambda p: p.stat().st_mtime)
        for old in kept[:-KEPT_STATES]:
            old.unlink(missing_ok=True)


def _weights(logits: Any, temperature: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return weights with a maximum that is distributed as a sample at `temperature` (Gumbel-max)."""
    weights: NDArray[np.float64] = logits.astype(np.float64)
    if temperature > 0:
        weights = weights / temperature + rng.gumbel(size=len(weights))
    return weights

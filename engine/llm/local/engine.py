"""A model file run in this process: scores of given answers, and free text."""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from engine.errors import MissingError, ModelError, TooLong
from engine.llm.calls.cache import digest
from engine.llm.local.llamacpp import INSTALL, Unsupported
from engine.llm.local.runtime import TOO_LONG, UBATCH, Runtime
from engine.llm.local.weights import fingerprint
from engine.llm.prompts import TRANSCRIPT

CONTEXT = 4096
KEPT_STATES = 4


def default_threads() -> int:
    """Return the threads to compute with: all cores but one, so that the screen stays alive."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, usable - 1)


@dataclass(frozen=True, slots=True)
class Scores:
    """How likely each of the given answers is.

    Attributes:
        mean: Log-likelihood per token, nats, one for each answer.
        lengths: Tokens of each answer, the end of the line included.
        prompt_tokens: Tokens before the answers.
        answer_tokens: Tokens of the answers, shared beginnings counted once.
    """

    mean: tuple[float, ...]
    lengths: tuple[int, ...]
    prompt_tokens: int
    answer_tokens: int


@dataclass(frozen=True, slots=True)
class Text:
    """What was written.

    Attributes:
        cut: It ended at the token limit.
        top: The likeliest first tokens with their log-probabilities, nats, at temperature 1 and whatever the schema;
            () if they were not asked for.
    """

    text: str
    prompt_tokens: int
    completion_tokens: int
    cut: bool
    top: tuple[tuple[str, float], ...] = ()


class _LeftOff(Exception):
    """Nobody wants any more what is being prepared."""


class LocalEngine:
    """One GGUF model, loaded once. Calls from several threads wait for one another.

    Args:
        path: The file.
        threads: None for all cores but one.

    Raises:
        MissingError: The file or the runtime is missing, damaged, or of an unknown version.
    """

    def __init__(
        self,
        path: Path,
        *,
        threads: int | None = None,
        context: int = CONTEXT,
        on_progress: Callable[[float], bool] | None = None,
    ) -> None:
        try:
            self._runtime = Runtime(
                path, threads=threads or default_threads(), context=context, on_progress=on_progress
            )
        except Unsupported as error:
            raise MissingError(
                f"this version of the runtime does not fit ({error}); try: {INSTALL}"
            ) from None
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self.context = self._runtime.context
        self.identity = fingerprint(path)

    def count(self, messages: Sequence[Mapping[str, str]], answer: str = "") -> int:
        """Return the tokens of a prompt."""
        with self._lock:
            return len(self._prompt(messages, answer))

    def warm(self, prompts: Sequence[tuple[Sequence[Mapping[str, str]], str]], folder: Path | None) -> None:
        """Compute what all of `prompts` (messages, answer) begin with, or take it from `folder`.

        Raises:
            ModelError: Stopped.
        """
        with self._lock:
            common = _common([self._prompt(*prompt) for prompt in prompts])
            if not common:
                return
            path = folder and folder / f"prefix-{digest(self.identity, UBATCH, common)[:32]}.kv"
            if path and (state := _read_state(path)) and self._runtime.restore(common, state):
                return
            self._runtime.feed(common, self._check(None))
            if path:
                _write_state(path, self._runtime.state())

    def prepare(
        self, messages: Sequence[Mapping[str, str]], answer: str, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Take in a prompt, so that a call with it, or with much of it, finds that done.

        Args:
            stopped: Asked between passes; the rest is left when it returns True.

        Raises:
            ModelError: Too long, or the model is closed.
        """
        check = self._check(None)

        def go_on() -> None:
            check()
            if stopped():
                raise _LeftOff

        with self._lock, contextlib.suppress(_LeftOff):
            self._runtime.feed(self._prompt(messages, answer), go_on)

    def score(
        self,
        messages: Sequence[Mapping[str, str]],
        answer: str,
        candidates: Sequence[str],
        *,
        deadline: float | None = None,
    ) -> Scores:
        """Return how likely each candidate is to follow `answer`, as a line of its own.

        Args:
            deadline: Seconds the call may take, waiting for other calls included.

        Raises:
            ModelError: Too long, or stopped.
            TimeoutError: Not done within `deadline`.
        """
        check = self._check(deadline)
        with self._lock:
            prompt = self._prompt(messages, answer)
            space = "" if answer.endswith(">") else " "  # a command prompt takes none
            tails = [self._runtime.tokenize(f"{space}{_plain(text)}\n") for text in candidates]
            logprobs = self._runtime.score(prompt, tails, check)
        distinct = {tuple(tail[: depth + 1]) for tail in tails for depth in range(len(tail))}
        return Scores(
            mean=tuple(sum(path) / len(path) for path in logprobs),
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
        """Return the model's answer, drawn at `temperature` (0: always the likeliest token).

        Args:
            schema: JSON schema that the answer is kept to.
            top: How many alternatives of the first token to tell.

        Raises:
            ModelError: Too long, stopped, or no such answer.
            TimeoutError: Not done within `deadline` seconds.
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
                raise TooLong(TOO_LONG.format(start, self._runtime.name, self.context))
            grammar = self._runtime.grammar(schema) if schema is not None else None
            try:
                while len(tokens) - start < limit:
                    logits = self._runtime.feed(tokens, check)
                    if top and len(tokens) == start:
                        likeliest = self._likeliest(logits, top)
                    weights = _weights(logits, temperature, rng)
                    token = grammar.best(weights) if grammar else int(weights.argmax())
                    if self._runtime.ends(token):
                        text += decoder.decode(b"", True)
                        return Text(text, start, len(tokens) - start, False, likeliest)
                    if grammar:
                        grammar.accept(token)
                    tokens.append(token)
                    text += decoder.decode(self._runtime.piece(token))
            finally:
                if grammar:
                    grammar.close()
        return Text(text, start, limit, True, likeliest)

    def _likeliest(self, logits: NDArray[np.float32], count: int) -> tuple[tuple[str, float], ...]:
        values = logits.astype(np.float64)
        values -= values.max()
        values -= np.log(np.exp(values).sum())
        best = np.argsort(-values, kind="stable")[:count]
        return tuple((self._runtime.piece(int(t)).decode(errors="replace"), float(values[t])) for t in best)

    def _check(self, deadline: float | None) -> Callable[[], None]:
        until = math.inf if deadline is None else time.monotonic() + deadline

        def check() -> None:
            if self._stop.is_set():
                raise ModelError("cancelled", fatal=True)
            if time.monotonic() > until:
                raise TimeoutError

        return check

    def _prompt(self, messages: Sequence[Mapping[str, str]], answer: str) -> list[int]:
        if [m["role"] for m in messages] == [TRANSCRIPT]:
            return self._runtime.tokenize(f"{messages[0]['content']}\n\n{answer}")
        chat = [(m["role"], _plain(m["content"])) for m in messages]
        return self._runtime.tokenize(self._runtime.render(chat) + answer, special=True)

    def stop(self) -> None:
        """Make the running call, and those that wait, raise ModelError soon."""
        self._stop.set()

    def go(self) -> None:
        """Take calls again after `stop`."""
        self._stop.clear()

    def close(self) -> None:
        """Free the memory; waits for a running call, which it stops. Safe to call twice."""
        self.stop()
        with self._lock:
            self._runtime.close()


def _common(sequences: Sequence[list[int]]) -> list[int]:
    """Return what all sequences begin with."""
    length = 0
    for tokens in zip(*sequences, strict=False):
        if len(set(tokens)) > 1:
            break
        length += 1
    return sequences[0][:length] if sequences else []


def _read_state(path: Path) -> bytes | None:
    """Return a kept state, None if there is none or it is damaged."""
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    found, state = raw[:32], raw[32:]
    return state if hashlib.sha256(state).digest() == found else None


def _write_state(path: Path, state: bytes) -> None:
    """Keep a state, at best; of several prefixes the latest few."""
    unfinished = path.with_suffix(f".{os.getpid()}")
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.write_bytes(hashlib.sha256(state).digest() + state)
        unfinished.replace(path)
        kept = sorted(path.parent.glob("prefix-*.kv"), key=lambda p: p.stat().st_mtime)
        for old in kept[:-KEPT_STATES]:
            old.unlink(missing_ok=True)


def _plain(text: str) -> str:
    """Return `text` without what a tokenizer would take for control words of the chat format."""
    return text.replace("<|", "< |")


def _weights(logits: Any, temperature: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return weights whose largest is a draw at `temperature` (Gumbel-max)."""
    weights: NDArray[np.float64] = logits.astype(np.float64)
    if temperature > 0:
        weights = weights / temperature + rng.gumbel(size=len(weights))
    return weights

"""What a server takes: which parameters it refuses, and how many tokens a prompt and its answer may have together.

Servers differ, and the name of a model does not tell: a reasoning model behind an Azure deployment has any name. So a
request that is refused with the name of a parameter is sent again without it. If that helps, it is remembered.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.disk import cache_json, cached_json

FILE = "endpoints.json"
MOST = 200
"""Most endpoints in the file; the latest are kept."""
KEPT_S = 30 * 86_400.0
"""Seconds after which what is remembered expires, because servers change."""

MARGIN = 16
"""Tokens of the context that are left free, because servers add a few of their own to a prompt."""
LEAST_ROOM = 512
"""Tokens to leave for an answer in words; a prompt that leaves less is too long."""
LEAST_WINDOW, LARGEST_CONTEXT = 4096, 10**8
"""Smallest context that Ollama is asked for, and the largest one that is believed; tokens."""

LEAST_COUNTED = 500
"""Estimated tokens of the shortest prompt from which is learned how many tokens the server counts."""
LIMITS = ("max_tokens", "max_completion_tokens")
"""Parameters that limit the tokens of an answer."""

Change = str | int | None
"""What is done about a parameter: another name for it, a largest value, or None to leave it out."""


@dataclass(frozen=True, slots=True)
class ParameterRule:
    """What may be done about a parameter that a server refuses. Whatever does not help, it is left out.

    Attributes:
        lowered: Whether a largest value in the error is used.
        other: Another name that servers have for it, "" if none.
        along: Parameters that mean nothing without it.
        words: Other words by which errors name it.
    """

    lowered: bool = False
    other: str = ""
    along: tuple[str, ...] = ()
    words: tuple[str, ...] = ()


RULES: Mapping[str, ParameterRule] = {
    "max_tokens": ParameterRule(lowered=True, other="max_completion_tokens"),
    "max_completion_tokens": ParameterRule(lowered=True, other="max_tokens"),
    "top_logprobs": ParameterRule(lowered=True, along=("logprobs",)),
    "logprobs": ParameterRule(along=("top_logprobs",), words=("logprob", "log probabilities")),
    "response_format": ParameterRule(words=("json_schema", "json_object", "structured output")),
    "reasoning_effort": ParameterRule(words=("reasoning",)),
    "stop": ParameterRule(words=("stop_sequences",)),
}
"""The parameters about which more can be done than to leave them out."""
_SENT_ALWAYS = frozenset({"model", "messages", "prompt", "answer"})
_NO_RULE = ParameterRule()

_LARGEST = re.compile(
    r"(?:at most|up to|less than or equal to|lower than or equal to|<=|≤|maximum(?: value)?(?: is| of|:)?|"
    r"\[\d+, ?|\d > |between \d+ and)\s*[`'\"]?(\d{1,9})\b"
)
_CONTEXT = (r"\d \+ \d+ > (\d{3,9})", r"context (?:length|size|window|limit)\D{0,40}?(\d{3,9})")
_PROMPT = (
    r"(\d{1,9}) (?:in the messages|of text input|input tokens|prompt tokens|in the prompt)",
    r"request \((\d{1,9}) tokens", r"(\d{1,9}) \+ \d+ >", r"resulted in (\d{1,9}) tokens",
)  # fmt: skip
"""How errors name the tokens of the context and of the prompt; the first that is found counts."""


class Endpoint:
    """What is known of one model on one server. Thread-safe.

    Args:
        name: Name of the model, for people.
        identity: Identifies model and server in the file.
        folder: Folder of the file, None to remember nothing after this process.
        windowed: Whether the server has to be told how large a context is needed (`num_ctx`), as Ollama has.

    Attributes:
        context: Tokens that a prompt and its answer may have together; 0 if this is not known.
    """

    def __init__(self, name: str, identity: str, folder: Path | None, *, windowed: bool = False) -> None:
        self.context = 0
        self._name, self._identity, self._folder = name, identity, folder
        self._windowed = windowed
        self._window = 0
        self._ratio = 1.0
        self._lock = threading.Lock()
        self._changes: dict[str, Change] = _remembered(folder, identity)
        self._kept = dict(self._changes)

    def request(self, arguments: Mapping[str, Any], prompt: int) -> dict[str, Any]:
        """Return arguments as this server takes them.

        Args:
            arguments: Arguments of litellm's `completion`.
            prompt: Estimated tokens of the prompt.
        """
        with self._lock:
            sent = dict(arguments)
            for name, change in self._changes.items():
                if name not in sent:
                    continue
                value = sent.pop(name)
                if isinstance(change, str):
                    sent[change] = value
                elif change is not None:
                    sent[name] = min(change, value)
            needed = math.ceil(prompt * self._ratio) + MARGIN
            for name in LIMITS:
                if name in sent and self.context:
                    sent[name] = max(1, min(sent[name], self.context - needed))
                if name in sent and self._windowed:
                    sent["num_ctx"] = self._opened(needed + sent[name])
            return sent

    def _opened(self, tokens: int) -> int:
        """Return the context to ask for. It never shrinks, because the server loads the model anew for another one."""
        wanted = max(LEAST_WINDOW, 1 << (tokens - 1).bit_length())
        self._window = max(self._window, min(wanted, self.context or wanted))
        return self._window

    def squeezed(self, asked: Mapping[str, Any], sent: Mapping[str, Any]) -> bool:
        """Return whether an answer may have fewer tokens than was asked, because of the context."""
        limit = sent.get("max_tokens") or sent.get("max_completion_tokens") or 0
        return bool(self.context) and 0 < limit < asked.get("max_tokens", 0)

    def leaves_out(self, name: str) -> bool:
        """Return whether a parameter is left out, because the server refuses it."""
        return name in self._changes and self._changes[name] is None

    def longest(self, room: int) -> int:
        """Return the most estimated tokens that a prompt may have, so that `room` are left; 0 if it is not known."""
        return max(1, int((self.context - MARGIN - room) / self._ratio)) if self.context else 0

    def counted(self, estimated: int, tokens: int) -> None:
        """Take in how many tokens the server counts in a prompt, so that later estimates are as large.

        A short prompt tells little: much of it is what the server adds.
        """
        if estimated >= LEAST_COUNTED:
            self._estimate(estimated, tokens)

    def _estimate(self, estimated: int, tokens: int) -> None:
        with self._lock:
            self._ratio = max(self._ratio, min(8.0, tokens / max(1, estimated)))

    def too_long(self, error: BaseException, sent: Mapping[str, Any], prompt: int) -> bool:
        """Read the context from an error; return whether the same prompt fits if its answer is shorter."""
        text = str(error).lower()
        found, counted = _number(_CONTEXT, text), _number(_PROMPT, text)
        if not found or found > LARGEST_CONTEXT:
            return False
        before = {name: sent[name] for name in LIMITS if name in sent}
        self.context = min(found, self.context or found)
        self._estimate(prompt, counted)
        after = self.request(sent, prompt)
        return any(min(LEAST_ROOM, old) <= after.get(name, 0) < old for name, old in before.items())

    def refused(self, error: BaseException, sent: Mapping[str, Any]) -> bool:
        """Change what is sent if an error names a parameter; return whether there is something else to send."""
        text = str(error)
        name = _named(error, text, sent.keys() - _SENT_ALWAYS)
        if not name:
            return False
        rule = RULES.get(name, _NO_RULE)
        with self._lock:
            most = next((n for n in map(int, _LARGEST.findall(text)) if 0 < n < sent[name]), 0) if rule.lowered else 0
            change: Change = most or None
            if not most and rule.other and rule.other not in self._changes:
                change = rule.other
            for each in (name, *(rule.along if change is None else ())):
                self._changes[each] = change
        return True

    def settle(self, *, helped: bool) -> str:
        """Remember the changes if they helped, else take them back; return a sentence if they are new, "" if not."""
        with self._lock:
            if self._changes == self._kept:
                return ""
            if not helped:
                self._changes = dict(self._kept)
                return ""
            new = {name: how for name, how in self._changes.items() if self._kept.get(name, "") != how}
            self._kept = dict(self._changes)
            if self._folder is not None:
                _remember(self._folder, self._identity, self._kept)
        dropped = (
            f"{name} is left out" if how is None
            else f"{name} is sent as {how}" if isinstance(how, str)
            else f"{name} is at most {how:,}"
            for name, how in new.items()
        )  # fmt: skip
        return f"{self._name} does not take every parameter: {', '.join(dropped)} from now on"


def _named(error: BaseException, text: str, sent: Collection[str]) -> str:
    """Return the parameter that an error is about, of those that were sent; "" if it is about none."""
    words = {word: name for name in sent for word in (name, *RULES.get(name, _NO_RULE).words)}
    words |= {other: name for name in sent if (other := RULES.get(name, _NO_RULE).other) and other not in words}
    field = re.split(r"[.\[]", str(getattr(error, "param", None) or ""))[0]
    if field in words:
        return words[field]
    found = re.search("|".join(rf"(?<!\w){re.escape(w)}" for w in sorted(words, key=len, reverse=True)), text)
    return words[found[0]] if found and words else ""


def _number(patterns: Iterable[str], text: str) -> int:
    return next((int(found[1]) for pattern in patterns if (found := re.search(pattern, text))), 0)


def _entries(folder: Path | None) -> dict[str, Any]:
    """Return what is remembered, by identity, without what has expired; {} if the file cannot be read."""
    now = time.time()
    return {
        identity: entry
        for identity, entry in (cached_json(folder / FILE) if folder is not None else {}).items()
        if isinstance(entry, dict) and isinstance(at := entry.get("at"), (int, float)) and 0 <= now - at < KEPT_S
    }


def _remembered(folder: Path | None, identity: str) -> dict[str, Change]:
    changes = _entries(folder).get(identity, {}).get("changes")
    found = changes.items() if isinstance(changes, dict) else ()
    return {name: how for name, how in found if how is None or type(how) in (str, int)}


def _remember(folder: Path, identity: str, changes: Mapping[str, Change]) -> None:
    """Add changes to the file. Errors of the disk are ignored: what is not remembered is found out again."""
    known = _entries(folder)
    known.pop(identity, None)
    known[identity] = {"changes": dict(changes), "at": time.time()}
    cache_json(folder / FILE, dict([*known.items()][-MOST:]))

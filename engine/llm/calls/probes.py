"""Decides how to read a model behind an API that nobody has measured: by asking it once and caching the result.

The results of the two small calls are kept in the cache folder for some weeks. If the file is missing or damaged, the
model is asked again.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.disk import cache_json, cached_json
from engine.llm.calls.client import ModelClient
from engine.llm.calls.client_factory import open_client
from engine.llm.calls.inquiry import ProbeResult, reach
from engine.records import Notice
from engine.settings import Settings

FILE = "probes.json"
MOST = 200
"""Most models in the file; the latest are kept."""

KEPT_S = 30 * 86_400.0
"""Seconds after which a result expires, because servers change."""

ENOUGH = 5
"""Alternative tokens that a server must give for its log-probabilities to cover several actions."""


@dataclass(frozen=True, slots=True)
class Probe:
    """The result of asking a model.

    Attributes:
        logprobs: Number of alternatives given for a token.
        schema: Whether an answer followed a JSON schema.
        at: Time in seconds since the epoch.
    """

    logprobs: int
    schema: bool
    at: float


def reading(client: ModelClient, cache: Path | None, words: int, clock: Callable[[], float] = time.time) -> str:
    """Return "token" or "verbalized": how to read this model, from the file or from two small calls.

    Args:
        client: Calls the model.
        cache: Folder of the file, None to keep nothing.
        words: Largest number of tokens of an answer in words.
        clock: Returns the time in seconds since the epoch.

    If the model cannot be reached, the result is "verbalized" and is not stored. The next call will report the error.

    Raises:
        ModelError: Cancelled.
    """
    found = load(cache, clock).get(client.identity)
    if found is None:
        reached = reach(client, words)
        if reached.trouble:
            return "verbalized"
        found = Probe(reached.logprobs, reached.schema, clock())
        if cache is not None:
            remember(cache, client.identity, found, clock)
    return "token" if found.logprobs >= ENOUGH else "verbalized"


def probe(name: str, cache: Path | None, notify: Callable[[str], None]) -> ProbeResult:
    """Ask a model behind an API anew what it can do, and store the result.

    Args:
        name: Name of the model.
        cache: Folder in which the result, and what the server refuses, are kept; None to keep nothing.
        notify: Called with each sentence about the server.
    """
    settings = Settings(deadline_s=60.0)
    client, close = open_client(name, settings, cache=cache, attempts=1)
    client.on_event(lambda event: notify(event.message) if isinstance(event, Notice) else None)
    try:
        reached = reach(client, settings.reply_tokens)
        if cache is not None and not reached.trouble:
            remember(cache, client.identity, Probe(reached.logprobs, reached.schema, time.time()))
        return reached
    finally:
        close()


def load(cache: Path | None, clock: Callable[[], float] = time.time) -> dict[str, Probe]:
    """Return the stored results that have not expired, by `ModelClient.identity`; {} if the file cannot be read."""
    items = cached_json(cache / FILE) if cache is not None else {}
    probes = {name: probe for name, value in items.items() if (probe := _probe(value)) is not None}
    now = clock()
    return {name: probe for name, probe in probes.items() if 0 <= now - probe.at < KEPT_S}


def remember(cache: Path, identity: str, found: Probe, clock: Callable[[], float] = time.time) -> None:
    """Store a result. Errors of the disk are ignored."""
    probes = load(cache, clock) | {identity: found}
    latest = sorted(probes, key=lambda name: probes[name].at)[-MOST:]
    cache_json(cache / FILE, {name: asdict(probes[name]) for name in latest})


def _probe(value: Any) -> Probe | None:
    if not isinstance(value, dict):
        return None
    logprobs, schema, at = value.get("logprobs"), value.get("schema"), value.get("at")
    if type(logprobs) is not int or type(at) is not float or not math.isfinite(at):
        return None
    return Probe(logprobs, bool(schema), at)

"""How a model behind an API is to be read that nobody has measured: asked once, then remembered.

What two small calls showed is kept in the cache folder for some weeks. The file is of no importance: if it is
missing or damaged, the model is asked again.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.llm.calls.client import Client
from engine.llm.calls.inquiry import reach

FILE = "probes.json"
MOST = 200
"""Models remembered; of more, the latest."""

KEPT_S = 30 * 86_400.0
"""Seconds for which an answer is believed: servers change."""

ENOUGH = 5
"""Alternatives of a token that must be told, so that its log-probabilities say something of several actions."""


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found.

    Attributes:
        logprobs: Alternatives told of a token.
        schema: Whether an answer kept to a JSON schema.
        at: When, Unix time.
    """

    logprobs: int
    schema: bool
    at: float


def reading(client: Client, cache: Path | None, clock: Callable[[], float] = time.time) -> str:
    """Return "token" or "verbalized", as it is remembered of `client`'s model or as two small calls show.

    Nothing is remembered of a model that cannot be reached; the next call will say what is wrong.

    Raises:
        ModelError: Cancelled.
    """
    found = load(cache, clock).get(client.identity)
    if found is None:
        reached = reach(client)
        if reached.trouble:
            return "verbalized"
        found = Probe(reached.logprobs, reached.schema, clock())
        if cache is not None:
            remember(cache, client.identity, found, clock)
    return "token" if found.logprobs >= ENOUGH else "verbalized"


def load(cache: Path | None, clock: Callable[[], float] = time.time) -> dict[str, Probe]:
    """Return what is known, by `Client.identity`; {} if nothing can be read."""
    if cache is None:
        return {}
    found: Any = None
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads((cache / FILE).read_text(encoding="utf-8"))
    items = found.items() if isinstance(found, dict) else ()
    probes = {name: probe for name, value in items if (probe := _probe(value)) is not None}
    now = clock()
    return {name: probe for name, probe in probes.items() if 0 <= now - probe.at < KEPT_S}


def remember(cache: Path, identity: str, found: Probe, clock: Callable[[], float] = time.time) -> None:
    """Keep what was found, at best."""
    probes = load(cache, clock) | {identity: found}
    latest = sorted(probes, key=lambda name: probes[name].at)[-MOST:]
    text = json.dumps({name: asdict(probes[name]) for name in latest}, indent=1)
    unfinished = cache / f"{FILE}.{os.getpid()}.{threading.get_ident()}"
    with contextlib.suppress(OSError):
        cache.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(cache / FILE)


def _probe(value: Any) -> Probe | None:
    if not isinstance(value, dict):
        return None
    logprobs, schema, at = value.get("logprobs"), value.get("schema"), value.get("at")
    if type(logprobs) is not int or type(at) is not float or not math.isfinite(at):
        return None
    return Probe(logprobs, bool(schema), at)

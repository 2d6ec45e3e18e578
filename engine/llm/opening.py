"""Putting a model together from its parts."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from engine.errors import MissingError, UsageError
from engine.llm.calls.cache import Cache
from engine.llm.calls.client import Client
from engine.llm.calls.gateway import Gateway
from engine.llm.calls.pace import Pace
from engine.llm.calls.patience import Limits
from engine.llm.language import LanguageModel
from engine.llm.local import gguf, weights
from engine.llm.local.engine import LocalEngine
from engine.llm.reading.capability import best_reading
from engine.settings import Settings

SMALL = 700 * 2**20
"""Bytes of a model file below which a model goes on with a transcript better than it follows instructions."""


def open_local(
    name: str,
    settings: Settings,
    cache: Path | None,
    on_progress: Callable[[str], None],
    *,
    keep: bool = True,
) -> LanguageModel:
    """Return a model that runs in this process.

    Raises:
        MissingError: Its file or the runtime is missing, or damaged.
        UsageError: No such local model.
    """
    path = weights.find(name, cache, on_progress)
    shown = -1

    def progress(share: float) -> bool:
        nonlocal shown
        if (step := int(share * 10)) > shown:
            shown = step
            on_progress(f"loading {name} ({step * 10} %)")
        return True

    known = weights.KNOWN.get(name)
    small = path.stat().st_size < SMALL
    engine = _engine(path, cache if small else None, settings.threads or None, progress)
    key = name.removeprefix("local/") if name.startswith("local/") else path.stem
    gateway = Gateway({key: engine})
    replies = _cache(cache if keep else None)
    client = Client(
        name, f"local/{key}", engine.identity, gateway, replies, Pace(None, 0.0), _limits(settings)
    )
    reading = settings.logits
    if reading == "auto":
        reading = best_reading(cache, name) or (known.reading if known else "string")
    after = known.scored_after if known else "actions_transcript" if small else "actions_listed"
    model = LanguageModel(client, gateway, replies, settings, reading, engine, after)
    on_progress(f"preparing {name}")
    model.warm(cache / "prefixes" if cache else None)
    return model


def _engine(
    path: Path, cache: Path | None, threads: int | None, progress: Callable[[float], bool]
) -> LocalEngine:
    """Load a model file, or what `gguf` makes of it in `cache`.

    Raises:
        MissingError: Missing, damaged, or there is no runtime for it.
    """
    if cache is not None:
        faster = for_speed(path, cache)
        if faster != path:
            try:
                return LocalEngine(faster, threads=threads, on_progress=progress)
            except MissingError:
                faster.unlink(missing_ok=True)  # damaged since: it is made anew next time
    return LocalEngine(path, threads=threads, on_progress=progress)


def for_speed(path: Path, cache: Path) -> Path:
    """Return what `gguf.for_speed` makes of a model file in `cache`, or the file itself."""
    return gguf.for_speed(path, cache / "models", f"{path.stem}-{weights.fingerprint(path)[:8]}")


def open_remote(
    name: str,
    settings: Settings,
    cache: Path | None,
    environment: Mapping[str, str] | None = None,
    *,
    keep: bool = True,
) -> LanguageModel:
    """Return a model behind an API; nothing is called yet, not even to see how it can be read.

    Raises:
        UsageError: It cannot be read as the settings ask.
    """
    if settings.logits == "string":
        raise UsageError(
            f"only local models can be read by string; {name} needs --logits token or verbalized"
        )
    gateway = Gateway()
    replies = _cache(cache if keep else None)
    client = _remote_client(name, settings, cache, environment, gateway, replies, _limits(settings))
    known = settings.logits if settings.logits != "auto" else best_reading(cache, name)
    probe = None if known else partial(_reading, cache)
    return LanguageModel(client, gateway, replies, settings, known or "verbalized", probe=probe)


def _reading(cache: Path | None, client: Client) -> str:
    from engine.llm.calls import probing

    return probing.reading(client, cache)


def open_client(
    name: str, settings: Settings, environment: Mapping[str, str] | None = None, *, attempts: int
) -> tuple[Client, Callable[[], None]]:
    """Return a client of a model behind an API that keeps nothing and has no patience, and what closes it."""
    gateway = Gateway()
    limits = replace(_limits(settings), attempts=attempts, patience_s=0.0)
    client = _remote_client(name, settings, None, environment, gateway, _cache(None), limits)
    return client, gateway.close


def _remote_client(
    name: str,
    settings: Settings,
    cache: Path | None,
    environment: Mapping[str, str] | None,
    gateway: Gateway,
    replies: Cache,
    limits: Limits,
) -> Client:
    env = os.environ if environment is None else environment
    base = address(name, env)
    options: dict[str, str] = {}
    if base:
        options["api_base"] = base
        if name.startswith("openai/") and not env.get("OPENAI_API_KEY"):
            options["api_key"] = "none"  # servers of one's own ask for none, but the client insists
    pace = Pace(cache / "pace.sqlite" if cache else None, settings.requests_per_minute)
    identity = f"{name} {base}" if base else name
    return Client(name, name, identity, gateway, replies, pace, limits, options)


def address(name: str, environment: Mapping[str, str]) -> str:
    """Return the server of one's own that calls to `name` go to, "" for the provider's."""
    base = environment.get("JITRL_API_BASE", "")
    if not base and name.startswith("openai/"):
        base = environment.get("OPENAI_API_BASE") or environment.get("OPENAI_BASE_URL") or ""
    return base


def _cache(folder: Path | None) -> Cache:
    return Cache(folder / "replies.sqlite" if folder else None)


def _limits(settings: Settings) -> Limits:
    return Limits(
        deadline_s=settings.deadline_s,
        attempts=settings.attempts,
        usd=settings.budget_usd,
        tokens=settings.budget_tokens,
        minutes=settings.budget_minutes,
        patience_s=60.0 * settings.patience_minutes,
    )

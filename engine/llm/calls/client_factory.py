"""Putting a client of a model together from its parts."""

from __future__ import annotations

import os
from base64 import b64encode
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from engine.llm.calls import network
from engine.llm.calls.cache import Cache
from engine.llm.calls.client import ModelClient
from engine.llm.calls.endpoint import Endpoint
from engine.llm.calls.gateway import Gateway
from engine.llm.calls.pace import PACE, Pace
from engine.llm.calls.patience import CallLimits
from engine.redaction import without_credentials
from engine.settings import Settings

CONTINUING = "text-completion-openai/"
"""Begins the names of models that continue a text: a server's /v1/completions is used, outside any chat format."""
OPENAI = ("openai/", CONTINUING)
"""How the names of models begin that are on a server with OpenAI's protocol."""


def continues(name: str) -> bool:
    """Return whether a model of this name continues a text, outside any chat format."""
    return name.startswith(CONTINUING)


def open_client(
    name: str,
    settings: Settings,
    environment: Mapping[str, str] | None = None,
    *,
    attempts: int,
    cache: Path | None = None,
) -> tuple[ModelClient, Callable[[], None]]:
    """Return a client of a model behind an API that keeps no replies and has no patience, and what closes it."""
    gateway = Gateway()
    limits = replace(limits_of(settings), attempts=attempts, patience_s=0.0)
    client = remote_client(name, settings, cache, environment, gateway, reply_cache(None), limits)
    return client, gateway.close


def remote_client(
    name: str,
    settings: Settings,
    cache: Path | None,
    environment: Mapping[str, str] | None,
    gateway: Gateway,
    replies: Cache,
    limits: CallLimits,
) -> ModelClient:
    """Return a client of a model behind an API.

    Args:
        cache: Folder in which all sessions see how often the model is called; None for this one alone.
        environment: Environment variables, None for those of this process.
    """
    env = os.environ if environment is None else environment
    base = address(name, env)
    options: dict[str, Any] = {}
    if base:
        options["api_base"], headers = split_credentials(base)
        if headers:
            options["extra_headers"] = headers
        if name.startswith(OPENAI) and not env.get("OPENAI_API_KEY"):
            options["api_key"] = "none"  # servers of one's own ask for none, but the client insists
    network.bypass(base)
    pace = Pace(cache / PACE if cache else None, settings.requests_per_minute)
    identity = f"{name} {options['api_base']}" if base else name
    endpoint = Endpoint(name, identity, cache, windowed=name.startswith(network.OLLAMA))
    return ModelClient(name, name, identity, gateway, replies, pace, limits, options, endpoint)


def address(name: str, environment: Mapping[str, str]) -> str:
    """Return the server of one's own that calls to `name` go to, "" for the provider's.

    It may have credentials; `engine.redaction.without_credentials` takes them out where it is shown.
    """
    base = environment.get("JITRL_API_BASE", "")
    if not base and name.startswith(OPENAI):
        base = environment.get("OPENAI_API_BASE") or environment.get("OPENAI_BASE_URL") or ""
    return base


def split_credentials(base: str) -> tuple[str, dict[str, str]]:
    """Return a server's address without credentials, and the headers that carry them; {} if it has none.

    So they are in no address that a library puts into its messages.
    """
    login = unquote(urlsplit(base).netloc.rpartition("@")[0])
    headers = {"Authorization": f"Basic {b64encode(login.encode()).decode()}"} if login else {}
    return without_credentials(base), headers


def reply_cache(folder: Path | None) -> Cache:
    """Return the cache of replies in a folder; one that keeps nothing for None."""
    return Cache(folder / "replies.sqlite" if folder else None)


def limits_of(settings: Settings) -> CallLimits:
    """Return what the settings allow the calls to a model."""
    return CallLimits(
        deadline_s=settings.deadline_s,
        attempts=settings.attempts,
        usd=settings.budget_usd,
        tokens=settings.budget_tokens,
        minutes=settings.budget_minutes,
        patience_s=60.0 * settings.patience_minutes,
    )

"""What a server of one's own tells of its models: their names, and how many tokens their contexts have."""

from __future__ import annotations

import contextlib
import json
import os
import urllib.request
from collections.abc import Iterator, Mapping
from typing import Any

from engine.llm.calls.client import ModelClient
from engine.llm.calls.client_factory import address, split_credentials
from engine.llm.calls.network import OLLAMA, bypass, ollama_address

CONTEXTS = ("max_model_len", "context_length", "context_window", "max_context_length")
"""Fields in which servers list the context of a model: vLLM; OpenRouter, Together; Groq; LM Studio, Mistral."""
LARGEST = 1 << 20
"""Most bytes of an answer that are read."""


def list_models(base: str, seconds: float = 5.0, key: str = "") -> list[str]:
    """Return the names of the models of an OpenAI-compatible server.

    Args:
        base: The server's address.
        seconds: Timeout.
        key: API key, "" for none.

    Raises:
        OSError: The server cannot be reached, or needs a key.
        ValueError: The address or the answer is invalid.
    """
    try:
        return [str(item["id"]) for item in _models(base, seconds, key)]
    except (TypeError, KeyError) as error:
        raise ValueError("its list of models is not the OpenAI protocol's") from error


def context(model: str, base: str, seconds: float = 5.0, key: str = "") -> int:
    """Return the tokens of a model's context as its server tells them, 0 if it does not.

    Args:
        model: The server's name for it.
        base: The server's address.
        seconds: Timeout of each of the two questions.
        key: API key, "" for none.
    """
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
        items = _models(base, seconds, key)
        found = [item for item in items if item.get("id") == model] or (items if len(items) == 1 else [])
        for item in found:
            sizes = [item.get(field) for field in CONTEXTS]
            trained = (item.get("meta") or {}).get("n_ctx_train")
            if trained and not any(sizes):  # llama.cpp: what it was trained with, and what the server was started with
                with contextlib.suppress(OSError, ValueError, TypeError, KeyError, AttributeError):
                    props = _asked(base.rstrip("/").removesuffix("/v1") + "/props", seconds, key)
                    sizes = [(props.get("default_generation_settings") or {}).get("n_ctx"), props.get("n_ctx")]
                sizes.append(trained)
            return next(_counts(sizes), 0)
    return 0


def ollama_context(model: str, base: str, seconds: float = 5.0) -> int:
    """Return the largest context of a model of Ollama in tokens, 0 if Ollama does not tell it."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        about = _asked(f"{base.rstrip('/')}/api/show", seconds, "", {"model": model}).get("model_info") or {}
        return next(_counts([size for field, size in about.items() if field.endswith(".context_length")]), 0)
    return 0


def look_up(client: ModelClient, environment: Mapping[str, str] | None = None) -> None:
    """Ask a server of one's own how large the context of a model is. Does nothing for a provider's server."""
    env = os.environ if environment is None else environment
    base, model = address(client.name, env), client.name.partition("/")[2]
    if client.name.startswith(OLLAMA):
        client.endpoint.context = ollama_context(model, base or ollama_address(env))
    elif base:
        client.endpoint.context = context(model, base, key=env.get("OPENAI_API_KEY", ""))


def _counts(values: list[Any]) -> Iterator[int]:
    return (value for value in values if type(value) is int and value > 0)


def _models(base: str, seconds: float, key: str) -> list[Any]:
    if not base.startswith(("http://", "https://")):
        raise ValueError(f"{split_credentials(base)[0]} is no address: it begins with http:// or https://")
    return list(_asked(f"{base.rstrip('/')}/models", seconds, key)["data"])


def _asked(page: str, seconds: float, key: str, body: Mapping[str, Any] | None = None) -> Any:
    """Return the JSON that a server answers at an address; credentials in the address are sent as a header."""
    shown, login = split_credentials(page)
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    data = None if body is None else json.dumps(body).encode()
    if data is not None:
        headers["Content-Type"] = "application/json"
    bypass(shown)
    request = urllib.request.Request(shown, data, headers | login)
    with urllib.request.urlopen(request, timeout=seconds) as response:
        return json.loads(response.read(LARGEST))

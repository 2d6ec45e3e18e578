"""Finds out about a model behind an API: from litellm's tables, and with two small calls."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.errors import JitrlError
from engine.llm.calls.client import CallFailed, ModelClient, TextAnswer
from engine.llm.calls.client_factory import address
from engine.llm.calls.failures import key_name
from engine.llm.listed import list_price
from engine.llm.prompts import Prompt
from engine.llm.reading.readers import TOP
from engine.redaction import without_credentials

QUESTION = Prompt(
    (("user", "Two doors: 1. the red one 2. the blue one. Answer with 1 or 2 and nothing else."),)
)
WORDED = Prompt((("user", 'Is water wet? Answer as JSON: {"answer": "yes"} or {"answer": "no"}.'),))
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "answer",
        "schema": {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": ["yes", "no"]}},
            "required": ["answer"],
            "additionalProperties": False,
        },
    },
}


@dataclass(frozen=True, slots=True)
class KnownModel:
    """What litellm's tables say about a model, without a call.

    Attributes:
        name: Name of the model.
        provider: "" if litellm knows no such provider, so the name is wrong.
        address: The user's own server for its calls, "" for the provider's.
        key: The environment variable for its key, "" if none is needed.
        key_set: Whether this variable is set.
        usd_in, usd_out: US dollars per million tokens, None if no price is known; then a budget in dollars cannot
            work.
        context: Tokens that a prompt may have, None if not known.
        logprobs: Whether the provider's interface has log-probabilities of alternative tokens.
        schema: Whether it has JSON schemas.
        pictures: Whether the model accepts pictures. For the user's own servers this is not known.
    """

    name: str
    provider: str
    address: str
    key: str
    key_set: bool
    usd_in: float | None
    usd_out: float | None
    context: int | None
    logprobs: bool
    schema: bool
    pictures: bool


@dataclass(frozen=True, slots=True)
class ProbeResult:
    """What two small calls showed.

    Attributes:
        trouble: Why there was no answer, "" if there was one.
        seconds: Time of the first answer.
        logprobs: Number of alternatives given for a token; 0 if none, so that only text can be read.
        schema: Whether an answer followed a JSON schema.
        tokens: Tokens of both calls.
        cost_usd: Cost of both calls in US dollars, None if no price is known.
    """

    trouble: str
    seconds: float = 0.0
    logprobs: int = 0
    schema: bool = False
    tokens: int = 0
    cost_usd: float | None = 0.0


def look_up_model(name: str, environment: Mapping[str, str] | None = None) -> KnownModel:
    """Return what is known about a model behind an API, without calling it. Importing litellm takes seconds.

    Raises:
        MissingError: litellm cannot be imported.
    """
    from engine.llm.calls.gateway import import_litellm

    env = os.environ if environment is None else environment
    litellm = import_litellm()
    info: Mapping[str, Any] = {}
    provider, supported = "", ()
    with contextlib.suppress(Exception):  # litellm raises various exceptions for unknown models
        provider = str(litellm.get_llm_provider(name)[1])
        supported = tuple(litellm.get_supported_openai_params(name) or ())
    with contextlib.suppress(Exception):
        info = litellm.get_model_info(name)
    base = address(name, env)
    needed: list[str] = []
    if provider:
        with contextlib.suppress(Exception):
            needed = [
                k for k in litellm.validate_environment(name)["missing_keys"] if not k.endswith("_BASE")
            ]
    # A user's own server usually needs no key. If it does, calling it will show that.
    key = "" if not provider or base or provider in ("ollama", "llamafile", "hosted_vllm") else key_name(name)
    if needed and key and key not in needed:
        key = needed[-1]
    return KnownModel(
        name=name,
        provider=provider,
        address=without_credentials(base),
        key=key,
        key_set=bool(key and (env.get(key) or not needed)),
        usd_in=list_price(name, 10**6, 0),
        usd_out=list_price(name, 0, 10**6),
        context=info.get("max_input_tokens") or info.get("max_tokens"),
        logprobs="top_logprobs" in supported,
        schema=bool(info.get("supports_response_schema")) or "response_format" in supported,
        pictures=bool(info.get("supports_vision")),
    )


def reach(client: ModelClient, words: int) -> ProbeResult:
    """Find out with two small calls whether a model answers, gives log-probabilities, and follows a JSON schema.

    Args:
        client: Calls the model.
        words: Largest number of tokens of an answer in words; a model may think before it.

    Raises:
        ModelError: Cancelled.
    """
    try:
        first = _ask(client, QUESTION, max_tokens=words, logprobs=True, top_logprobs=TOP)
    except CallFailed as failed:
        return ProbeResult(failed.failure.message)
    except JitrlError as error:
        if client.cancelled:
            raise
        return ProbeResult(str(error))
    schema = False
    with contextlib.suppress(CallFailed):
        text = _ask(client, WORDED, max_tokens=words, response_format=SCHEMA).text
        followed = "".join(text.split()) in ('{"answer":"yes"}', '{"answer":"no"}')
        schema = followed and not client.endpoint.leaves_out("response_format")
    usage = client.usage
    # A model that thinks first begins with a token of its thoughts, and no number can be read from that.
    numbers = {"1", "2"} & {token.strip() for token, _ in first.top or ()}
    top = len(first.top) if first.top and numbers else 0
    return ProbeResult("", first.call.latency_s, top, schema, usage.tokens, usage.cost_usd)


def _ask(client: ModelClient, prompt: Prompt, **options: Any) -> TextAnswer:
    return client.ask("probe", prompt, fresh=True, temperature=0.0, **options)

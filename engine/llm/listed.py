"""What is known of models by their names alone.

litellm's own list is read as a file, because importing litellm takes seconds.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine.errors import UsageError
from engine.pages import page
from engine.records import total_cost

PRIORS = {
    "prior/uniform": "no model: all actions alike",
    "prior/verbs": "no model: what people try first; on the web, the words of the task",
}
"""The stand-ins that need no model, each with a description for people."""
_OWN = ("local", "prior")
"""Beginnings of names that are not litellm's."""
_RETIRED = {"gemini/gemini-2.5-flash": ("2026-12-01", "gemini/gemini-3.5-flash-lite")}
"""Models of the paper that are retired, which litellm's list does not say: from which day on, and what to use."""
_LIST = "model_prices_and_context_window_backup.json"
_PROVIDERS = "provider_endpoints_support_backup.json"


def check_name(name: str) -> None:
    """Check the name of a model as far as this is quick: nothing is opened.

    litellm is imported only for a provider that its lists do not have.

    Args:
        name: As for `open_model`.

    Raises:
        UsageError: There is no such prior or local model; or it has no provider, and litellm's list does not have it;
            or litellm does not know its provider.
        MissingError: A local file is missing.
        BadFile: A local file is no model.
    """
    from engine.llm.local import weights

    for part in name.split("+"):
        local = part.startswith("local/") and part not in weights.KNOWN
        if local or (part.startswith("prior/") and part not in PRIORS):
            raise UsageError(f"there is no model {part!r}; see: jitrl models ls")
        if part.startswith("local:"):
            weights.check_file(weights.file_of(part))
        if part and "/" not in part and ":" not in part and _models() and part not in _models():
            raise UsageError(
                f"there is no model {part!r}; write provider/model, for instance openai/{part}, or use local/smollm2"
            )
        provider, separator, _ = part.partition("/")
        if separator and ":" not in provider and provider not in _OWN and not _is_provider(provider):
            raise UsageError(
                f"there is no model {part!r}: litellm knows no provider {provider!r}; write provider/model, such as "
                "gemini/gemini-2.5-flash"
            )


def _is_provider(name: str) -> bool:
    """Return whether litellm knows a provider of this name. It is also true where litellm is not installed."""
    if not _models() or name in _providers():
        return True
    from engine.llm.calls.gateway import import_litellm

    return name in {str(getattr(one, "value", one)) for one in import_litellm().provider_list}


@functools.cache
def _providers() -> frozenset[str]:
    """Return the providers that litellm's lists name. It knows some others, too."""
    named = {name.partition("/")[0] for name in _models() if "/" in name}
    named |= {str(entry.get("litellm_provider")) for entry in _models().values()}
    return frozenset(named | set(_read(_PROVIDERS).get("providers", {})))


def retirement(name: str, option: str = "") -> str:
    """Return a sentence about a model that its provider retires, "" for one of which that is not known.

    Args:
        name: As for `open_model`.
        option: The option of a command that chooses another model, "" where it can no longer be chosen.
    """
    known = _models().get(name) or _models().get(name.partition("/")[2]) or {}
    day, instead = _RETIRED.get(name) or (str(known.get("deprecation_date") or ""), "")
    if not day:
        return ""
    example = f", such as {option} {instead}" if instead else ""
    advice = f"; choose one with {option}{example} ({page('paper')})" if option else ""
    return f"{name} is retired from {day} on, and another model may then answer to its name{advice}"


def list_price(model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Return what tokens of a model cost in US dollars by litellm's list, None if it has no price for the model.

    Models in this process, and priors, cost nothing. A mixture costs what both models cost.
    """
    if "+" in model:
        parts = [list_price(part, prompt_tokens, completion_tokens) for part in model.split("+")]
        return total_cost(parts)
    if model.startswith(("local/", "local:", "prior/")):
        return 0.0
    known = _models()
    entry = known.get(model) or known.get(model.partition("/")[2]) or {}
    asked, answered = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(asked, (int, float)) or not isinstance(answered, (int, float)):
        return None
    return float(asked * prompt_tokens + answered * completion_tokens)


@functools.cache
def _models() -> Mapping[str, Any]:
    """Return the list by model, {} if it is not there."""
    return _read(_LIST)


def _read(name: str) -> Mapping[str, Any]:
    """Return the object in a file of litellm, {} if it is not there."""
    spec = find_spec("litellm")
    if spec is None or not spec.submodule_search_locations:
        return {}
    file = Path(spec.submodule_search_locations[0]) / name
    read: Mapping[str, Any] = json.loads(file.read_bytes()) if file.is_file() else {}
    return read

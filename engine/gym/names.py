"""Names of environments: `gym:PACKAGE/ENV_ID?KEY=VALUE&...`.

PACKAGE is imported so that it registers its environments. ENV_ID is a registered name; it may contain
slashes. The keys defined here say how the environment is read, and all others are keyword arguments for
making it. Values may be percent-encoded: %26 is an ampersand.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from engine.errors import UsageError

PREFIX = "gym:"
EXAMPLE = "gym:gymnasium/FrozenLake-v1?is_slippery=false"

ENDS = ("", "won", "lost", "reward")

_PACKAGE = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")
_SLOT = re.compile(r"\{(\w+)\}")
_WORDS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True)
class NameParts:
    """The parts of a name.

    Attributes:
        actions: Names of the numbered actions in order; () to use the environment's own names.
        templates: Commands with slots in braces, such as "go {way}", for environments that take any text.
        slots: The values of each slot.
        text: Keys of the observation that hold its text; () for the usual ones.
        ignore: Regular expression of text that is not part of a state, such as a counter; "" for none.
        ended: The outcome of an end for which the environment gives none: "won", "lost", "reward" (won if the
            last reward is positive, otherwise lost), or "" for unknown.
        given: Keyword arguments for making the environment.
    """

    package: str
    env_id: str
    actions: tuple[str, ...] = ()
    templates: tuple[str, ...] = ()
    slots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    text: tuple[str, ...] = ()
    ignore: str = ""
    ended: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)


def parse(name: str) -> NameParts:
    """Parse the full name of an environment, which begins with `gym:`.

    Raises:
        UsageError: The name does not have this form.
    """
    path, _, query = name.removeprefix(PREFIX).partition("?")
    package, _, env_id = path.partition("/")
    if not _PACKAGE.fullmatch(package) or not env_id.strip():
        raise UsageError(
            f"{name!r} does not name an environment: it is {PREFIX}PACKAGE/ENV_ID, as in {EXAMPLE}"
        )
    options = dict(_option(part, name) for part in query.split("&") if part)
    templates = _listed(options.pop("templates", ""), "|")
    slots = {
        slot: _listed(options.pop(slot))
        for slot in dict.fromkeys(_SLOT.findall(" ".join(templates)))
        if slot in options
    }
    ignore = options.pop("ignore", "")
    try:
        re.compile(ignore)
    except re.error as error:
        raise UsageError(f"ignore={ignore} in {name!r} is no regular expression: {error}") from None
    ended = options.pop("ended", "")
    if ended not in ENDS:
        raise UsageError(f"ended={ended} in {name!r} cannot be; choose one of: {', '.join(filter(None, ENDS))}")
    return NameParts(
        package,
        env_id,
        actions=_listed(options.pop("actions", "")),
        templates=templates,
        slots=slots,
        text=_listed(options.pop("text", "")),
        ignore=ignore,
        ended=ended,
        given={key: value(text) for key, text in options.items()},
    )


def value(text: str) -> Any:
    """Return the value of a text: true, false, a Python literal, or otherwise the text itself."""
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    try:
        found = ast.literal_eval(text)
        json.dumps(found)  # It must be possible to send it to the worker process.
        return found
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        return text


def _option(part: str, name: str) -> tuple[str, str]:
    key, separator, text = part.partition("=")
    if not separator or not key.isidentifier():
        raise UsageError(f"{part!r} in {name!r} is not of the form KEY=VALUE")
    return key, unquote(text)


def _listed(text: str, separator: str = ",") -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(separator) if part.strip())

"""Takes secrets out of texts: keys of the environment, typed passwords, credentials in addresses.

A secret of `ANYWHERE` characters or more is replaced wherever it occurs. A shorter one is replaced where it stands
alone: a PIN of four digits also occurs in prices and order numbers, and a password "test" in "latest". One of fewer
than `SHORTEST` characters is not looked for: three digits occur on most pages, and hiding them hides little.
"""

from __future__ import annotations

import base64
import dataclasses
import functools
import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar
from urllib.parse import quote, quote_plus

REDACTED = "[redacted]"
SHORTEST = 4
ANYWHERE = 8

T = TypeVar("T")
_NAME = re.compile(r"(?i)(key|token|secret|password|passwd|credential)s?$")
_STAND_INS = frozenset(
    {"none", "null", "true", "false", "empty", "dummy", "test", "fake", "unset", "unused", "local", "ollama"}
)
"""Short values that are set where a server needs no key. They are ordinary words and no secrets."""
_IN_ADDRESSES = str.maketrans("+/", "-_")
"""What base64 for addresses has for two of its characters."""
_CREDENTIALS = re.compile(r"(?<=://)[^\s/?#\"'<>\\]{1,500}@")
_BEFORE = r"(?:(?<![^\W_])|(?<=%[0-9A-Fa-f]{2})|(?<=\\[nrtbf])|(?<=\\u[0-9A-Fa-f]{4}))"
"""No letter or digit comes right before, except the end of an escaped character in an address or in JSON."""


@functools.lru_cache(maxsize=4096)
def names_secret(name: str) -> bool:
    """Whether a variable with this name holds a secret (`..._API_KEY`, `..._TOKEN`)."""
    return _NAME.search(name) is not None


def secrets_of(environment: Mapping[str, str]) -> frozenset[str]:
    """Return the values of environment variables whose names look like secrets (`..._API_KEY`, `..._TOKEN`)."""
    values = [environment.get(name, "") for name in environment if names_secret(name)]
    return frozenset(value for value in values if len(value) >= SHORTEST and value.lower() not in _STAND_INS)


def without_credentials(text: str) -> str:
    """Return text in which addresses have no user name and password: `https://user:pass@host` is `https://host`."""
    return _CREDENTIALS.sub("", text) if "://" in text else text


def hide(text: str, secrets: Iterable[str], mark: str = REDACTED, taken: set[str] | None = None) -> str:
    """Return text without secrets.

    Args:
        text: Any text.
        secrets: Values to replace, also where they are written as in addresses and in JSON.
        mark: Stands in their place.
        taken: Gets the secrets that were found.
    """
    for secret in sorted(set(secrets), key=len, reverse=True):
        for form in forms_of(secret):
            if form in text:
                changed = _pattern(form).sub(lambda _: mark, text)
                if taken is not None and changed != text:
                    taken.add(secret)
                text = changed
    return text


def clean(value: T, secrets: Collection[str]) -> T:
    """Return a record, or a collection, with secrets taken out of all its texts. Keys of mappings are left."""
    return _cleaned(value, secrets) if secrets else value


def _cleaned(value: Any, secrets: Collection[str]) -> Any:
    if isinstance(value, str):
        return hide(value, secrets)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        old = {field.name: getattr(value, field.name) for field in dataclasses.fields(value) if field.init}
        new = {name: _cleaned(item, secrets) for name, item in old.items()}
        changed = {name: item for name, item in new.items() if item is not old[name]}
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        mapped = {key: _cleaned(item, secrets) for key, item in list(value.items())}
        return mapped if any(mapped[key] is not item for key, item in value.items()) else value
    if type(value) in (tuple, list):
        items = [_cleaned(item, secrets) for item in value]
        same = all(new is old for new, old in zip(items, value, strict=True))
        return value if same else type(value)(items)
    return value


@functools.lru_cache(maxsize=256)
def forms_of(secret: str) -> tuple[str, ...]:
    """Return a secret as texts, addresses and JSON write it, the longest first; () if it is too short.

    One of `ANYWHERE` characters or more is also there backwards, in hexadecimal and in base64.
    """
    if len(secret) < SHORTEST:
        return ()
    plain = secret.encode("utf-8", "replace").decode()
    in_json = json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]
    forms = {secret, quote(plain), quote(plain, safe=""), quote_plus(plain), *in_json}
    if len(secret) >= ANYWHERE:
        forms |= {secret[::-1], plain.encode().hex(), *_in_base64(plain.encode())}
    return tuple(sorted(forms, key=lambda form: (-len(form), form)))


def _in_base64(secret: bytes) -> set[str]:
    """Return what base64 makes of a secret, wherever it begins in the text that was encoded.

    The characters at both ends that also depend on what stands beside the secret are left out.
    """
    found = set()
    for before in range(3):
        bits = 8 * before, 8 * (before + len(secret))
        whole = slice(-(-bits[0] // 6), bits[1] // 6)
        text = base64.b64encode(bytes(before) + secret).decode()[whole]
        found |= {text, text.translate(_IN_ADDRESSES)}
    return found


@functools.lru_cache(maxsize=1024)
def _pattern(form: str) -> re.Pattern[str]:
    literal = re.escape(form)
    if len(form) >= ANYWHERE:
        return re.compile(literal)
    before = _BEFORE if form[0].isalnum() else ""
    after = r"(?![^\W_])" if form[-1].isalnum() else ""
    return re.compile(before + literal + after)

"""Hostile values and bytes, and records made of them: for property tests and for the fuzzer."""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Mapping
from typing import Any

from hypothesis import strategies as st

from engine.records import PARTS, Part, UnknownPart

NUMBERS = (
    0, -1, 1 << 62, (1 << 63) - 1, 1 << 63, -(1 << 63), -(1 << 63) - 1, 10**400, -(10**400), 10**4000,
    0.0, -0.0, 5e-324, 1e100, -1e101, 1e150, 1.1e150, 1e308, -1e308, float("inf"), float("-inf"), float("nan"), True,
)  # fmt: skip
TEXTS = (
    "", "a", "x" * 1000, "x" * 1001, "x" * 70_000, "x" * 100_000, "\ud800", "\udc00 and \ud83d", "\0", "\x1b[31m", "\n",
    "\u2028", "\u202e", "é", "😀", "NaN", "9" * 5000, "imported:\ud800", "imported:", "agent", "won", "..", "/",
    "[redacted]", '{"', "table", "ffffffff ffffffff {\"",
)  # fmt: skip


def check_sentence(error: Exception) -> None:
    """Make sure that a message is one for people: there is one, and it does not repeat what a file holds."""
    assert 0 < len(str(error)) < 700


def nested(depth: int) -> Any:
    """Return lists and objects in one another, so deep."""
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return value


DEEP = tuple(nested(depth) for depth in (31, 33, 63, 65, 200, 900))
JSON = (
    b"NaN", b"-Infinity", b"1e400", b"9" * 5000, b"-" + b"9" * 400, b"1" + b"0" * 30, b"[" * 100_000, b'{"a":' * 2000,
    b"[" * 300 + b"]" * 300, b'"\\ud800"', b'"\xed\xa0\x80"', b"\xff\xfe", b"\xef\xbb\xbf", b"null", b"5", b"[]", b"{}",
    b'"' + b"x" * 100_000 + b'"', b"true", b"1.5", b"-1", b'""', b"\0", b"\n",
)  # fmt: skip
"""Bytes that stand where a value of JSON should stand."""


def values(depth: int = 3) -> st.SearchStrategy[Any]:
    """Return a strategy for values as they lie in JSON, hostile ones among them."""
    leaves = st.none() | st.booleans() | st.sampled_from(NUMBERS) | st.sampled_from(TEXTS) | st.sampled_from(DEEP)
    return st.recursive(
        leaves,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(TEXTS), inner, max_size=4),
        max_leaves=2**depth,
    )


def records(cls: type[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy for a record whose fields have the right types and hostile values."""
    hints = typing.get_type_hints(cls)
    fields = {spec.name: _field(hints[spec.name]) for spec in dataclasses.fields(cls)}
    return st.builds(cls, **fields)


def _field(hint: Any) -> st.SearchStrategy[Any]:
    if hint == Part:
        fields = st.dictionaries(st.sampled_from(TEXTS), values(), max_size=3)
        unknown = st.builds(UnknownPart, st.sampled_from(["Dream", *PARTS]), fields)
        return st.one_of(unknown, *map(records, PARTS.values()))
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return st.one_of(*(st.none() if one is type(None) else _field(one) for one in typing.get_args(hint)))
    if origin is tuple:
        return st.lists(_field(typing.get_args(hint)[0]), max_size=2).map(tuple)
    if origin is not None and issubclass(origin, Mapping):
        return st.dictionaries(st.sampled_from(TEXTS), _field(typing.get_args(hint)[1]), max_size=2)
    if dataclasses.is_dataclass(hint):
        return st.deferred(lambda: records(typing.cast(Any, hint)))
    ordinary: dict[Any, st.SearchStrategy[Any]] = {
        int: st.integers(0, 9), float: st.sampled_from([0.0, 2.5]), str: st.sampled_from(["north", "a lamp"]),
    }  # fmt: skip
    hostile: dict[Any, st.SearchStrategy[Any]] = {
        int: st.sampled_from([n for n in NUMBERS if isinstance(n, int) and not isinstance(n, bool)]),
        float: st.sampled_from([n for n in NUMBERS if isinstance(n, float)]),
        str: st.sampled_from(TEXTS),
    }  # fmt: skip
    if hint in hostile:
        # Mostly ordinary values: a record with one hostile value is more telling than one that is refused for many.
        return st.integers(0, 19).flatmap(lambda n: hostile[hint] if n == 0 else ordinary[hint])
    return st.booleans() if hint is bool else values()


def spoiled(line: bytes, path: list[int], value: bytes) -> bytes:
    """Return a line of JSON with one of its values replaced by other bytes; `path` says which, as far as it goes."""
    data = json.loads(line)
    mark = "b6c1f0replaced"
    at: Any = data
    for step in path:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = keys[step % len(keys)]
        if step is path[-1] or not isinstance(at[key], (dict, list)) or not at[key]:
            at[key] = mark
            break
        at = at[key]
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode().replace(f'"{mark}"'.encode(), value)

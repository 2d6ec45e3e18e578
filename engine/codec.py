"""Converts records to and from plain JSON values.

Types are checked strictly, and numbers must be finite. Unknown fields, which a newer version may have
written, are ignored, and fields with a default may be missing. Records of earlier versions are converted
(`engine.records.former`). Parts of a decision have their kind in the field `part`. Parts of an unknown kind
are written back unchanged.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from engine.errors import BadFile
from engine.records import EVENTS, PARTS, Event, Part, UnknownPart
from engine.records.former import modern

T = TypeVar("T")
_PART_TYPES = frozenset(PARTS.values())


def to_plain(value: Any) -> Any:
    """Return `value` (records, tuples, mappings, numbers, texts) as JSON values; NaN is refused."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)):
        if isinstance(value, float) and not math.isfinite(value):
            raise BadFile(f"a record holds {value!r}, which is no finite number")
        return value
    if isinstance(value, UnknownPart):
        return {"part": value.part, **to_plain(value.fields)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        tag = {"part": type(value).__name__} if type(value) in _PART_TYPES else {}
        return tag | {name: to_plain(getattr(value, name)) for name in _names(type(value))}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [to_plain(item) for item in value]
    if hasattr(value, "item"):  # a numpy scalar
        return to_plain(value.item())
    raise BadFile(f"a {type(value).__name__} cannot be stored")


def from_plain(cls: type[T], data: Any) -> T:
    """Build the record `cls` from JSON values.

    Raises:
        BadFile: A field is missing, or has another type than the record says.
    """
    if not isinstance(data, Mapping):
        raise BadFile(f"expected the fields of a {cls.__name__}, found {type(data).__name__}")
    data = modern(cls, data)
    hints = _hints(typing.cast(Any, cls))
    values: dict[str, Any] = {}
    for spec in dataclasses.fields(cls):  # type: ignore[arg-type]
        if spec.name in data:
            values[spec.name] = _build(hints[spec.name], data[spec.name], f"{cls.__name__}.{spec.name}")
        elif spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            raise BadFile(f"{cls.__name__}.{spec.name} is missing")
    return cls(**values)


def event_to_line(event: Event, at: float) -> str:
    """Return one line of JSON (no newline) for an event that happened at Unix time `at`."""
    return json.dumps(
        {"event": type(event).__name__, "at": round(at, 3), **to_plain(event)},
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )


def event_from_line(line: str) -> tuple[float, Event | None]:
    """Return time and event of one line; None for a kind this version does not know."""
    try:
        data = json.loads(line)
    except ValueError as error:
        raise BadFile(f"not a line of a recording: {error}") from None
    if not isinstance(data, dict) or "event" not in data:
        raise BadFile("not a line of a recording: no event named")
    cls = EVENTS.get(data["event"])
    at = data.get("at", 0.0)
    return (float(at) if isinstance(at, (int, float)) else 0.0), from_plain(cls, data) if cls else None


def _part(value: Any, where: str) -> Part:
    """Return the part of a decision with the kind in `value`; an `UnknownPart` for unknown kinds."""
    if not isinstance(value, Mapping) or not isinstance(value.get("part"), str):
        raise BadFile(f"{where} should hold objects that name their kind as 'part'")
    fields = {key: item for key, item in value.items() if key != "part"}
    cls = PARTS.get(value["part"])
    return UnknownPart(value["part"], fields) if cls is None else from_plain(cls, fields)


@functools.cache
def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(spec.name for spec in dataclasses.fields(cls))


@functools.cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _build(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        return value
    if hint == Part:
        return _part(value, where)
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        options = typing.get_args(hint)
        if value is None and type(None) in options:
            return None
        return _build(next(option for option in options if option is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise BadFile(f"{where} should be a list")
        item = typing.get_args(hint)[0]
        return tuple(_build(item, part, where) for part in value)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise BadFile(f"{where} should be an object")
        item = typing.get_args(hint)[1]
        return {str(key): _build(item, part, where) for key, part in value.items()}
    if dataclasses.is_dataclass(hint):
        return from_plain(hint, value)  # type: ignore[arg-type]
    if hint is float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise BadFile(f"{where} should be a finite number")
        return float(value)
    if hint is int and isinstance(value, bool):
        raise BadFile(f"{where} should be a whole number")
    if not isinstance(value, hint):
        raise BadFile(f"{where} should be {hint.__name__}")
    return value

"""Converts records to and from plain JSON values.

Types are checked strictly, and every value must keep to `engine.limits`, when it is written and when it is read.
Unknown fields, which a newer version may have written, are ignored, and fields with a default may be missing. Records
of earlier versions are converted (`engine.records.former`). Parts of a decision have their kind in the field `part`.
Parts of an unknown kind are written back unchanged.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from engine import limits
from engine.errors import BadFile
from engine.limits import shown
from engine.records import EVENTS, PARTS, Decision, Event, Part, UnknownPart
from engine.records.former import modern

T = TypeVar("T")
_PART_TYPES = frozenset(PARTS.values())


def to_plain(value: Any) -> Any:
    """Return `value` (records, tuples, mappings, numbers, texts) as JSON values.

    Raises:
        BadFile: Something in it cannot be stored: it is beyond `engine.limits`, or no value of JSON.
    """
    return _plain(value, 2 * limits.DEPTH)


def _plain(value: Any, depth: int) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return value if limits.is_text(value) else _refused(value)
    if isinstance(value, int):
        return value if limits.is_whole(value) else _refused(value)
    if isinstance(value, float):
        return value if limits.is_number(value) else _refused(value)
    if depth <= 0:
        raise BadFile("a record is nested too deep to be stored")
    if isinstance(value, UnknownPart):
        if value.part in PARTS or "part" in value.fields:
            raise BadFile(f"a part of a decision that nobody knows cannot be named {shown(value.part)}")
        return {"part": value.part, **_plain(value.fields, depth - 1)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        tag = {"part": type(value).__name__} if type(value) in _PART_TYPES else {}
        return tag | {name: _plain(getattr(value, name), depth - 1) for name in _names(type(value))}
    if isinstance(value, Mapping):
        return {_plain(str(key), depth): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(item, depth - 1) for item in value]
    if hasattr(value, "item"):  # a numpy scalar
        return _plain(value.item(), depth - 1)
    raise BadFile(f"a {type(value).__name__} cannot be stored")


def from_plain(cls: type[T], data: Any) -> T:
    """Build the record `cls` from JSON values.

    Raises:
        BadFile: A field is missing, has another type than the record says, or is beyond `engine.limits`.
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
    made = cls(**values)
    if isinstance(made, Decision):
        _check_decision(made)
    return made


def event_to_line(event: Event, at: float) -> str:
    """Return one line of JSON (no newline) for an event that happened at Unix time `at`.

    Raises:
        BadFile: `event_from_line` would not take it.
    """
    fields = to_plain(event)
    from_plain(type(event), fields)
    line = json.dumps(
        {"event": type(event).__name__, "at": _plain(round(at, 3), 1), **fields},
        ensure_ascii=False,
        allow_nan=False,
        separators=(",", ":"),
    )
    if len(line) > limits.LINE // 4:  # a character takes up to four bytes
        _check_length(len(line.encode()))
    return line


def event_from_line(line: str | bytes) -> tuple[float, Event | None]:
    """Return time and event of one line; None for a kind this version does not know.

    Raises:
        BadFile: It is none of a recording, or beyond `engine.limits`.
    """
    try:
        data = limits.parsed(line)
    except BadFile as error:
        raise BadFile(f"not a line of a recording: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise BadFile("not a line of a recording: no event named")
    at = data.get("at", 0.0)
    if not limits.is_number(at):
        raise BadFile(f"the time of an event cannot be {shown(at)}")
    cls = EVENTS.get(data["event"])
    return float(at), from_plain(cls, data) if cls else None


def _check_decision(one: Decision) -> None:
    """Make sure that what runs parallel to the candidates of a decision is as long as they are."""
    size, update = len(one.candidates), one.update
    parallel: list[tuple[Any, ...]] = [one.prior, one.posterior]
    if update is not None:
        value = update.valuation
        parallel += [update.advantage, update.advantage_normalised, update.z_prime, value.q, value.n, value.how]
        parallel += value.terms.values()
    if any(len(column) != size for column in parallel) or not -1 <= one.chosen < size:
        raise BadFile("a decision has other numbers than candidates")


def _check_length(size: int) -> None:
    if size > limits.LINE:
        raise BadFile(f"a record of {size >> 20} MB is too large (limit: {limits.LINE >> 20} MB)")


def _refused(value: Any) -> typing.NoReturn:
    raise BadFile(f"a record cannot hold {shown(value)}")


def _part(value: Any, where: str) -> Part:
    """Return the part of a decision with the kind in `value`; an `UnknownPart` for unknown kinds."""
    if not isinstance(value, Mapping) or not isinstance(value.get("part"), str):
        raise BadFile(f"{where} should hold objects that name their kind as 'part'")
    fields = {key: item for key, item in value.items() if key != "part"}
    cls = PARTS.get(value["part"])
    if cls is not None:
        made: Part = from_plain(cls, fields)
        return made
    limits.check_json(value, where)
    return UnknownPart(value["part"], fields)


@functools.cache
def _names(cls: type[Any]) -> tuple[str, ...]:
    return tuple(spec.name for spec in dataclasses.fields(cls))


@functools.cache
def _hints(cls: type[Any]) -> dict[str, Any]:
    return typing.get_type_hints(cls)


@functools.cache
def _shape(hint: Any) -> tuple[Any, tuple[Any, ...], bool]:
    """Return the origin and the arguments of a type, and whether it is a record."""
    return typing.get_origin(hint), typing.get_args(hint), dataclasses.is_dataclass(hint)


def _build(hint: Any, value: Any, where: str) -> Any:
    if hint is Any:
        limits.check_json(value, where)
        return value
    if hint == Part:
        return _part(value, where)
    origin, options, is_record = _shape(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in options:
            return None
        return _build(next(option for option in options if option is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise BadFile(f"{where} should be a list")
        _check_size(value, where)
        item = options[0]
        return tuple(_build(item, part, where) for part in value)
    if origin is not None and issubclass(origin, Mapping):
        if not isinstance(value, Mapping):
            raise BadFile(f"{where} should be an object")
        _check_size(value, where)
        item = options[1]
        return {_build(str, key, where): _build(item, part, where) for key, part in value.items()}
    if is_record:
        return from_plain(hint, value)
    if hint is float:
        if not limits.is_number(value):
            raise BadFile(f"{where} should be a finite number, not {shown(value)}")
        return float(value)
    if hint is int:
        if not limits.is_whole(value):
            raise BadFile(f"{where} should be a whole number, not {shown(value)}")
        return value
    if hint is str:
        if not limits.is_text(value):
            raise BadFile(f"{where} should be a text, not {shown(value)}")
        return value
    if not isinstance(value, hint):
        raise BadFile(f"{where} should be {hint.__name__}")
    return value


def _check_size(value: Any, where: str) -> None:
    if len(value) > limits.ITEMS:
        raise BadFile(f"{where} holds {len(value):,} items, more than {limits.ITEMS:,}")

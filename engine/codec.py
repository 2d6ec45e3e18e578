"""Converts records to and from plain JSON values.

Types are checked strictly, and every value must keep to `engine.limits`, when it is written and when it is read.
Unknown fields, which a newer version may have written, are ignored, and fields with a default may be missing. Records
of earlier versions are converted (`engine.records.upgrades`). Parts of a decision have their kind in the field `part`.
Parts of an unknown kind are written back unchanged.

For each type of a field there is a function that converts its values; it is made once.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import types
import typing
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeVar

from engine import limits
from engine.errors import BadFile
from engine.limits import short_text
from engine.records import EVENTS, PARTS, Decision, Event, Part, UnknownPart
from engine.records.upgrades import modern

T = TypeVar("T")
Convert = Callable[[Any], Any]
_PART_TYPES = frozenset(PARTS.values())


def to_plain(value: Any) -> Any:
    """Return `value` (records, tuples, mappings, numbers, texts) as JSON values.

    Raises:
        BadFile: Something in it cannot be stored: it has another type than its record says, is beyond
            `engine.limits`, or is no value of JSON.
    """
    return _plain(value)


def from_plain(cls: type[T], data: Any) -> T:
    """Build the record `cls` from JSON values.

    Raises:
        BadFile: A field is missing, has another type than the record says, or is beyond `engine.limits`.
    """
    if not isinstance(data, Mapping):
        raise BadFile(f"expected the fields of a {cls.__name__}, found {type(data).__name__}")
    data = modern(cls, data)
    kind: Any = cls
    fields = _fields(kind)
    there = [field for field in fields if field.name in data]
    values = _converted(there, [data[field.name] for field in there])
    if len(there) < len(fields):
        for field in fields:
            if field.needed and field.name not in values:
                raise BadFile(f"{cls.__name__}.{field.name} is missing")
    made = cls(**values)
    if isinstance(made, Decision):
        _check_decision(made)
    return made


def event_to_line(event: Event, at: float) -> str:
    """Return one line of JSON (no newline) for an event that happened at Unix time `at`.

    Raises:
        BadFile: `event_from_line` would not take it.
    """
    line = json.dumps(
        {"event": type(event).__name__, "at": _plain(round(at, 3)), **_plain(event)},
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
        data = limits.parse_json(line)
    except BadFile as error:
        raise BadFile(f"not a line of a recording: {error}") from None
    if not isinstance(data, dict) or not isinstance(data.get("event"), str):
        raise BadFile("not a line of a recording: no event named")
    at = data.get("at", 0.0)
    if not limits.is_number(at):
        raise BadFile(f"the time of an event cannot be {short_text(at)}")
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


def _check_size(value: Any, where: str) -> None:
    if len(value) > limits.ITEMS:
        raise BadFile(f"{where} holds {len(value):,} items, more than {limits.ITEMS:,}")


# ------------------------------------------------------------------------------------------------- types


class _Field(typing.NamedTuple):
    """A field of a record: its name, the scalar that it holds (None for others), and what converts its values."""

    name: str
    scalar: type[Any] | None
    optional: bool
    convert: Convert
    needed: bool


@functools.cache
def _fields(cls: type[Any]) -> tuple[_Field, ...]:
    """Return the fields of a record, to be read."""
    return _with(cls, _reading)


@functools.cache
def _written(cls: type[Any]) -> tuple[tuple[_Field, ...], tuple[str, ...]]:
    """Return the fields of a record, to be written, and their names."""
    fields = _with(cls, _writing)
    return fields, tuple(field.name for field in fields)


def _with(cls: type[Any], make: Callable[[Any, str], Convert]) -> tuple[_Field, ...]:
    found, hints = [], typing.get_type_hints(cls)
    for one in dataclasses.fields(cls):
        hint = hints[one.name]
        optional = _is_optional(hint)
        scalar = _inner(hint) if optional else hint
        needed = one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING
        convert = make(hint, f"{cls.__name__}.{one.name}")
        found.append(_Field(one.name, scalar if scalar in (str, int, float, bool) else None, optional, convert, needed))
    return tuple(found)


def _converted(fields: Collection[_Field], items: Iterable[Any]) -> dict[str, Any]:
    """Return values of fields by name. Hundreds are written at each step: for the usual ones, nothing is called."""
    found = {}
    for (name, scalar, optional, convert, _), item in zip(fields, items, strict=True):
        if item is None:
            usual = optional
        elif type(item) is not scalar:
            usual = False
        elif scalar is str:
            usual = item.isascii() and len(item) <= limits.LONGEST_TEXT
        elif scalar is int:
            usual = -limits.WHOLE <= item < limits.WHOLE
        else:
            usual = scalar is bool or -limits.LARGEST <= item <= limits.LARGEST
        found[name] = item if usual else convert(item)
    return found


def _inner(hint: Any) -> Any:
    """Return a type without None, if it has None."""
    return next((option for option in typing.get_args(hint) if option is not type(None)), hint)


def _is_optional(hint: Any) -> bool:
    return typing.get_origin(hint) in (typing.Union, types.UnionType)


def _scalar(hint: Any, where: str) -> Convert:
    """Return what checks a value that is the same in JSON. A scalar of numpy becomes Python's."""
    named, is_one = {
        float: ("a finite number", limits.is_number),
        int: ("a whole number", limits.is_whole),
        str: ("a text", limits.is_text),
    }.get(hint, (hint.__name__, None))

    def convert(value: Any) -> Any:
        if is_one(value) if is_one is not None else isinstance(value, hint):
            return value
        if hasattr(value, "item"):
            return convert(value.item())
        raise BadFile(f"{where} should be {named}, not {short_text(value)}")

    return convert


def _are_usual(kind: Any, values: Any) -> bool:
    """Whether values are texts of ASCII, or numbers, within the limits; False if each has to be looked at."""
    if set(map(type, values)) != {kind}:
        return False
    if kind is str:
        return "".join(values).isascii() and max(map(len, values)) <= limits.LONGEST_TEXT
    return kind is float and limits.are_numbers(values)


def _items(kind: Any, item: Convert, where: str, made: Callable[[Any], Any]) -> Convert:
    """Return what converts a list or tuple of values of one kind."""

    def convert(value: Any) -> Any:
        if not isinstance(value, (list, tuple)):
            raise BadFile(f"{where} should be a list")
        _check_size(value, where)
        return made(value if _are_usual(kind, value) else map(item, value))

    return convert


def _mapping(item: Convert, where: str) -> Convert:
    name = _scalar(str, where)

    def convert(value: Any) -> Any:
        if not isinstance(value, Mapping):
            raise BadFile(f"{where} should be an object")
        _check_size(value, where)
        return {name(key): item(part) for key, part in value.items()}

    return convert


# ------------------------------------------------------------------------------------------------- reading


def _reading(hint: Any, where: str) -> Convert:
    """Return what makes a value of a type from JSON."""
    if hint is Any:
        return functools.partial(_json, where)
    if hint == Part:
        return lambda value: _part(value, where)
    if _is_optional(hint):
        inner = _reading(_inner(hint), where)
        return lambda value: None if value is None else inner(value)
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return _items(options[0], _reading(options[0], where), where, tuple)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_reading(options[1], where), where)
    if dataclasses.is_dataclass(hint):
        return functools.partial(from_plain, typing.cast(Any, hint))
    check = _scalar(hint, where)
    return (lambda value: float(check(value))) if hint is float else check


def _json(where: str, value: Any) -> Any:
    limits.check_json(value, where)
    return value


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


# ------------------------------------------------------------------------------------------------- writing


def _writing(hint: Any, where: str) -> Convert:
    """Return what makes JSON of a value of a type."""
    if _is_optional(hint) and hint != Part:
        inner = _writing(_inner(hint), where)
        return lambda value: None if value is None else inner(value)
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return _items(options[0], _writing(options[0], where), where, list)
    if origin is not None and issubclass(origin, Mapping):
        return _mapping(_writing(options[1], where), where)
    if dataclasses.is_dataclass(hint):
        check = _scalar(hint, where)
        return lambda value: _record(value if type(value) is hint else check(value))
    if hint in (float, int, str, bool):
        return _scalar(hint, where)
    return lambda value: _plain(value, limits.DEPTH)


def _record(value: Any) -> dict[str, Any]:
    """Return the fields of a record."""
    if isinstance(value, Decision):
        _check_decision(value)
    cls: Any = type(value)
    fields, names = _written(cls)
    plain = _converted(fields, map(getattr, itertools.repeat(value, len(names)), names))
    return {"part": cls.__name__, **plain} if cls in _PART_TYPES else plain


def _plain(value: Any, depth: int = 2 * limits.DEPTH) -> Any:
    """Return a value of which only the value says what type it has."""
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
            raise BadFile(f"a part of a decision that nobody knows cannot be named {short_text(value.part)}")
        return {"part": value.part, **_plain(value.fields, limits.DEPTH)}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _record(value)
    if isinstance(value, Mapping):
        _check_size(value, "a record")
        return {_plain(str(key), depth): _plain(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (tuple, list)):
        _check_size(value, "a record")
        return [_plain(item, depth - 1) for item in value]
    if hasattr(value, "item"):  # a numpy scalar
        return _plain(value.item(), depth - 1)
    raise BadFile(f"a {type(value).__name__} cannot be stored")


def _refused(value: Any) -> typing.NoReturn:
    raise BadFile(f"a record cannot hold {short_text(value)}")

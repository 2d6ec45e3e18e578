"""Write docs/schemas: JSON Schemas of recordings, from the records, and of `--json` outputs, from docs/json.md.

    python -m tests.write_schemas

`tests/test_docs.py` fails when they are old, and validates what the program writes.
"""

from __future__ import annotations

import dataclasses
import json
import re
import types
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.records import EVENTS, FORMAT, PARTS, Part
from engine.session.recording import PASSING
from tests.write_formats import about, meanings, reached

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "schemas"
PAGE = FOLDER.parent / "json.md"
_DRAFT = "https://json-schema.org/draft/2020-12/schema"
_SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}
_WORDS = {
    "text": "string", "integer": "integer", "number": "number", "boolean": "boolean", "list": "array",
    "object": "object", "null": "null",
}  # fmt: skip


def recording() -> dict[str, Any]:
    """Return the schema of a line of a recording."""
    events = [cls for cls in EVENTS.values() if cls not in PASSING]
    others = dict.fromkeys([*reached(events), *PARTS.values(), *reached(list(PARTS.values()))])
    tagged = {cls: {"part": {"const": name}} for name, cls in PARTS.items()}
    line = {"at": {"type": "number", "description": "Unix time in seconds"}}
    known = {cls.__name__: _record(cls, {"event": {"const": cls.__name__}, **line}) for cls in events}
    known |= {cls.__name__: _record(cls, tagged.get(cls, {})) for cls in others}
    return {
        "$schema": _DRAFT, "title": f"A line of a recording of jitrl, format {FORMAT}",
        "oneOf": [{"$ref": f"#/$defs/{cls.__name__}"} for cls in events], "$defs": known,
    }  # fmt: skip


def _record(cls: type[Any], before: Mapping[str, Any]) -> dict[str, Any]:
    hints, told = typing.get_type_hints(cls), meanings(cls)
    properties, needed = dict(before), list(before)
    for spec in dataclasses.fields(cls):
        properties[spec.name] = _hinted(hints[spec.name]) | (
            {"description": told[spec.name]} if spec.name in told else {}
        )
        if spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING:
            needed.append(spec.name)
    return {"type": "object", "description": about(cls), "properties": properties, "required": needed}


def _hinted(hint: Any) -> dict[str, Any]:
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    if hint == Part:
        unknown = {"type": "object", "required": ["part"], "properties": {"part": {"not": {"enum": [*PARTS]}}}}
        return {"anyOf": [*({"$ref": f"#/$defs/{name}"} for name in PARTS), unknown]}
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return {"anyOf": [_hinted(each) for each in inner]}
    if origin is tuple:
        return {"type": "array", "items": _hinted(inner[0])}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _hinted(inner[1])}
    return {"$ref": f"#/$defs/{hint.__name__}"} if dataclasses.is_dataclass(hint) else {}


def fields() -> dict[str, list[tuple[str, str, str]]]:
    """Return the fields of what commands print (name, type, meaning) by the command, as docs/json.md lists them.

    "object of T" stands for an object with free keys and for its values. A row that has "the fields of `x`" stands for
    those, too; a section with "the fields of `jitrl X`" for those of X.
    """
    page = PAGE.read_text(encoding="utf-8")
    found: dict[str, list[tuple[str, str, str]]] = {}
    for command, section in re.findall(r"^## `jitrl ([^`]+)`\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE):
        other = re.search(r"the fields of `jitrl ([^`]+)`", section)
        prefix = "[]." if "| `[]." in section else ""
        found[command] = [
            (prefix + row[0].removeprefix("[]."), *row[1:]) for row in (found[other[1]] if other else ())
        ]
        for name, kind, meaning in re.findall(r"^\| `([^`]+)` \| ([^|]+) \| ([^|]*)", section, re.MULTILINE):
            _, free, values = kind.strip().partition("object of ")
            found[command].append((name, "object" if free else kind, meaning.strip()))
            if free:
                found[command].append((name + "{...}", values, meaning.strip()))
            if same := re.search(r"the fields of `([^`]+)`", meaning):
                rows = [row for row in found[command] if row[0].startswith(f"{same[1]}.")]
                found[command] += [(name + row[0].removeprefix(same[1]), *row[1:]) for row in rows]
    return found


def outputs() -> dict[str, Any]:
    """Return the schemas of what commands print, by the command."""
    found = {}
    for command, rows in fields().items():
        root: dict[str, Any] = {}
        for name, kind, meaning in rows:
            made = _put(root, re.findall(r"\[\]|\{\.\.\.\}|[^.\[\]{}]+", name), needed="*sometimes*" not in meaning)
            words = [_WORDS[word] for word in re.split(r", | or ", kind.strip())]
            made["type"] = list(dict.fromkeys(words)) if len({*words}) > 1 else words[0]
            made["description"] = meaning
        found[command] = root
    return {"$schema": _DRAFT, "title": "What commands of jitrl print with --json, by the command", "$defs": found}


def _put(root: dict[str, Any], path: list[str], *, needed: bool) -> dict[str, Any]:
    """Return the schema at a path below another one; those on the way are made."""
    at = root
    for part in path:
        if part == "[]":
            at.setdefault("type", "array")
            at = at.setdefault("items", {})
        elif part == "{...}":
            at.setdefault("type", "object")
            at = at.setdefault("additionalProperties", {})
        else:
            at.setdefault("type", "object")
            required = at.setdefault("required", [])
            if needed and part not in at.get("properties", {}):
                required.append(part)
            at = at.setdefault("properties", {}).setdefault(part, {})
    return at


SCHEMAS = {"recording.json": recording, "outputs.json": outputs}


def text(name: str) -> str:
    """Return the content of a schema's file."""
    return json.dumps(SCHEMAS[name](), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name in SCHEMAS:
        (FOLDER / name).write_text(text(name), encoding="utf-8")

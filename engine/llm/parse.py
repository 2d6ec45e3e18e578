"""Reading what models write: JSON that is nearly JSON, options that are nearly actions.

Nothing here raises for what a model wrote; what cannot be read is left out and counted.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Option:
    """One proposed action.

    Attributes:
        action: A valid action, exactly as given.
        confidence: 0 to 100, None if it was missing or no number.
    """

    action: str
    confidence: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Options:
    """What was proposed.

    Attributes:
        options: Distinct valid actions in the order they were written.
        dropped: How many were no valid action.
        readable: Whether there was JSON at all.
    """

    options: tuple[Option, ...]
    dropped: int = 0
    readable: bool = True


def json_object(text: str) -> dict[str, Any] | None:
    """Return the first JSON object in `text`, mended where that is safe; None if there is none.

    Mended are: fences and prose around it, trailing commas, single quotes or none around keys, Python's
    literals, comments, raw line breaks in strings, and an end that was cut off.
    """
    start = text.find("{")
    while start >= 0:
        body = text[start:]
        for attempt in (body, _mend(body)):
            try:
                value, _ = json.JSONDecoder(strict=False).raw_decode(attempt)
            except (ValueError, RecursionError):
                continue
            if isinstance(value, dict):
                return value
        start = text.find("{", start + 1)
        if start > 20_000:
            break
    return None


def options(text: str, valid: Sequence[str], accept: Callable[[str], str | None] | None = None) -> Options:
    """Return the options of an answer to the action prompt (App. F: option_i, confidence_i, reasoning_i).

    A list under "options" or "actions", of objects or strings, is read as well.

    Args:
        accept: Where more is possible than `valid` counts: returns an option as it is to be, None to drop it.
    """
    found = json_object(text)
    if found is None:
        return Options((), readable=False)
    valid_by_form = _forms(valid)
    kept: dict[str, Option] = {}
    dropped = 0
    for raw, confidence, reason in _numbered(found) or _listed(found):
        action = match(raw, valid, valid_by_form)
        if action is None and accept is not None and isinstance(raw, str):
            action = accept(raw)
        if action is None:
            dropped += 1
        elif action not in kept:
            kept[action] = Option(action, number(confidence), str(reason or "").strip())
    return Options(tuple(kept.values()), dropped)


def match(text: Any, valid: Sequence[str], forms: Mapping[str, str] | None = None) -> str | None:
    """Return the valid action that `text` means: the same, or the same but for case, spaces and quotes."""
    if not isinstance(text, str):
        return None
    if text in valid:
        return text
    return (forms if forms is not None else _forms(valid)).get(_form(text))


def number(value: Any) -> float | None:
    """Return a confidence within 0 to 100, or None if `value` is no number."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        found = re.search(r"-?\d+(\.\d+)?", value)
        value = float(found.group()) if found else None
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return min(100.0, max(0.0, float(value)))


def scores(text: str) -> list[tuple[int, str, float, str]]:
    """Return (step, action, score, reason) of an answer to the reward prompt; what is no number is left out."""
    found = json_object(text) or {}
    rows = found.get("step_analysis")
    result = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, Mapping):
            continue
        step, score = row.get("step"), row.get("score")
        if isinstance(step, str) and step.strip().lstrip("-").isdigit():
            step = int(step)
        if isinstance(score, str):
            try:
                score = float(score)
            except ValueError:
                continue
        if isinstance(step, bool) or not isinstance(step, int) or isinstance(score, bool):
            continue
        if not isinstance(score, (int, float)) or not math.isfinite(score):
            continue
        result.append(
            (step, str(row.get("action", "")), float(score), str(row.get("detailed_reasoning", "")))
        )
    return result


def _numbered(found: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
    rows = []
    for key, value in found.items():
        if named := re.fullmatch(r"option_?(\d+)", key, re.IGNORECASE):
            i = named.group(1)
            reason = _either(found, "reasoning", i) or found.get(f"option{i}_reasoning")
            rows.append((value, _either(found, "confidence", i), reason))
    return rows


def _either(found: Mapping[str, Any], name: str, i: str) -> Any:
    return next((found[k] for k in (f"{name}{i}", f"{name}_{i}") if k in found), None)


def _listed(found: Mapping[str, Any]) -> list[tuple[Any, Any, Any]]:
    rows: list[Any] = next((found[k] for k in ("options", "actions") if isinstance(found.get(k), list)), [])
    result = []
    for row in rows:
        if isinstance(row, Mapping):
            name = next((row[k] for k in ("option", "action", "command") if k in row), None)
            result.append((name, row.get("confidence"), row.get("reasoning", row.get("reason"))))
        else:
            result.append((row, None, None))
    return result


def _form(text: str) -> str:
    return " ".join(text.strip().strip("\"'`*.>").split()).casefold()


def _forms(valid: Sequence[str]) -> dict[str, str]:
    forms: dict[str, str] = {}
    for action in reversed(valid):  # of two that differ in case alone, the first stands
        forms[_form(action)] = action
    return forms


_TOKEN = re.compile(r"""
    (?P<string>"(?:[^"\\]|\\.)*")
  | (?P<cut>"(?:[^"\\]|\\.)*\\?$)
  | (?P<single>'(?:[^'\\\n]|\\.)*'(?=\s*[,:}\]]))
  | (?P<comment>//[^\n]*|/\*.*?\*/)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | (?P<other>.)
""", re.VERBOSE | re.DOTALL)  # fmt: skip

_LITERALS = ("true", "false", "null")
_WORDS = {"None": "null", "True": "true", "False": "false", "NaN": "null", "Infinity": "null"}


def _mend(text: str) -> str:
    """Return `text` with the usual slips of models put right, and what was left open closed.

    Where it was cut off, the last value goes unless its end was reached: half a number is another number, and half
    an action may be another action.
    """
    out: list[str] = []
    closing: list[str] = []
    whole: tuple[int, tuple[str, ...]] = (0, ())
    for found in _TOKEN.finditer(text):
        kind, part = found.lastgroup, found.group()
        if kind == "comment":
            continue
        if kind == "cut":
            part = '"'
        elif kind == "single":
            part = json.dumps(part[1:-1].replace("\\'", "'"))
        elif kind == "word":
            part = part if part in _LITERALS else _WORDS.get(part, json.dumps(part))
        elif part in "{[":
            closing.append("}" if part == "{" else "]")
        elif part in "}]":
            if not closing:
                break
            _drop_comma(out)
            closing.pop()
        elif part == ",":
            whole = len(out), tuple(closing)
        out.append(part)
        if part in ("{", "["):
            whole = len(out), tuple(closing)
        if not closing and part in "}]":
            break
    if closing:
        if not _ended(out, in_list=closing[-1] == "]"):
            kept, open_then = whole
            del out[kept:]
            closing = list(open_then)
        _drop_comma(out)
    return "".join(out) + "".join(reversed(closing))


def _ended(out: list[str], *, in_list: bool) -> bool:
    """Return whether what was written last is a value that reached its end."""
    last = [part for part in out if not part.isspace()][-2:]
    if len(last) < 2:
        return False
    value = last[1] in _LITERALS or (len(last[1]) > 1 and last[1].startswith('"'))
    return last[1] in ("}", "]") or (value and (last[0] == ":" or (in_list and last[0] in (",", "["))))


def _drop_comma(out: list[str]) -> None:
    while out and (out[-1].isspace() or out[-1] == ","):
        out.pop()

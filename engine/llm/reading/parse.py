"""Parses the answers of models: JSON with errors, and options that are close to valid actions.

No function raises because of a model's text. Unreadable parts are left out and counted.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.llm.reading import lenient

MOST_ROWS = 1000
"""Number of options of one answer that are read."""


@dataclass(frozen=True, slots=True)
class ProposedAction:
    """One proposed action.

    Attributes:
        action: The exact valid action.
        confidence: 0 to 100, None if it was missing or not a number.
        number: The model's number for it: 2 for "option2", or its position in a list, from 1.
    """

    action: str
    confidence: float | None
    reason: str
    number: int = 0


@dataclass(frozen=True, slots=True)
class ProposedActions:
    """The options of one answer.

    Attributes:
        options: Distinct valid actions in the order of the answer.
        dropped: Number of options that were not valid actions.
        readable: Whether there was any JSON object.
        best: The action of the option that the model called the best, "" if it named none of the options.
    """

    options: tuple[ProposedAction, ...]
    dropped: int = 0
    readable: bool = True
    best: str = ""


def json_object(text: str, until: float = math.inf) -> dict[str, Any] | None:
    """Return the first JSON object in `text`, with errors repaired where that is safe; None if there is none.

    An empty object is returned only if there is no other. See `engine.llm.reading.lenient` for the repairs.

    Args:
        until: Time limit on the clock of `time.monotonic()`. When it is reached, nothing is read.
    """
    return _object(text, until, lambda found: True)


def options(
    text: str,
    valid: Sequence[str],
    accept: Callable[[str], str | None] | None = None,
    until: float = math.inf,
) -> ProposedActions:
    """Return the options of an answer to the action prompt (App. F: option_i, confidence_i, reasoning_i).

    A list of objects or strings under "options" or "actions" is read as well. If there are several JSON
    objects, the first one with options is used.

    Args:
        accept: Returns the exact form of an option that is not in `valid`, None to drop it. Only needed if
            more actions are possible than `valid` lists.
        until: Time limit on the clock of `time.monotonic()`. When it is reached, nothing is read.
    """
    found = _object(text, until, lambda found: bool(_rows(found, most=1)))
    if found is None:
        return ProposedActions((), readable=False)
    valid_by_form = _forms(valid)
    kept: dict[str, ProposedAction] = {}
    by_number: dict[int, str] = {}
    dropped = 0
    for i, raw, confidence, reason in _rows(found, MOST_ROWS):
        action = match(raw, valid, valid_by_form)
        if action is None and accept is not None and isinstance(raw, str):
            action = accept(raw)
        if action is None:
            dropped += 1
            continue
        by_number.setdefault(i, action)
        if action not in kept:
            kept[action] = ProposedAction(action, number(confidence), _said(reason).strip(), i)
    named = found.get("best_action")
    best = _best(named, by_number, tuple(kept))
    if not best and accept is not None and isinstance(named, str):
        action = accept(named)
        best = action if action is not None and action in kept else ""
    return ProposedActions(tuple(kept.values()), dropped, best=best)


def match(text: Any, valid: Sequence[str], forms: Mapping[str, str] | None = None) -> str | None:
    """Return the valid action that equals `text`, ignoring case, spaces and quotes if there is no exact match."""
    if not isinstance(text, str):
        return None
    if text in valid:
        return text
    return (forms if forms is not None else _forms(valid)).get(_form(text))


def number(value: Any) -> float | None:
    """Return a confidence limited to 0 to 100, None if `value` is not a number."""
    if isinstance(value, str):
        found = _NUMBER.search(value)
        value = found.group() if found else None
    confidence = _finite(value)
    return None if confidence is None else min(100.0, max(0.0, confidence))


def scores(text: str, until: float = math.inf) -> list[tuple[int, str, float, str]]:
    """Return (step, action, score, reason) of an answer to the reward prompt. Rows without numbers are left out.

    Args:
        until: Time limit on the clock of `time.monotonic()`. When it is reached, nothing is read.
    """
    found = _object(text, until, lambda found: isinstance(found.get("step_analysis"), list)) or {}
    rows = found.get("step_analysis")
    result = []
    for row in rows if isinstance(rows, list) else []:
        if not isinstance(row, Mapping):
            continue
        step, score = _whole(row.get("step")), _finite(row.get("score"))
        if step is not None and score is not None:
            result.append((step, _said(row.get("action")), score, _said(row.get("detailed_reasoning"))))
    return result


_NUMBER = re.compile(r"[-+]?(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)(?:[eE][-+]?[0-9]++)?")
_WHOLE = re.compile(r"-?[0-9]{1,18}")
_OPTION = re.compile(r"option_?([0-9]{1,18})", re.IGNORECASE)
_BEST = re.compile(r"(?:option)?[\s_#]*+([0-9]{1,18})(?:[.:)](?![0-9]).*+)?", re.IGNORECASE | re.DOTALL)


def _object(text: str, until: float, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any] | None:
    """Return the first object that is wanted, otherwise the first non-empty one, otherwise the first one."""
    first: dict[str, Any] | None = None
    try:
        for found in lenient.objects(text, until):
            if found and wanted(found):
                return found
            first = first or found
    except lenient.ReadingTimeout:
        return None
    return first


def _finite(value: Any) -> float | None:
    """Return a number, or a text with a number, as a float; None if it is neither, or too large."""
    if isinstance(value, str):
        value = value.strip()
        if len(value) > lenient.LONGEST_NUMBER or not _NUMBER.fullmatch(value):
            return None
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        value = float(value)
    except OverflowError:
        return None
    return value if math.isfinite(value) else None


def _whole(value: Any) -> int | None:
    """Return an integer, or a text with an integer, as an int; None if it is neither, or too large for 64 bits."""
    if isinstance(value, str):
        value = value.strip()
        return int(value) if _WHOLE.fullmatch(value) else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) < 10**18 else None


def _said(value: Any) -> str:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _best(named: Any, by_number: Mapping[int, str], kept: Sequence[str]) -> str:
    """Return the action of the option that was named the best, by number (2 or "option2") or by text; "" if none."""
    if isinstance(named, float) and named.is_integer():
        named = int(named)
    if not isinstance(named, str):
        i = _whole(named)
        return "" if i is None else by_number.get(i, "")
    found = _BEST.fullmatch(named.strip())
    if found and int(found[1]) in by_number:
        return by_number[int(found[1])]
    return match(named, kept) or ""


def _rows(found: Mapping[str, Any], most: int) -> list[tuple[int, Any, Any, Any]]:
    """Return at most `most` rows (number, option, confidence, reason)."""
    return list(itertools.islice(_numbered(found), most)) or list(itertools.islice(_listed(found), most))


def _numbered(found: Mapping[str, Any]) -> Iterable[tuple[int, Any, Any, Any]]:
    for key, value in found.items():
        if named := _OPTION.fullmatch(key):
            i = named[1]
            reason = _either(found, "reasoning", i) or found.get(f"option{i}_reasoning")
            yield int(i), value, _either(found, "confidence", i), reason


def _either(found: Mapping[str, Any], name: str, i: str) -> Any:
    return next((found[k] for k in (f"{name}{i}", f"{name}_{i}") if k in found), None)


def _listed(found: Mapping[str, Any]) -> Iterable[tuple[int, Any, Any, Any]]:
    rows: list[Any] = next((found[k] for k in ("options", "actions") if isinstance(found.get(k), list)), [])
    for i, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            name = next((row[k] for k in ("option", "action", "command") if k in row), None)
            yield i, name, row.get("confidence"), row.get("reasoning", row.get("reason"))
        else:
            yield i, row, None, None


def _form(text: str) -> str:
    return " ".join(text.strip().strip("\"'`*.>").split()).casefold()


def _forms(valid: Sequence[str]) -> dict[str, str]:
    forms: dict[str, str] = {}
    for action in reversed(valid):  # of actions that differ only in case, the first one counts
        forms[_form(action)] = action
    return forms

"""Which remembered steps the memory screen lists, and in which order: what a person typed, as a filter."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import UsageError
from engine.memory.table import StepTable, UseCounts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from engine.memory.table import Floats, Ints

SORTS = ("entry", "episode", "action", "G", "points", "by", "hits", "decided")
"""The columns that rows can be sorted by."""

_CONDITION = re.compile(r"(ep|episode|hits|decided|g|points)(>=|<=|>|<|=|:)(-?[0-9.]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows to list.

    Attributes:
        words: Words that must be in the step, as `report.search` finds them.
        conditions: (column, sign, number) triples that must hold.
        by: Provenances, one of which the step must begin with; () for all.
        edited: Only steps that a person corrected.
        pinned: Only pinned steps.
    """

    words: tuple[str, ...] = ()
    conditions: tuple[tuple[str, str, float], ...] = ()
    by: tuple[str, ...] = ()
    edited: bool = False
    pinned: bool = False


def parse_filter(text: str) -> Filter:
    """Return the filter that a person typed: words, and conditions such as `ep:5`, `G>1`, `by:human`, `pinned`.

    Raises:
        UsageError: A number in it is none.
    """
    words, conditions, by = [], [], []
    edited = pinned = False
    for part in text.split():
        found = _CONDITION.fullmatch(part.replace("\N{MINUS SIGN}", "-"))
        if found:
            name, sign, number = found.groups()
            try:
                conditions.append((_named(name), "=" if sign == ":" else sign, float(number)))
            except ValueError:
                raise UsageError(f"{number!r} in {part!r} is no number") from None
        elif part.casefold().startswith("by:"):
            by.append(part[3:])
        elif part in ("edited", "pinned"):
            edited, pinned = edited or part == "edited", pinned or part == "pinned"
        else:
            words.append(part)
    return Filter(tuple(words), tuple(conditions), tuple(by), edited, pinned)


def list_steps(
    table: StepTable,
    wanted: Filter,
    *,
    sort: str = "entry",
    descending: bool = True,
    counts: UseCounts | None = None,
    found: NDArray[np.int64] | None = None,
) -> Ints:
    """Return the indices of the rows to list, in their order. Equal rows are in the order of their entries.

    Args:
        wanted: Which rows. Its words are not looked at; `found` has what they lead to.
        sort: One of `SORTS`.
        descending: The largest first.
        counts: How often steps were behind decisions.
        found: Entry numbers of the steps that have the words; None for all.
    """
    counts = counts or UseCounts()
    kept = np.ones(len(table), bool)
    for name, sign, number in wanted.conditions:
        kept &= _holds(_column(table, name, counts), sign, number)
    if wanted.by:
        fits = [n for n, one in enumerate(table.provenances) if one.startswith(wanted.by)]
        kept &= np.isin(table.provenance, fits)
    if wanted.edited or wanted.pinned:
        entries = [
            entry for entry, one in table.corrections.items()
            if (not wanted.edited or one.g is not None or one.gain is not None) and (not wanted.pinned or one.pinned)
        ]  # fmt: skip
        kept &= np.isin(table.entry, entries)
    if found is not None:
        kept &= np.isin(table.entry, found)
    rows = np.flatnonzero(kept)
    if sort != "entry":
        values = _column(table, sort, counts)[rows]
        order = np.argsort(-values if descending else values, kind="stable")
        return rows[order]
    return rows[::-1] if descending else rows


def _column(table: StepTable, name: str, counts: UseCounts) -> Ints | Floats:
    if name in ("hits", "decided"):
        return counts.column(table, name)
    if name in ("action", "by"):
        names, numbers = (
            (table.actions, table.action) if name == "action" else (table.provenances, table.provenance)
        )
        rank = np.empty(len(names), np.int64)
        rank[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
        return rank[numbers]
    columns: dict[str, Ints | Floats] = {
        "entry": table.entry, "episode": table.episode, "G": table.g, "points": table.points
    }  # fmt: skip
    return columns[name]


def _holds(values: Ints | Floats, sign: str, number: float) -> NDArray[np.bool_]:
    result: NDArray[np.bool_] = {
        ">": values > number,
        "<": values < number,
        ">=": values >= number,
        "<=": values <= number,
        "=": np.abs(values - number) < 5e-3,
    }[sign]
    return result


def _named(name: str) -> str:
    name = name.casefold()
    return {"ep": "episode", "g": "G"}.get(name, name)

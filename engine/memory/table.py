"""All remembered steps of a scope as columns, to sort and to filter: what the memory screen lists."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.errors import UsageError
from engine.memory.exact.entries import NOTHING, Entries
from engine.memory.search import Correction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

SORTS = ("entry", "episode", "action", "G", "points", "by", "hits", "decided")
"""The columns that rows can be sorted by."""

_CONDITION = re.compile(r"(ep|episode|hits|decided|g|points)(>=|<=|>|<|=|:)(-?[0-9.]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StepTable:
    """Columns of the remembered steps, oldest first; forgotten ones are left out. One item per step.

    Attributes:
        entry: Entry number.
        episode: Number of its episode.
        step: Index of the step in its episode.
        action: Index into `actions`.
        g: Return G, with corrections.
        points: Points that the environment gave, with corrections.
        provenance: Index into `provenances`.
        corrections: What persons corrected, by entry number.
    """

    entry: Ints
    episode: Ints
    step: Ints
    action: Ints
    g: Floats
    points: Floats
    provenance: Ints
    actions: tuple[str, ...]
    provenances: tuple[str, ...]
    corrections: Mapping[int, Correction]

    def __len__(self) -> int:
        return len(self.entry)


def columns_of(entries: Entries, g: Sequence[float], corrections: Mapping[int, Correction]) -> StepTable:
    """Return all steps of an index that were not forgotten.

    Args:
        g: The return of every row, with corrections.
        corrections: What persons corrected, by entry number.
    """
    columns = {
        name: np.array(entries.columns[name], np.int64) for name in ("state", "action", "episode", "provenance")
    }
    rows = np.flatnonzero(columns["state"] != NOTHING)
    places = columns["episode"][rows]
    starts, firsts = np.array(entries.start, np.int64), np.array(entries.first, np.int64)
    step = rows - starts[places]
    found = StepTable(
        entry=firsts[places] + step if len(rows) else rows,
        episode=np.array(entries.numbers, np.int64)[places] if len(rows) else rows,
        step=step,
        action=columns["action"][rows],
        g=np.array(g, np.float64)[rows],
        points=np.array(entries.columns["env_reward"], np.float64)[rows],
        provenance=columns["provenance"][rows],
        actions=tuple(entries.actions),
        provenances=tuple(entries.provenances),
        corrections=dict(corrections),
    )
    for entry, one in corrections.items():
        at = int(np.searchsorted(found.entry, entry))
        if one.gain is not None and at < len(found) and found.entry[at] == entry:
            found.points[at] = one.gain
    return found


@dataclass(frozen=True, slots=True)
class UseCounts:
    """How often each step was behind a decision, by entry number.

    Attributes:
        hits: Decisions that it was behind.
        decided: Those of them whose choice memory changed.
    """

    hits: Mapping[int, int] = field(default_factory=dict)
    decided: Mapping[int, int] = field(default_factory=dict)

    def column(self, table: StepTable, name: str) -> Ints:
        """Return "hits" or "decided" for each row of a table."""
        found = np.zeros(len(table), np.int64)
        known: Mapping[int, int] = getattr(self, name)
        if known:
            entries = np.fromiter(known.keys(), np.int64, len(known))
            numbers = np.fromiter(known.values(), np.int64, len(known))
            at = np.searchsorted(table.entry, entries)
            there = at < len(table)
            there[there] = table.entry[at[there]] == entries[there]
            found[at[there]] = numbers[there]
        return found


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


def parsed(text: str) -> Filter:
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


def listed(
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

"""All remembered steps of a scope as columns, and how often each was behind a decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from engine.memory.exact.entries import NOTHING, Entries
from engine.memory.search import Correction

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

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

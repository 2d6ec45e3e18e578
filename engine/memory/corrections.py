"""Corrections of remembered steps by a person: another return, other points, a pin.

A correction is a kept record of the kind "correction" with the provenance of who made it. It is appended; the episode
is not rewritten. Of several corrections of a step, the one that was made last counts. Exports, merges and checks carry
corrections like all kept records, and forgetting the episode forgets them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from engine import limits
from engine.limits import LARGEST_REWARD
from engine.memory.kept import KeptRecords
from engine.memory.search import Correction, MemoryFilter

KIND = "correction"


class Corrections:
    """The corrections of one scope, by entry number. Read anew when kept records or episodes have changed.

    Args:
        records: The kept records of the scope.
        first_entry: Returns the entry number of step 0 of an episode by its uid, None if it is not stored.
        version: Returns what changes when episodes do.
    """

    def __init__(
        self,
        records: KeptRecords,
        first_entry: Callable[[str], int | None],
        version: Callable[[], tuple[str, int]],
    ) -> None:
        self._records = records
        self._first_entry = first_entry
        self._version = version
        self._seen: tuple[str, int, int] | None = None
        self._made: list[tuple[float, int, Correction]] = []

    def seen_with(self, memory_filter: MemoryFilter) -> Mapping[int, Correction]:
        """Return the corrections that a filter shows."""
        self._read()
        if not self._made:
            return memory_filter.corrections
        found = {entry: one for at, entry, one in self._made if at <= memory_filter.until}
        return {**found, **memory_filter.corrections}

    def _read(self) -> None:
        # The file is not looked at anew: rows must not move while a search goes on.
        now = (*self._version(), self._records.seen)
        if now == self._seen:
            return
        self._seen, self._made = now, []
        for _, record in self._records.known():
            if record.kind != KIND:
                continue
            first = self._first_entry(record.episode_uid)
            step = record.data.get("step")
            if first is not None and limits.is_count(step) and isinstance(step, int):
                self._made.append((record.at, first + step, _read_data(record.data)))
        self._made.sort(key=lambda made: made[0])


def describe(correction: Correction) -> str:
    """Return a correction in words."""
    parts = []
    if correction.g is not None:
        parts.append(f"G = {correction.g:g}")
    if correction.gain is not None:
        parts.append(f"points = {correction.gain:g}")
    if correction.pinned:
        parts.append("pinned")
    return ", ".join(parts) or "as it was stored"


def _read_data(data: Mapping[str, Any]) -> Correction:
    """Return the correction of a record. Values that are no numbers are left out."""
    numbers = {
        name: float(data[name])
        for name in ("g", "gain")
        if limits.is_number(data.get(name), LARGEST_REWARD)
    }
    return Correction(pinned=data.get("pinned") is True, **numbers)

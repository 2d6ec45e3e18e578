"""Corrections of remembered steps by a person: another return, other points, a pin.

A correction is a kept record of the kind "correction" with the provenance of who made it. It is appended; the episode
is not rewritten. Of several corrections of a step, the one that was made last counts. Exports, merges and checks carry
corrections like all kept records, and forgetting the episode forgets them.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from engine import limits
from engine.errors import UsageError
from engine.limits import LARGEST_REWARD
from engine.memory.kept import TABLE
from engine.memory.search import Correction, Lens
from engine.records import Kept

if TYPE_CHECKING:
    from engine.memory.scope import Scope

KIND = "correction"
AGENT = "person"


class Corrections:
    """The corrections of one scope, by entry number. Read anew when kept records or episodes have changed.

    Args:
        scope: The scope.
    """

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._seen: tuple[str, int, int] | None = None
        self._made: list[tuple[float, int, Correction]] = []

    def seen_through(self, lens: Lens) -> Mapping[int, Correction]:
        """Return the corrections that a lens shows."""
        self._read()
        if not self._made:
            return lens.corrections
        found = {entry: one for at, entry, one in self._made if at <= lens.until}
        return {**found, **lens.corrections}

    def _read(self) -> None:
        scope = self._scope
        # The journal is not looked at anew: rows must not move while a search goes on.
        now = (scope.generation, len(scope.journal.ids(TABLE)), scope.episode_count)
        if now == self._seen:
            return
        self._seen, self._made = now, []
        if not now[1]:
            return
        for _, record in scope.records.known():
            if record.kind != KIND:
                continue
            first = scope.first_entry(record.episode_uid)
            step = record.data.get("step")
            if first is not None and limits.is_count(step) and isinstance(step, int):
                self._made.append((record.at, first + step, _read_data(record.data)))
        self._made.sort(key=lambda made: made[0])


def correct(scope: Scope, entry: int, correction: Correction, *, session: str = "", at: float | None = None) -> Kept:
    """Store a correction of the step with this entry number, in place of earlier ones; it is on disk on return.

    An empty `Correction()` takes earlier ones back.

    Args:
        session: The session in which it was made, "" for none.
        at: Unix time, now by default.

    Raises:
        UsageError: There is no such step, or the number is not finite or too large.
        StorageError: It could not be written; memory is as before.
    """
    found = scope.located(entry)
    if found is None:
        raise UsageError(f"there is no entry {entry} in {scope.name}; it may have been forgotten")
    for value in (correction.g, correction.gain):
        if value is not None and not limits.is_number(value, LARGEST_REWARD):
            raise UsageError(f"a return must be a number between {-LARGEST_REWARD:g} and {LARGEST_REWARD:g}")
    episode, step = found
    data: dict[str, Any] = {"step": step, "pinned": correction.pinned}
    data |= {name: value for name in ("g", "gain") if (value := getattr(correction, name)) is not None}
    return scope.records.add(
        Kept(
            KIND,
            f"edited by a person: {described(correction)}, step {step + 1} of episode {episode.number}",
            data,
            agent=AGENT,
            session=session,
            episode=episode.number,
            episode_uid=episode.uid,
            at=time.time() if at is None else at,
            provenance="human",
            uid=uuid.uuid4().hex,
        )
    )


def described(correction: Correction) -> str:
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

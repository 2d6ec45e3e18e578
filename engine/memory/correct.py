"""Correcting remembered steps: a person gives one another return or other points, or pins it."""

from __future__ import annotations

import time
import uuid
from collections.abc import Mapping
from typing import Any

from engine import limits
from engine.errors import UsageError
from engine.limits import LARGEST_REWARD
from engine.memory.corrections import KIND, described
from engine.memory.scope import Scope
from engine.memory.search import Correction
from engine.records import Kept


def correct(
    scope: Scope, corrections: Mapping[int, Correction], *, session: str = "", at: float | None = None
) -> list[Kept]:
    """Store corrections of steps, by entry number, in place of earlier ones. They are on disk on return.

    An empty `Correction()` takes earlier ones back.

    Args:
        session: The session in which it was made, "" for none.
        at: Unix time. By default now, but not before that of a correction that is there, even if the clock was set
            back, because the latest one counts.

    Raises:
        UsageError: There is no such step, or a number is not finite or too large. Nothing is stored.
        StorageError: They could not be written; memory is as before.
    """
    when = at
    if when is None:
        when = max([time.time(), *(record.at for record in scope.records.all() if record.kind == KIND)])
    return scope.records.add_all([_record(scope, entry, one, session, when) for entry, one in corrections.items()])


def _record(scope: Scope, entry: int, correction: Correction, session: str, at: float) -> Kept:
    found = scope.located(entry)
    if found is None:
        raise UsageError(f"there is no entry {entry} in {scope.name}; it may have been forgotten")
    for value in (correction.g, correction.gain):
        if value is not None and not limits.is_number(value, LARGEST_REWARD):
            raise UsageError(f"a return must be a number between {-LARGEST_REWARD:g} and {LARGEST_REWARD:g}")
    episode, step = found
    data: dict[str, Any] = {"step": step, "pinned": correction.pinned}
    data |= {name: value for name in ("g", "gain") if (value := getattr(correction, name)) is not None}
    return Kept(
        KIND,
        f"edited by a person: {described(correction)}, step {step + 1} of episode {episode.number}",
        data,
        agent="person",
        session=session,
        episode=episode.number,
        episode_uid=episode.uid,
        at=at,
        provenance="human",
        uid=uuid.uuid4().hex,
    )

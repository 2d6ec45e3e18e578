"""Memory as a graph: remembered steps in columns, for estimators that look beyond neighbours."""

from __future__ import annotations

import bisect
import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.memory.entries import NOTHING, Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class Transitions:
    """Remembered steps (s, a, r, s') in columns, oldest first; every array has shape (n,).

    States are numbers of distinct token sets: equal numbers, equal sets. -1 is an unknown state: the next
    state of a step whose successor was forgotten.

    Attributes:
        entry: Entry number.
        state: s.
        action: Number into `Scope.actions()`.
        reward: r of the evaluator.
        env_reward: Change of the environment's score.
        next_state: s'.
        last: Whether the episode ended with this step.
        done: Whether the environment ended it there (as against the step limit).
        episode: Number of the episode within the scope.
        step: Step within the episode, from 0.
    """

    entry: NDArray[np.int64]
    state: NDArray[np.int32]
    action: NDArray[np.int32]
    reward: NDArray[np.float64]
    env_reward: NDArray[np.float64]
    next_state: NDArray[np.int32]
    last: NDArray[np.bool_]
    done: NDArray[np.bool_]
    episode: NDArray[np.int64]
    step: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.entry)


def transitions_of(entries: Entries, since: int) -> Transitions:
    """Return the steps from entry number `since` on, without forgotten ones."""
    first = 0
    if since > 0:
        row = entries.row(since)
        first = _row_from(entries, since) if row is None else row
    episode = entries.column("episode", first)
    starts = np.array(entries.start, np.int64)
    rows = np.arange(first, len(entries), dtype=np.int64)
    step = rows - starts[episode]
    last = rows + 1 == starts[episode + 1]
    keep = entries.column("state", first) != NOTHING
    columns = Transitions(
        entry=np.array(entries.first, np.int64)[episode] + step,
        state=entries.column("state", first),
        action=entries.column("action", first),
        reward=entries.column("reward", first),
        env_reward=entries.column("env_reward", first),
        next_state=entries.column("next", first),
        last=last,
        done=last & np.array(entries.done, bool)[episode],
        episode=np.array(entries.numbers, np.int64)[episode],
        step=step,
    )
    return Transitions(*(getattr(columns, spec.name)[keep] for spec in dataclasses.fields(columns)))


def _row_from(entries: Entries, since: int) -> int:
    """Return the first row whose entry number is `since` or more."""
    episode = bisect.bisect_left(entries.first, since)
    return int(entries.start[episode])

"""What a memory knows at a glance, for the home screen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.memory.scope import Scope

LARGEST = 20_000_000
"""Bytes of the largest journal that is read for a glance."""
_ACTIONS = 12
"""Most actions that are told."""
_GAMMA = 0.5
"""Discount of the returns, as on the memory screen."""


@dataclass(frozen=True, slots=True)
class ScopeSummary:
    """What a memory knows of one scope.

    Attributes:
        scope: Its name.
        scores: Score of each remembered episode, oldest first.
        max_score: Highest score there is, None if it is not known.
        steps: Number of remembered steps.
        actions: Actions with their mean return G and the number of steps that took them, the highest mean first.
        best: The actions of the best episode, of several the last one; () if it is not known any more.
        size: Bytes of the journal.
        left_out: Whether it was too large to be read; then there is only its size.
    """

    scope: str
    scores: tuple[float, ...] = ()
    max_score: float | None = None
    steps: int = 0
    actions: tuple[tuple[str, float, int], ...] = ()
    best: tuple[str, ...] = ()
    size: int = 0
    left_out: bool = False

    @property
    def title(self) -> str:
        """The name of the game or task, without what tells versions apart."""
        return self.scope.partition("/")[2].rpartition("-")[0] or self.scope


def read(folder: Path, saves: Path) -> list[ScopeSummary]:
    """Return what the memory in a folder knows, the scope changed last first. Nothing is written.

    Raises:
        JitrlError: It cannot be read.
    """
    from engine.environments import scope_rules
    from engine.memory.disk.files import JOURNAL
    from engine.memory.memory_factory import open_memory
    from engine.paths import slug

    if not folder.is_dir():
        return []
    found = []
    memory = open_memory(folder, saves, follow=False, rules=scope_rules)
    try:
        for name in memory.scopes():
            stat = (folder / slug(name) / JOURNAL).stat()
            known = ScopeSummary(name, size=stat.st_size, left_out=True)
            if stat.st_size <= LARGEST:
                known = _of(memory.scope(name), stat.st_size)
            found.append((stat.st_mtime, known))
    finally:
        memory.close()
    return [known for _, known in sorted(found, key=lambda one: -one[0])]


def _of(scope: Scope, size: int) -> ScopeSummary:
    import numpy as np  # the first drawing of the home screen does not wait for it

    table = scope.table(_GAMMA)
    outcomes = [scope.score(place) for place in range(scope.episode_count)]
    scores = tuple(score for score, _ in outcomes)
    counts = np.bincount(table.action, minlength=len(table.actions))
    sums = np.bincount(table.action, weights=table.g, minlength=len(table.actions))
    taken = np.flatnonzero(counts)
    means = sums[taken] / counts[taken]
    order = np.argsort(-means, kind="stable")[:_ACTIONS]
    actions = tuple((table.actions[taken[at]], float(means[at]), int(counts[taken[at]])) for at in order)
    numbers = np.unique(table.episode)
    best: tuple[str, ...] = ()
    if scores and len(numbers) == len(scores):  # all steps of an episode may have been forgotten
        last = max(range(len(scores)), key=lambda place: (scores[place], place))
        best = tuple(table.actions[action] for action in table.action[table.episode == numbers[last]])
    return ScopeSummary(scope.name, scores, outcomes[-1][1] if outcomes else None, len(table), actions, best, size)

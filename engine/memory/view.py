"""A memory scope seen through a filter: as it was at some time, or as it would be with changes. Nothing is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from engine.memory.disk.document import FORGOTTEN
from engine.memory.scope import Scope
from engine.memory.search import EVERYTHING, Correction, MemoryFilter, NeighbourSearch, Retriever
from engine.records import CorrectedStep, Episode, Neighbour, State, Step

_MORE = 16
"""By how much more is asked for where a filter hides steps."""


class ScopeView:
    """A scope seen through a filter. What it does not have is the scope's.

    Args:
        scope: The scope.
        memory_filter: What is seen of it. It may be replaced at any time.
        through: What finds steps in the scope; None for the scope itself.
    """

    def __init__(
        self, scope: Scope, memory_filter: MemoryFilter = EVERYTHING, through: Retriever | None = None
    ) -> None:
        self.scope = scope
        self.memory_filter = memory_filter
        self._found = through or scope
        self._seeing = self

    def through(self, retriever: Retriever) -> ScopeView:
        """Return the same view of what another retriever finds in the scope. It follows the filter of this one."""
        other = ScopeView(self.scope, self.memory_filter, retriever)
        other._seeing = self._seeing
        return other

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the scope."""
        return getattr(self.scope, name)

    def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Return N(s) among the steps that are seen: the same as if there were no others."""
        memory_filter = self._seeing.memory_filter
        if not memory_filter.without and memory_filter.before is None:
            return self._found.retrieve(state, dataclasses.replace(search, memory_filter=memory_filter))
        pinned = {entry for entry, one in self.scope.corrections(memory_filter).items() if one.pinned}
        k = search.k
        while True:
            found = self._found.retrieve(state, dataclasses.replace(search, k=k, memory_filter=memory_filter))
            if sum(one.entry not in pinned for one in found) >= search.k or k >= len(self.scope):
                break
            k *= _MORE
        close = search.keep_above if search.keep_above > 0 else 2.0
        most = max(search.k, sum(one.similarity >= close for one in found))
        return tuple(one for n, one in enumerate(found) if n < most or one.entry in pinned)

    def entered(self, since: int = 0) -> Iterator[tuple[int, Episode]]:
        """Yield the episodes from an entry number on that are seen, oldest first, each with the one of its step 0.

        Steps that the filter hides are emptied like forgotten ones. Corrected points stand in place of the stored ones.
        """
        memory_filter = self._seeing.memory_filter
        corrections = self.scope.corrections(memory_filter)
        for first, episode in self.scope.entered(since):
            late = memory_filter.before is not None and first >= memory_filter.before
            if late and not memory_filter.partly:
                continue
            seen = self.seen(episode, first, corrections) if corrections or memory_filter.without else episode
            gone = sum(step.provenance == FORGOTTEN for step in seen.steps)
            if gone < len(seen.steps) and (gone or not late):
                yield first, seen

    def seen(self, episode: Episode, first: int, corrections: Any = None) -> Episode:
        """Return an episode as the filter shows it.

        Args:
            first: Entry number of its step 0.
            corrections: By entry number; None for those that the filter shows.
        """
        memory_filter = self._seeing.memory_filter
        known = self.scope.corrections(memory_filter) if corrections is None else corrections
        steps = []
        for entry, step in enumerate(episode.steps, first):
            one = known.get(entry)
            if entry in memory_filter.without:
                steps.append(emptied(step))
            else:
                steps.append(corrected(step, one))
        return dataclasses.replace(episode, steps=tuple(steps))


def corrected(step: Step, correction: Correction | None) -> Step:
    """Return a step with the points that a person gave it, if any did."""
    if correction is None or correction.gain is None:
        return step
    fields = {spec.name: getattr(step, spec.name) for spec in dataclasses.fields(Step)}
    return CorrectedStep(**{**fields, "env_reward": correction.gain}, own_reward=step.env_reward)


def emptied(step: Step) -> Step:
    """Return a step without its content. Its reward stays, so the returns of other steps do not change."""
    return Step(State("", ()), "", step.reward, step.env_reward, step.score, FORGOTTEN)

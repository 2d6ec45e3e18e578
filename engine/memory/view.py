"""A memory scope seen through a lens: as it was at some time, or as it would be with changes. Nothing is stored."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from engine.memory.disk.document import FORGOTTEN
from engine.memory.scope import Scope
from engine.memory.search import CLEAR, Correction, Lens, NeighbourSearch, Retriever
from engine.records import CorrectedStep, Episode, Neighbour, State, Step

_MORE = 16
"""By how much more is asked for where a lens hides steps."""


class ScopeView:
    """A scope seen through a lens. What it does not have is the scope's.

    Args:
        scope: The scope.
        lens: What is seen of it. It may be replaced at any time.
        through: What finds steps in the scope; None for the scope itself.
    """

    def __init__(self, scope: Scope, lens: Lens = CLEAR, through: Retriever | None = None) -> None:
        self.scope = scope
        self.lens = lens
        self._found = through or scope
        self._seeing = self

    def through(self, retriever: Retriever) -> ScopeView:
        """Return the same view of what another retriever finds in the scope. It follows the lens of this one."""
        other = ScopeView(self.scope, self.lens, retriever)
        other._seeing = self._seeing
        return other

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the scope."""
        return getattr(self.scope, name)

    def retrieve(self, state: State, search: NeighbourSearch) -> tuple[Neighbour, ...]:
        """Return N(s) among the steps that are seen: the same as if there were no others."""
        lens = self._seeing.lens
        if not lens.without and lens.before is None:
            return self._found.retrieve(state, dataclasses.replace(search, lens=lens))
        pinned = {entry for entry, one in self.scope.corrections(lens).items() if one.pinned}
        k = search.k
        while True:
            found = self._found.retrieve(state, dataclasses.replace(search, k=k, lens=lens))
            if sum(one.entry not in pinned for one in found) >= search.k or k >= len(self.scope):
                break
            k *= _MORE
        close = search.keep_above if search.keep_above > 0 else 2.0
        most = max(search.k, sum(one.similarity >= close for one in found))
        return tuple(one for n, one in enumerate(found) if n < most or one.entry in pinned)

    def entered(self, since: int = 0) -> Iterator[tuple[int, Episode]]:
        """Yield the episodes from an entry number on that are seen, oldest first, each with the one of its step 0.

        Steps that the lens hides are emptied like forgotten ones. Corrected points stand in place of the stored ones.
        """
        lens = self._seeing.lens
        corrections = self.scope.corrections(lens)
        for first, episode in self.scope.entered(since):
            late = lens.before is not None and first >= lens.before
            if late and not lens.partly:
                continue
            seen = self.seen(episode, first, corrections) if corrections or lens.without else episode
            gone = sum(step.provenance == FORGOTTEN for step in seen.steps)
            if gone < len(seen.steps) and (gone or not late):
                yield first, seen

    def seen(self, episode: Episode, first: int, corrections: Any = None) -> Episode:
        """Return an episode as the lens shows it.

        Args:
            first: Entry number of its step 0.
            corrections: By entry number; None for those that the lens shows.
        """
        lens = self._seeing.lens
        known = self.scope.corrections(lens) if corrections is None else corrections
        steps = []
        for entry, step in enumerate(episode.steps, first):
            one = known.get(entry)
            if entry in lens.without:
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

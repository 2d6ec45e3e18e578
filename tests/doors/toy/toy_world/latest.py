"""An estimator that believes the latest return of an action in the same state."""

from __future__ import annotations

from engine import jitrl
from engine.records import Neighbour, State, Valuation
from engine.settings import Settings
from engine.values import EstimatorKind
from engine.values.base import Estimator, Query

UNTRIED = 20.0


class LatestEstimator(Estimator):
    """Keeps nothing itself: memory has it all."""

    def __init__(self, memory, settings: Settings) -> None:
        self._memory = memory
        self._gamma = settings.gamma

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        return self._memory.neighbours(state, k=100, r=1.0, gamma=self._gamma)

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        return valid_actions

    def value(self, query: Query, rng) -> Valuation:
        latest: dict[str, float] = {}
        for neighbour in query.neighbours:  # the newest first
            latest.setdefault(neighbour.action, neighbour.g)
        actions = [candidate.action for candidate in query.candidates]
        how = [jitrl.KNOWN if action in latest else jitrl.OPTIMISTIC for action in actions]
        q = tuple(latest.get(action, UNTRIED) for action in actions)
        return Valuation(0.0, q, tuple(int(action in latest) for action in actions), tuple(how))

KIND = EstimatorKind("latest", "the latest return of the same action in the same state", LatestEstimator)

"""Who judges the steps of an episode: the game's score, a language model, or both (step 7, App. F)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.llm.model import Model
from engine.records import ModelCall, State, Step
from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Judgement:
    """Step rewards r_t and how they came about.

    Attributes:
        rewards: One for each step.
        note: A sentence when something was out of the ordinary, else "".
    """

    rewards: tuple[float, ...]
    calls: tuple[ModelCall, ...] = ()
    note: str = ""


class Evaluator(Protocol):
    """Turns a finished episode into step rewards."""

    def rewards(self, steps: Sequence[Step], final: State, *, won: bool, died: bool, done: bool) -> Judgement:
        """Return r_t for every step; never raises for what a model did."""
        ...


class ScoreEvaluator:
    """The change of the game's own score, less for dying and for changing nothing.

    A victory needs no bonus: games pay for it themselves.
    """

    def __init__(self, settings: Settings) -> None:
        self._death = settings.death_penalty
        self._idle = settings.idle_penalty

    def rewards(self, steps: Sequence[Step], final: State, *, won: bool, died: bool, done: bool) -> Judgement:
        """Return r_t for every step."""
        judged = [s.env_reward + (0.0 if s.changed else self._idle) for s in steps]
        if died and judged:
            judged[-1] += self._death
        return Judgement(tuple(judged))


def make_evaluator(settings: Settings, model: Model) -> Evaluator:
    """Return the evaluator that the settings name."""
    return ScoreEvaluator(settings)

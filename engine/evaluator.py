"""Who judges the steps of an episode: the game's score, a language model, or both (step 7, App. F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.errors import JitrlError
from engine.llm import parse, prompts
from engine.llm.model import Model
from engine.records import ModelCall, State, Step
from engine.settings import Settings

BATCH = 15
"""Steps judged in one call: each is to be explained in some eighty words."""

CONTEXT_STEPS = 60
"""Steps shown around the ones to be judged."""

WIDEST = 20.0
"""Scores up to this are accepted whatever the game's own rewards are."""


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


class LlmEvaluator:
    """A language model's verdict, with the paper's prompt, in batches; the score where it gives none.

    A verdict counts only if it names a step that was asked for together with the action taken there, and
    lies within the scale of the game's rewards. Steps without one are asked for once more.

    Args:
        hybrid: Let the environment have the last word where it has one: where the score changed, where
            nothing changed in the world, and in death.
    """

    def __init__(self, settings: Settings, model: Model, *, hybrid: bool) -> None:
        self._score = ScoreEvaluator(settings)
        self._death = settings.death_penalty
        self._model = model
        self._hybrid = hybrid

    def rewards(self, steps: Sequence[Step], final: State, *, won: bool, died: bool, done: bool) -> Judgement:
        """Return r_t for every step."""
        by_score = self._score.rewards(steps, final, won=won, died=died, done=done).rewards
        widest = max([WIDEST, abs(self._death), *(2 * abs(s.env_reward) for s in steps)])
        found: dict[int, float] = {}
        calls: list[ModelCall] = []
        problem = ""
        lines = [_line(t, step) for t, step in enumerate(steps)]
        lines.append(_ending(final, won=won, died=died, done=done))
        for first in range(0, len(steps), BATCH):
            wanted = list(range(first, min(first + BATCH, len(steps))))
            for _ in range(2):
                missing = [t for t in wanted if t not in found]
                if not missing or problem:
                    break
                try:
                    reply = self._model.complete("rewards", _messages(lines, steps, missing), SCHEMA)
                except JitrlError as error:
                    problem = str(error)
                    break
                calls.append(reply.call)
                found |= _accepted(reply.text, steps, missing, widest)
        judged = [
            by_score[t] if t not in found or (self._hybrid and by_score[t] != 0) else found[t]
            for t in range(len(steps))
        ]
        return Judgement(tuple(judged), tuple(calls), _note(len(steps), len(found), problem))


def _accepted(text: str, steps: Sequence[Step], missing: Sequence[int], widest: float) -> dict[int, float]:
    found: dict[int, float] = {}
    for t, action, score, _ in parse.scores(text):
        if (
            t in missing
            and t not in found
            and parse.match(action, [steps[t].action])
            and abs(score) <= widest
        ):
            found[t] = score
    return found


def _note(steps: int, judged: int, problem: str) -> str:
    if judged == steps:
        return ""
    share = "every step" if judged == 0 else f"{steps - judged} of {steps} steps"
    why = problem or "the model gave no usable score for them"
    return f"judged {share} by the game's score: {why}"


def _messages(lines: Sequence[str], steps: Sequence[Step], missing: Sequence[int]) -> list[dict[str, str]]:
    start = max(0, missing[-1] + 1 - CONTEXT_STEPS)
    stop = min(len(lines), missing[-1] + BATCH)
    prompt = prompts.render(
        "rewards",
        trajectory="\n".join(lines[start:stop]),
        total=str(len(steps)),
        final_score=f"{steps[-1].score:g}",
        steps=", ".join(map(str, missing)),
    )
    return prompt.chat()


def _line(t: int, step: Step) -> str:
    changed = "" if step.changed else " (nothing changed)"
    return (
        f"Step {t}: {step.state.text}\n  Action: {step.action}{changed}\n"
        f"  Reward: {step.env_reward:+g} (score {step.score:g})"
    )


def _ending(final: State, *, won: bool, died: bool, done: bool) -> str:
    how = "won" if won else "died" if died else "over" if done else "out of steps"
    return f"End ({how}): {final.text}"


SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "step_analysis": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "step": {"type": "integer"},
                    "action": {"type": "string"},
                    "detailed_reasoning": {"type": "string"},
                    "score": {"type": "number"},
                },
                "required": ["step", "action", "detailed_reasoning", "score"],
                "additionalProperties": False,
            },
        },
        "overall_assessment": {"type": "string"},
    },
    "required": ["step_analysis", "overall_assessment"],
    "additionalProperties": False,
}


def make_evaluator(settings: Settings, model: Model) -> Evaluator:
    """Return the evaluator that the settings name."""
    if settings.domain == "web":
        from engine.web.evaluator import WebEvaluator

        return WebEvaluator(settings, model)
    if settings.rewards == "score":
        return ScoreEvaluator(settings)
    return LlmEvaluator(settings, model, hybrid=settings.rewards == "hybrid")

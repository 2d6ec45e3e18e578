"""Evaluators of text adventures. Steps are judged by the game's score, a language model, or both (step 7, App. F)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine import texts
from engine.errors import JitrlError, TooLong
from engine.llm import prompts
from engine.llm.model import Model, Question, runs_in_process
from engine.llm.reading import parse
from engine.records import ModelCall, Step, Trajectory
from engine.settings import JudgingSettings, Settings

REASONING_HERE = 160
"""Characters that a model in this process may use to explain a step. It writes about twenty words a second."""

AGAIN = "Your answer cannot be used for these steps. Answer again, with the JSON object alone, for these steps: {}"
"""The message that asks again for missing steps."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The step rewards r_t of an episode.

    Attributes:
        rewards: One number for each step.
        note: A sentence if something unusual happened, otherwise "".
        scored: Indices of the steps with a valid score from a model, in order.
    """

    rewards: tuple[float, ...]
    calls: tuple[ModelCall, ...] = ()
    note: str = ""
    scored: tuple[int, ...] = ()


class Evaluator(Protocol):
    """Turns a finished episode into step rewards."""

    def rewards(self, trajectory: Trajectory) -> Judgement:
        """Return r_t for each step. Errors of the model are not raised but mentioned in the note."""
        ...


class ScoreEvaluator:
    """Rewards by the change of the game's score, with penalties for death and for actions without effect.

    There is no bonus for a victory, because games give points for it.
    """

    def __init__(self, settings: JudgingSettings) -> None:
        self._death = settings.death_penalty
        self._idle = settings.idle_penalty

    def rewards(self, trajectory: Trajectory) -> Judgement:
        """Return r_t for every step."""
        judged = [s.env_reward + (0.0 if s.changed else self._idle) for s in trajectory.steps]
        if trajectory.outcome == "lost" and judged:
            judged[-1] += self._death
        return Judgement(tuple(judged))


class LlmEvaluator:
    """Rewards by a language model with the paper's prompt, in batches. Steps without a score use the game's.

    A score is valid only if it is for a requested step, names the action taken there, and is within the scale
    of the game's rewards. Steps without a valid score are asked for again. The answer of a model in this
    process is restricted to the requested steps and actions, and to few words.

    The setting `rewards` chooses between the model's score and the environment's reward. "llm": the model's.
    "hybrid": the environment's reward if it is not 0 (the score changed, nothing changed in the world, or
    death), otherwise the model's. "llm_or_score": the model's unless it is 0, otherwise the change of the
    score; the last step of an episode that was lost or cut off has the penalty of death in place of that.
    """

    def __init__(self, settings: JudgingSettings, model: Model) -> None:
        self._score = ScoreEvaluator(settings)
        self._settings = settings
        self._model = model

    def rewards(self, trajectory: Trajectory) -> Judgement:
        """Return r_t for every step."""
        steps, settings = trajectory.steps, self._settings
        widest = max([settings.reward_scale, *(2 * abs(s.env_reward) for s in steps)])
        asking = _Asking(self._model, trajectory, widest, settings)
        batch = asking.batch
        for first in range(0, len(steps), batch):
            asking.ask(range(first, min(first + batch, len(steps))))
        found = asking.found
        judged = self._joined(trajectory, found)
        note = _note(len(steps), len(found), asking.problem)
        return Judgement(judged, tuple(asking.calls), note, tuple(sorted(found)))

    def _joined(self, trajectory: Trajectory, found: Mapping[int, float]) -> tuple[float, ...]:
        """Return the reward of each step, chosen between the model's score and the environment's."""
        by_score = self._score.rewards(trajectory).rewards
        how = self._settings.rewards
        if how == "hybrid":
            return tuple(by_score[t] or found.get(t, 0.0) for t in range(len(by_score)))
        if how == "llm_or_score":
            plain = [step.env_reward for step in trajectory.steps]
            if plain and (trajectory.outcome == "lost" or not trajectory.terminated):
                plain[-1] = self._settings.death_penalty
            return tuple(found.get(t, 0.0) or plain[t] for t in range(len(plain)))
        return tuple(found.get(t, by_score[t]) for t in range(len(by_score)))


class _Asking:
    """Asks for the scores of one episode. The number of steps per call is reduced if prompts are too long."""

    def __init__(
        self, model: Model, trajectory: Trajectory, widest: float, settings: JudgingSettings
    ) -> None:
        self.found: dict[int, float] = {}
        self.calls: list[ModelCall] = []
        self.problem = ""
        self._model, self._steps, self._widest = model, trajectory.steps, widest
        self._step_texts = [_step_text(t, trajectory) for t in range(len(trajectory.steps))] + [_ending(trajectory)]
        self._here = runs_in_process(model)
        self._settings = settings
        self._shown = settings.judged_context
        self.batch = settings.judged_steps_here if self._here else settings.judged_steps

    def ask(self, wanted: Sequence[int]) -> None:
        """Ask for the scores of `wanted`. Missing ones are asked for again until two answers bring no new score."""
        fruitless = tries = 0
        while (missing := [t for t in wanted if t not in self.found]) and not self.problem:
            if fruitless == 2 or tries == self._settings.judging_tries:
                return
            asked = missing[: self.batch]
            try:
                question = Question(
                    "rewards",
                    self._messages(asked, again=tries > 0),
                    _exactly(self._steps, asked, self._widest) if self._here else SCHEMA,
                    usable=lambda text, asked=asked: bool(self._accepted(text, asked)),  # type: ignore[misc]
                    fresh=tries > 0,
                    temperature=self._settings.judging_temperature,
                )
                reply = self._model.complete(question)
            except TooLong as error:
                if not self._shorten():
                    self.problem = str(error)
                continue
            except JitrlError as error:
                self.problem = str(error)
                return
            self.calls.append(reply.call)
            new = self._accepted(reply.text, asked)
            self.found |= new
            tries += 1
            fruitless += not new

    def _accepted(self, text: str, asked: Sequence[int]) -> dict[int, float]:
        """Return the valid scores of an answer: for a requested step, with its action, and within the scale."""
        found: dict[int, float] = {}
        for t, action, score, _ in parse.scores(text):
            fits = t in asked and t not in found and abs(score) <= self._widest
            if fits and parse.match(action, [self._steps[t].action]):
                found[t] = score
        return found

    def _messages(self, asked: Sequence[int], *, again: bool) -> list[dict[str, str]]:
        """Return the messages. They show the requested steps, and steps around them as far as there is room."""
        start = min(asked[0], max(0, asked[-1] + 1 - self._shown))
        stop = min(len(self._step_texts), asked[-1] + 1 + min(self._settings.judged_steps, self._shown // 4))
        names = ", ".join(map(str, asked))
        prompt = prompts.render(
            "rewards",
            trajectory=prompts.without_marks("\n\n".join(self._step_texts[start:stop])),
            total=str(len(self._steps)),
            final_score=f"{self._steps[-1].score:g}",
            steps=names,
        )
        more = [{"role": "user", "content": AGAIN.format(names)}] if again else []
        return [*prompt.chat(), *more]

    def _shorten(self) -> bool:
        """Show fewer steps around the requested ones, then request fewer; return False if neither is possible."""
        if self._shown > self.batch:
            self._shown = max(self.batch, self._shown // 2)
        elif self.batch > 1:
            self.batch //= 2
            self._shown = self.batch
        else:
            return False
        return True


def _note(steps: int, judged: int, problem: str) -> str:
    if judged == steps:
        return ""
    share = "every step" if judged == 0 else f"{steps - judged} of {steps} steps"
    why = problem or "the model gave no usable score for them"
    return f"judged {share} by the game's score: {why}"


def _step_text(t: int, trajectory: Trajectory) -> str:
    """Return one step as a paragraph: the output before it, the action, and the reward."""
    step = trajectory.steps[t]
    changed = "" if step.changed else " (nothing in the world changed)"
    return (
        f"Step {t}: {texts.compact(trajectory.texts[t])}\n-> Action: {step.action}{changed}\n"
        f"-> Reward: {step.env_reward:+g} (score {step.score:g})"
    )


def _ending(trajectory: Trajectory) -> str:
    how = (
        "won" if trajectory.outcome == "won" else "died" if trajectory.outcome == "lost"
        else "over" if trajectory.terminated else "out of steps"
    )  # fmt: skip
    return f"End ({how}): {texts.compact(trajectory.texts[-1])}"


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


def _exactly(steps: Sequence[Step], asked: Sequence[int], widest: float) -> Mapping[str, Any]:
    """Return the schema of an answer that has a score for each of the steps `asked`, in order, and nothing else.

    Scores are whole numbers unless the scale is too small for these: a small model may write decimals without end.
    """
    most = math.floor(widest)
    score = {"type": "integer", "minimum": -most, "maximum": most} if most > 1 else {
        "type": "number", "minimum": -widest, "maximum": widest
    }  # fmt: skip
    items = [
        {
            "type": "object",
            "properties": {
                "step": {"const": t},
                "action": {"const": steps[t].action},
                "detailed_reasoning": {"type": "string", "maxLength": REASONING_HERE},
                "score": score,
            },
            "required": ["step", "action", "detailed_reasoning", "score"],
            "additionalProperties": False,
        }
        for t in asked
    ]
    analysis = {"type": "array", "prefixItems": items, "items": False, "minItems": len(items)}
    return {
        "type": "object",
        "properties": {"step_analysis": analysis},
        "required": ["step_analysis"],
        "additionalProperties": False,
    }


def make_evaluator(settings: Settings, model: Model) -> Evaluator:
    """Return the evaluator of text adventures that the settings name."""
    if settings.rewards == "score":
        return ScoreEvaluator(settings)
    return LlmEvaluator(settings, model)

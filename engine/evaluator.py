"""Who judges the steps of an episode: the game's score, a language model, or both (step 7, App. F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine import texts
from engine.errors import JitrlError, TooLong
from engine.llm import prompts
from engine.llm.model import Model, writes_here
from engine.llm.reading import parse
from engine.records import ModelCall, Step, Trajectory
from engine.settings import JudgingSettings, Settings

REASONING_HERE = 160
"""Characters in which a model of this process explains a step: it writes some twenty words a second."""

AGAIN = "Your answer cannot be used for these steps. Answer again, with the JSON object alone, for these steps: {}"
"""What is said when steps are asked for once more."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """Step rewards r_t and how they came about.

    Attributes:
        rewards: One for each step.
        note: A sentence when something was out of the ordinary, else "".
        scored: The steps for which a model gave a score that counts, in order.
    """

    rewards: tuple[float, ...]
    calls: tuple[ModelCall, ...] = ()
    note: str = ""
    scored: tuple[int, ...] = ()


class Evaluator(Protocol):
    """Turns a finished episode into step rewards."""

    def rewards(self, trajectory: Trajectory) -> Judgement:
        """Return r_t for every step; never raises for what a model did."""
        ...


class ScoreEvaluator:
    """The change of the game's own score, less for dying and for changing nothing.

    A victory needs no bonus: games pay for it themselves.
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
    """A language model's verdict, with the paper's prompt, in batches; the score where it gives none.

    A verdict counts only if it names a step that was asked for together with the action taken there, and
    lies within the scale of the game's rewards. Steps without one are asked for once more. A model of this process
    cannot but do so: its answer is kept to the very steps and actions, and to few words.

    The setting `rewards` says who has the last word. "llm": the model. "hybrid": the environment where it has one,
    that is where the score changed, where nothing changed in the world, and in death. "llm_or_score": the model unless
    it says 0; then the change of the score, and the penalty of death for the last step of an episode that was not won.
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
        """Return the model's scores and the environment's, whichever counts for each step."""
        by_score = self._score.rewards(trajectory).rewards
        how = self._settings.rewards
        if how == "hybrid":
            return tuple(by_score[t] or found.get(t, 0.0) for t in range(len(by_score)))
        if how == "llm_or_score":
            plain = [step.env_reward for step in trajectory.steps]
            if plain and trajectory.outcome != "won":
                plain[-1] = self._settings.death_penalty
            return tuple(found.get(t, 0.0) or plain[t] for t in range(len(plain)))
        return tuple(found.get(t, by_score[t]) for t in range(len(by_score)))


class _Asking:
    """The questions about one episode: how many steps a call shows and asks for is learned as they are asked."""

    def __init__(
        self, model: Model, trajectory: Trajectory, widest: float, settings: JudgingSettings
    ) -> None:
        self.found: dict[int, float] = {}
        self.calls: list[ModelCall] = []
        self.problem = ""
        self._model, self._steps, self._widest = model, trajectory.steps, widest
        self._told = [_told(t, trajectory) for t in range(len(trajectory.steps))] + [_ending(trajectory)]
        self._here = writes_here(model)
        self._settings = settings
        self._shown = settings.judged_context
        self.batch = settings.judged_steps_here if self._here else settings.judged_steps

    def ask(self, wanted: Sequence[int]) -> None:
        """Ask for the scores of `wanted`; what is missing once more, and on as long as an answer brings some."""
        fruitless = tries = 0
        while (missing := [t for t in wanted if t not in self.found]) and not self.problem:
            if fruitless == 2 or tries == self._settings.judging_tries:
                return
            asked = missing[: self.batch]
            try:
                reply = self._model.complete(
                    "rewards",
                    self._messages(asked, again=tries > 0),
                    _exactly(self._steps, asked, self._widest) if self._here else SCHEMA,
                    usable=lambda text, asked=asked: bool(self._accepted(text, asked)),  # type: ignore[misc]
                    fresh=tries > 0,
                )
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
        """Return the scores of an answer that are for a step asked for, with its action, and within the scale."""
        found: dict[int, float] = {}
        for t, action, score, _ in parse.scores(text):
            fits = t in asked and t not in found and abs(score) <= self._widest
            if fits and parse.match(action, [self._steps[t].action]):
                found[t] = score
        return found

    def _messages(self, asked: Sequence[int], *, again: bool) -> list[dict[str, str]]:
        """Return the question: the steps before those asked for that there is room for, and some after them."""
        start = min(asked[0], max(0, asked[-1] + 1 - self._shown))
        stop = min(len(self._told), asked[-1] + 1 + min(self._settings.judged_steps, self._shown // 4))
        names = ", ".join(map(str, asked))
        prompt = prompts.render(
            "rewards",
            trajectory=prompts.unmarked("\n\n".join(self._told[start:stop])),
            total=str(len(self._steps)),
            final_score=f"{self._steps[-1].score:g}",
            steps=names,
        )
        more = [{"role": "user", "content": AGAIN.format(names)}] if again else []
        return [*prompt.chat(), *more]

    def _shorten(self) -> bool:
        """Show fewer steps around those that are asked for, then ask for fewer; False at the end of it."""
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


def _told(t: int, trajectory: Trajectory) -> str:
    """Return one step as a paragraph: what was printed before it, what was done, what it gained."""
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
    """Return the schema of an answer that scores the steps `asked`, each once and in order, and says nothing more."""
    items = [
        {
            "type": "object",
            "properties": {
                "step": {"const": t},
                "action": {"const": steps[t].action},
                "detailed_reasoning": {"type": "string", "maxLength": REASONING_HERE},
                "score": {"type": "number", "minimum": -widest, "maximum": widest},
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

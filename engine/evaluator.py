"""Who judges the steps of an episode: the game's score, a language model, or both (step 7, App. F)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from engine.errors import JitrlError, TooLong
from engine.llm import parse, prompts
from engine.llm.model import Model, writes_here
from engine.records import ModelCall, State, Step
from engine.settings import Settings

BATCH = 15
"""Steps judged in one call: each is to be explained in some eighty words."""

BATCH_HERE = 10
"""Steps judged in one call by a model of this process, which writes at most a quarter as much."""

REASONING_HERE = 160
"""Characters in which a model of this process explains a step: it writes some twenty words a second."""

CONTEXT_STEPS = 60
"""Steps shown around the ones to be judged."""

TRIES = 4
"""Most calls for one batch, when each brings some of the scores."""

WIDEST = 20.0
"""Scores up to this are accepted whatever the game's own rewards are."""


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
    lies within the scale of the game's rewards. Steps without one are asked for once more. A model of this process
    cannot but do so: its answer is kept to the very steps and actions, and to few words.

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
        lines = [_line(t, step) for t, step in enumerate(steps)]
        lines.append(_ending(final, won=won, died=died, done=done))
        asking = _Asking(self._model, steps, lines, widest)
        batch = asking.batch
        for first in range(0, len(steps), batch):
            asking.ask(range(first, min(first + batch, len(steps))))
        found = asking.found
        judged = [
            by_score[t] if t not in found or (self._hybrid and by_score[t] != 0) else found[t]
            for t in range(len(steps))
        ]
        note = _note(len(steps), len(found), asking.problem)
        return Judgement(tuple(judged), tuple(asking.calls), note, tuple(sorted(found)))


class _Asking:
    """The questions about one episode: how many steps a call shows and asks for is learned as they are asked."""

    def __init__(self, model: Model, steps: Sequence[Step], lines: Sequence[str], widest: float) -> None:
        self.found: dict[int, float] = {}
        self.calls: list[ModelCall] = []
        self.problem = ""
        self._model, self._steps, self._lines, self._widest = model, steps, lines, widest
        self._here = writes_here(model)
        self._shown, self.batch = CONTEXT_STEPS, BATCH_HERE if self._here else BATCH

    def ask(self, wanted: Sequence[int]) -> None:
        """Ask for the scores of `wanted`; what is missing once more, and on as long as an answer brings some."""
        fruitless = tries = 0
        while (missing := [t for t in wanted if t not in self.found]) and not self.problem:
            if fruitless == 2 or tries == TRIES:
                return
            asked = missing[: self.batch]
            try:
                reply = self._model.complete(
                    "rewards",
                    _messages(self._lines, self._steps, asked, self._shown),
                    _exactly(self._steps, asked, self._widest) if self._here else SCHEMA,
                )
            except TooLong as error:
                if not self._shorten():
                    self.problem = str(error)
                continue
            except JitrlError as error:
                self.problem = str(error)
                return
            self.calls.append(reply.call)
            new = _accepted(reply.text, self._steps, asked, self._widest)
            self.found |= new
            tries += 1
            fruitless += not new

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


def _messages(
    lines: Sequence[str], steps: Sequence[Step], missing: Sequence[int], shown: int
) -> list[dict[str, str]]:
    start = min(missing[0], max(0, missing[-1] + 1 - shown))
    stop = min(len(lines), missing[-1] + 1 + min(BATCH, shown // 4))
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
    """Return the evaluator that the settings name."""
    if settings.domain == "web":
        from engine.web.evaluator import WebEvaluator

        return WebEvaluator(settings, model)
    if settings.rewards == "score":
        return ScoreEvaluator(settings)
    return LlmEvaluator(settings, model, hybrid=settings.rewards == "hybrid")

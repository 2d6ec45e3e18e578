"""Who judges the steps of an episode on the web: a model from -3 to +3, and the environment's verdict on top (App. F).

Without a model that can judge in words, rules do. What changed nothing was useless; on the way to a verified success
the other steps were useful, as far as can be told. A failure is handed on to the steps before it by discounting, but
not to those that were about the task by their words: their reward makes up for it. Otherwise the first wrong answer
would warn of the right way to the page, as advantages are normalised however small they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.errors import JitrlError, UsageError
from engine.evaluator import SCHEMA, Judgement
from engine.llm import parse, prompts
from engine.llm.model import Model
from engine.records import State, Step
from engine.settings import Settings
from engine.web.actions import parse as parse_action
from engine.web.text import fenced
from engine.web.wording import stems

BEST, USELESS, PERHAPS, WORST = 3.0, -1.0, 1.0, -3.0


class WebEvaluator:
    """Step rewards from -3 to +3. Implements `engine.evaluator.Evaluator`.

    Args:
        model: Asked in words unless the settings say "score", or it is one that cannot be: a prior without words, or
            a model so small that it is read by likelihoods alone.
    """

    def __init__(self, settings: Settings, model: Model) -> None:
        self._model = None if settings.rewards == "score" or _wordless(model) else model
        self._gamma = settings.gamma

    def rewards(self, steps: Sequence[Step], final: State, *, won: bool, died: bool, done: bool) -> Judgement:
        """Return r_t for every step.

        `won` and `died` are the environment's verdict; both are False where it has none (out of steps, or nobody
        could judge), and then the last step is judged as any other.
        """
        by_rule = _by_rules(steps, self._gamma, won=won, died=died)
        if self._model is None or not steps:
            return Judgement(_capped(by_rule, won=won, died=died))
        verdict = "the task was DONE" if won else "the task was NOT done"
        prompt = prompts.render(
            "web_rewards",
            trajectory=fenced(
                "\n".join(_line(t, step) for t, step in enumerate(steps)) + f"\nEnd: {final.text}"
            ),
            total=str(len(steps)),
            verdict=verdict,
            steps=", ".join(map(str, range(len(steps)))),
        )
        found: dict[int, float] = {}
        calls, problem = [], "the model gave no usable score for them"
        for _ in range(2):
            if len(found) == len(steps):
                break
            try:
                reply = self._model.complete("rewards", prompt.chat(), SCHEMA)
            except JitrlError as error:
                problem = str(error)
                break
            calls.append(reply.call)
            for t, action, score, _ in parse.scores(reply.text):
                if 0 <= t < len(steps) and WORST <= score <= BEST and parse.match(action, [steps[t].action]):
                    found.setdefault(t, score)
        judged = tuple(found.get(t, by_rule[t]) for t in range(len(steps)))
        missing = len(steps) - len(found)
        note = f"judged {missing} of {len(steps)} steps by rule: {problem}" if missing else ""
        return Judgement(_capped(judged, won=won, died=died), tuple(calls), note)


def _wordless(model: Model) -> bool:
    return model.name.startswith("prior/") or getattr(model, "reading", "") == "string"


def _by_rules(steps: Sequence[Step], gamma: float, *, won: bool, died: bool) -> tuple[float, ...]:
    """Return what rules say of each step; the last one has the environment's verdict already."""
    rewards = [0.0] * len(steps)
    ahead = 0.0  # The return of the step after.
    for t in range(len(steps) - 1, -1, -1):
        if t == len(steps) - 1 and (won or died):
            rewards[t] = BEST if won else WORST
        elif not steps[t].changed:
            rewards[t] = USELESS
        elif won:
            rewards[t] = PERHAPS
        elif _about(steps[t]):
            rewards[t] = max(0.0, -gamma * ahead)
        ahead = rewards[t] + gamma * ahead
    return tuple(rewards)


def _about(step: Step) -> bool:
    """Whether what was acted on or typed shares a content word with the task."""
    try:
        call = parse_action(step.action)
    except UsageError:
        return False
    name = call.target.name if call.target else ""
    said = stems(f"{name} {' '.join(map(str, call.arguments))}")
    task = stems(" ".join(token.rpartition(" ")[2] for token in step.state.tokens))
    return bool(set(said) & set(task))


def _capped(rewards: Sequence[float], *, won: bool, died: bool) -> tuple[float, ...]:
    """Return the rewards with the environment's verdict as that of the last step."""
    if not rewards or not (won or died):
        return tuple(rewards)
    return (*rewards[:-1], BEST if won else WORST)


def _line(t: int, step: Step) -> str:
    changed = "" if step.changed else " (nothing changed)"
    return f"Step {t}: {step.state.text}\n  Action: {step.action}{changed}"

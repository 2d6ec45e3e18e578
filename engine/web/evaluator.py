"""The evaluator of web tasks: a model's scores from -3 to +3 (App. F), the environment's verdict, or both.

With `rewards=llm`, only the model judges, as in the paper. It is not told the environment's verdict, and the rules that
judge a step it left out do not use it. As in the paper's trajectory (s_1, a_1, ..., s_T, a_T), the last action has no
result: the environment says there whether the task was done. With `hybrid`, the last step of an episode has the
environment's verdict, if there is one. With `llm_or_score`, it has the verdict only if the model's score is 0.

If no model can judge in words, rules do. A step that changed nothing is useless. In an episode with a verified
success, the other steps are useful. A failure affects earlier steps through discounting, except steps whose words
are about the task: their reward compensates for it. Otherwise the first wrong answer would warn against the right
way to the page, because advantages are normalised no matter how small they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine import texts
from engine.errors import JitrlError, UsageError
from engine.evaluator import AGAIN, SCHEMA, Judgement
from engine.llm.model import Model, Question
from engine.llm.reading import parse
from engine.records import Step, Trajectory
from engine.settings import Settings
from engine.web.actions import parse as parse_action
from engine.web.drawing.text import fence
from engine.web.prompts import PAGES
from engine.web.states.words import stems

BEST, USELESS, PERHAPS, WORST = 3.0, -1.0, 1.0, -3.0
RESULT = 1000
"""Characters shown of the result of a step."""


class WebEvaluator:
    """Step rewards from -3 to +3. Implements `engine.evaluator.Evaluator`.

    Args:
        model: It is asked in words, unless the settings say "score" or it cannot write: a prior without a
            model, or a small model that is only read by likelihoods.
    """

    def __init__(self, settings: Settings, model: Model) -> None:
        self._model = None if settings.rewards == "score" or _wordless(model) else model
        self._how = settings.rewards
        self._gamma = settings.gamma
        self._temperature = settings.judging_temperature

    def rewards(self, trajectory: Trajectory) -> Judgement:
        """Return r_t for every step.

        The trajectory's `outcome` is the environment's verdict. If it is "" (step limit reached, or no
        judge), the last step is judged like any other.
        """
        steps, outcome = trajectory.steps, trajectory.outcome
        if self._model is None or not steps:
            return Judgement(_by_rules(steps, self._gamma, outcome))
        known = "" if self._how == "llm" else outcome
        by_rule = _by_rules(steps, self._gamma, known)
        verdict = {"won": "the task was DONE", "lost": "the task was NOT done"}.get(
            known, "nobody said whether the task was done"
        )
        prompt = PAGES.render(
            "rewards",
            trajectory=fence("\n\n".join([*_lines(trajectory, last=self._how != "llm"), _ending(trajectory)])),
            total=str(len(steps)),
            verdict=verdict,
            steps=", ".join(map(str, range(len(steps)))),
        )
        found: dict[int, float] = {}
        calls, problem = [], "the model gave no usable score for them"

        def accepted(text: str) -> dict[int, float]:
            return {
                t: score
                for t, action, score, _ in reversed(parse.scores(text))
                if 0 <= t < len(steps) and WORST <= score <= BEST and parse.match(action, [steps[t].action])
            }

        for tries in range(2):
            missing = [t for t in range(len(steps)) if t not in found]
            if not missing:
                break
            again = {"role": "user", "content": AGAIN.format(", ".join(map(str, missing)))}
            try:
                question = Question(
                    "rewards", [*prompt.chat(), *([again] if tries else [])], SCHEMA,
                    usable=lambda text: bool(accepted(text)), fresh=tries > 0, temperature=self._temperature,
                )  # fmt: skip
                reply = self._model.complete(question)
            except JitrlError as error:
                problem = str(error)
                break
            calls.append(reply.call)
            found = accepted(reply.text) | found
        judged = tuple(found.get(t, by_rule[t]) for t in range(len(steps)))
        if self._how == "hybrid" or (self._how == "llm_or_score" and judged[-1] == 0):
            judged = _capped(judged, outcome)
        left = len(steps) - len(found)
        note = f"judged {left} of {len(steps)} steps by rule: {problem}" if left else ""
        return Judgement(judged, tuple(calls), note, tuple(sorted(found)))


def _wordless(model: Model) -> bool:
    return model.name.startswith("prior/") or getattr(model, "reading", "") == "string"


def _by_rules(steps: Sequence[Step], gamma: float, outcome: str) -> tuple[float, ...]:
    """Return the rewards by rules. The last step has the environment's verdict."""
    rewards = [0.0] * len(steps)
    ahead = 0.0  # The return of the next step.
    for t in range(len(steps) - 1, -1, -1):
        if t == len(steps) - 1 and outcome:
            rewards[t] = BEST if outcome == "won" else WORST
        elif not steps[t].changed:
            rewards[t] = USELESS
        elif outcome == "won":
            rewards[t] = PERHAPS
        elif _about(steps[t]):
            rewards[t] = max(0.0, -gamma * ahead)
        ahead = rewards[t] + gamma * ahead
    return tuple(rewards)


def _about(step: Step) -> bool:
    """Whether the element or text of an action shares a content word with the task."""
    try:
        call = parse_action(step.action)
    except UsageError:
        return False
    name = call.target.name if call.target else ""
    said = stems(f"{name} {' '.join(map(str, call.arguments))}")
    task = stems(" ".join(token.rpartition(" ")[2] for token in step.state.tokens))
    return bool(set(said) & set(task))


def _capped(rewards: Sequence[float], outcome: str) -> tuple[float, ...]:
    """Return the rewards with the environment's verdict for the last step."""
    if not rewards or not outcome:
        return tuple(rewards)
    return (*rewards[:-1], BEST if outcome == "won" else WORST)


def _lines(trajectory: Trajectory, *, last: bool) -> Iterator[str]:
    """Yield each step as a paragraph: the kind of page, the action, and the result.

    Args:
        last: Whether the last step has its result.
    """
    for t, step in enumerate(trajectory.steps):
        changed = "" if step.changed else " (nothing changed)"
        text = f"Step {t}: {step.state.text}\n-> Action: {step.action}{changed}"
        if last or t + 1 < len(trajectory.steps):
            text += f"\n-> Result: {texts.clipped(' '.join(trajectory.texts[t + 1].split()), RESULT)}"
        yield text


def _ending(trajectory: Trajectory) -> str:
    return f"End: {trajectory.final.text}"

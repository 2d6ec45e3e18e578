"""Three readings of a model: from likelihoods ("string"), from index tokens ("token"), from words ("verbalized").

Each returns candidates with logits for a request (Sec. 5, implementation details).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import logits
from engine.llm import prompts
from engine.llm.calls import failures
from engine.llm.calls.client import CallFailed, ModelClient, TextAnswer
from engine.llm.calls.failures import Failure
from engine.llm.prompts import Prompt
from engine.llm.questions import TEXT_ASKING, Asking
from engine.llm.reading import parse
from engine.records import ActionRequest, Candidate, ModelCall, Proposal
from engine.settings import ModelSettings

TOP = 20
"""Number of alternative tokens to ask for, the most that the OpenAI protocol allows."""

UNUSABLE = "the model gave no usable option"


@dataclass(frozen=True, slots=True)
class ReplyReader:
    """Asks a model for candidates with logits.

    Attributes:
        budget: Largest number of tokens of a prompt.
        count: Returns the number of tokens of a prompt, exact or estimated.
        scored_after: Name of the prompt for `string`, unless `asking` has another one.
        asking: How the model is asked in this kind of environment.
        constrained: Whether the model's scores are those of a choice among the valid actions. Its policy is taken as it
            is then, without temperature.
    """

    client: ModelClient
    settings: ModelSettings
    budget: int
    count: Any
    scored_after: str = "actions_transcript"
    asking: Asking = TEXT_ASKING
    constrained: bool = False

    # ---------------------------------------------------------------------------------- likelihoods

    def string(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates drawn by the exact likelihoods of all valid actions.

        The prompt holds the state, or the state and the actions, but no history. Small models hardly use a
        history, and without it the scores of a state that was seen before can be taken from the cache.
        """
        actions = request.valid_actions
        scores, call = self.client.score("actions", self.string_prompt(request), actions)
        if self.constrained:
            total = np.asarray(scores.mean) * np.asarray(scores.lengths)
            return _drawn(actions, logits.from_logprobs(total, 1.0), total, request.candidates, rng, (call,))
        # A compromise between the sum, which favours short commands, and the mean, which favours long ones.
        values = np.asarray(scores.mean) * np.asarray(scores.lengths) ** (1 - self.settings.length_penalty)
        z = logits.from_logprobs(values, self.settings.softening * self.settings.temperature)
        return _drawn(actions, z, values, request.candidates, rng, (call,))

    def string_prompt(self, request: ActionRequest) -> Prompt:
        """Return the prompt after which actions are scored. The agent's text in it is cut if it is too long."""
        asking = self.asking
        return asking.prompts.fit(
            asking.scored_after(self.scored_after),
            self.count,
            self.budget,
            ("memory_text",) if request.memory_text else (),
            memory_text=request.memory_text,
            current_state=asking.transcript(request),
            valid_actions=", ".join(request.valid_actions),
        )

    # --------------------------------------------------------------------------------- index tokens

    def token(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates with logits from the probabilities of their numbers (Sec. 5, token-level logit).

        If there are more valid actions than wanted candidates, the model first proposes candidates in words.

        Raises:
            Failed: The call failed. The kind is `failures.LOGPROBS` if the model gives no log-probabilities.
        """
        actions = request.valid_actions
        before = Proposal(())
        most = self.settings.index_options
        if len(actions) > min(most, request.candidates):
            asked = dataclasses.replace(request, candidates=min(most, max(2, request.candidates)))
            before = self.verbalized(asked, rng)
            actions = tuple(c.action for c in before.candidates)
            if len(actions) < 2:
                return before
        reasons = {c.action: c.reason for c in before.candidates}
        order = [actions[i] for i in rng.permutation(len(actions))]
        z, logprobs, call = self._index_logits(request, order)
        drawn = _drawn(tuple(order), z, logprobs, request.candidates, rng, (*before.calls, call))
        candidates = tuple(dataclasses.replace(c, reason=reasons.get(c.action, "")) for c in drawn.candidates)
        return dataclasses.replace(before, candidates=candidates, calls=drawn.calls)

    def _index_logits(
        self, request: ActionRequest, order: Sequence[str]
    ) -> tuple[logits.Array, list[float], ModelCall]:
        numbered = "\n".join(f"{i}. {action}" for i, action in enumerate(order, 1))
        answer = self.client.ask(
            "actions",
            self._fitted("actions_index", request, valid_actions=numbered),
            temperature=0.0,
            max_tokens=1,
            logprobs=True,
            top_logprobs=TOP,
        )
        if answer.top is None:
            raise CallFailed(Failure(failures.LOGPROBS, f"{self.client.name} gives no log-probabilities"))
        found: list[float | None] = [None] * len(order)
        for token, logprob in answer.top:
            text = token.strip()
            if text.isascii() and text.isdigit() and 1 <= int(text) <= len(order):
                known = found[int(text) - 1]
                found[int(text) - 1] = logprob if known is None else float(np.logaddexp(known, logprob))
        if all(p is None for p in found):
            raise CallFailed(Failure(failures.CONTENT, f"{self.client.name} did not answer with a number"))
        self.client.keep(answer)
        floor = min(logprob for _, logprob in answer.top)
        z = logits.from_index_logprobs(found, floor, self.settings.temperature)
        return z, [floor if p is None else p for p in found], answer.call

    # ---------------------------------------------------------------------------------------- words

    def verbalized(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return options with confidences that the model writes as JSON. It is asked again if too few are usable.

        Raises:
            Failed: The call failed, or was refused.
        """
        count = min(request.candidates, len(request.valid_actions))
        order = [request.valid_actions[i] for i in rng.permutation(len(request.valid_actions))]
        form = self.asking.form.shown(count, self.settings.confidences)
        prompt = self._fitted(
            "actions", request, valid_actions=", ".join(order), count=str(count), format=form
        )
        answer = self._ask(prompt, order, count)
        read = self._read(answer, request)
        calls = [answer.call]
        if 2 * len(read.options) < count and not answer.lacking:
            allowed = self.asking.allowed(order)
            try:
                again = self._ask(_reproach(prompt, answer.text, read, allowed), order, count, fresh=True)
            except CallFailed:
                if not read.options:  # otherwise the first answer is better than none
                    raise
            else:
                calls.append(again.call)
                second = self._read(again, request)
                if len(second.options) >= len(read.options):
                    answer, read = again, second
        self.client.dropped(read.dropped)
        options = read.options[:count]
        settings = self.settings
        z = logits.from_confidences(
            [o.confidence for o in options], settings.transform, settings.unsaid_confidence
        )
        candidates = tuple(
            Candidate(o.action, float(v), confidence=o.confidence, reason=failures.redact(o.reason))
            for o, v in zip(options, z, strict=True)
        )
        return Proposal(
            candidates,
            tuple(calls),
            answer.lacking or _note(read, len(options), answer.finish),
            dropped=read.dropped,
            best=read.best,
            again=len(calls) - 1,
            missing=not candidates,
        )

    def _read(self, answer: TextAnswer, request: ActionRequest) -> parse.ProposedActions:
        """Return the options of an answer, and cache the answer if it has any."""
        read = parse.options(
            answer.text, request.valid_actions, self.asking.accepted, until=self.client.until
        )
        if read.options:
            self.client.keep(answer)
        return read

    def _ask(self, prompt: Prompt, valid: Sequence[str], count: int, *, fresh: bool = False) -> TextAnswer:
        settings = self.settings
        options: dict[str, Any] = {"temperature": settings.temperature, "max_tokens": settings.reply_tokens}
        options["response_format"] = {
            "type": "json_schema",
            "json_schema": {"name": "options", "schema": self.asking.form.schema(count, valid, settings)},
        }
        return self.client.ask("actions", prompt, fresh=fresh, **options)

    def _fitted(self, name: str, request: ActionRequest, *, valid_actions: str, **more: str) -> Prompt:
        return self.asking.prompts.fit(
            name,
            self.count,
            self.budget,
            self.asking.cuttable,
            summary=prompts.without_marks(request.summary),
            memory_text=request.memory_text,
            recent_history=prompts.without_marks(request.recent_history),
            valid_actions=prompts.without_marks(valid_actions),
            **self.asking.blanks(request),
            **more,
        )


def _drawn(
    actions: tuple[str, ...],
    z: logits.Array,
    logprobs: Sequence[float] | logits.Array,
    k: int,
    rng: np.random.Generator,
    calls: tuple[ModelCall, ...],
) -> Proposal:
    """Return a proposal with k distinct actions drawn from softmax(z), most probable first."""
    chosen = sorted(logits.gumbel_top_k(z, k, rng), key=lambda i: (-z[i], i))
    return Proposal(
        tuple(Candidate(actions[i], float(z[i]), logprob=float(logprobs[i])) for i in chosen), calls
    )


def _note(read: parse.ProposedActions, kept: int, finish: str) -> str:
    if not kept and finish == "length":
        return f"{UNUSABLE} (its answer was cut off)"
    if not read.readable:
        return f"{UNUSABLE} (its answer was no JSON)"
    if not kept:
        return f"{UNUSABLE} (none of its {read.dropped} was a valid action)" if read.dropped else UNUSABLE
    return f"dropped {read.dropped} options of the model that were no valid action" if read.dropped else ""


def _reproach(prompt: Prompt, text: str, read: parse.ProposedActions, allowed: str) -> Prompt:
    problem = (
        "some options are no valid action" if read.dropped
        else "it holds no options" if read.readable
        else "it is not valid JSON"
    )  # fmt: skip
    again = f"Your answer cannot be used: {problem}. Answer again, with the JSON object alone. {allowed}"
    return Prompt((*prompt.messages, ("assistant", text[:4000] or "(nothing)"), ("user", again)))

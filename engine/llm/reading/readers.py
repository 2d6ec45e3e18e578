"""Three ways to read a model's opinion about actions: from likelihoods, from index tokens, from its words.

Each takes a client and a request and returns candidates with logits (Sec. 5, implementation details).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from engine import logits
from engine.llm import prompts
from engine.llm.calls import failures
from engine.llm.calls.client import Answer, Client, Failed
from engine.llm.calls.failures import Failure
from engine.llm.prompts import Prompt
from engine.llm.reading import parse
from engine.records import ActionRequest, Candidate, ModelCall, Proposal
from engine.settings import Settings

INDICES = 9
"""Most options told apart by one index token: several tokenizers split longer numbers."""

TOP = 20
"""Alternatives asked for; the most that the OpenAI protocol gives."""

LENGTH_PENALTY = 0.75
"""Exponent a of log-likelihood / length^a: 0 is the sum, 1 the mean per token.

This and SOFTENING were chosen on 100 states of full games' solutions and the 24 states of `capability`:
the sum proposes nothing but short moves, the mean no moves at all; both are worse than guessing somewhere.
"""

SOFTENING = 1.9
"""How much flatter small models' likelihoods are made than the temperature says: they are overconfident."""

MOST_LISTED, LONGEST_LIST = 120, 3500
"""Actions, and characters of them all, up to which a schema lists them: servers limit both."""

REPLY_TOKENS = 4096
UNUSABLE = "the model gave no usable option"


@dataclass(frozen=True, slots=True)
class Reader:
    """What a reading needs.

    Attributes:
        budget: Tokens a prompt may have.
        count: Tokens of a prompt, as well as can be told.
        schema: Whether to ask for JSON of a schema.
        scored_after: Name of the prompt that `string` uses.
    """

    client: Client
    settings: Settings
    budget: int
    count: Any
    schema: bool = True
    scored_after: str = "actions_transcript"

    # ---------------------------------------------------------------------------------- likelihoods

    def string(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Draw candidates from the exact likelihoods of all valid actions.

        The prompt holds the state alone, or the state and the actions: a small model makes little of a
        history, and a state seen again costs nothing.
        """
        actions = request.valid_actions
        scores, call = self.client.score("actions", self.string_prompt(request), actions)
        # Between the sum, which favours short commands, and the mean, which favours long ones.
        values = np.asarray(scores.mean) * np.asarray(scores.lengths) ** (1 - LENGTH_PENALTY)
        z = logits.from_logprobs(values, SOFTENING * self.settings.temperature)
        return _drawn(actions, z, scores.mean, request.candidates, rng, (call,))

    def string_prompt(self, request: ActionRequest) -> Prompt:
        """Return the prompt that actions are scored after; what an agent adds to it is cut where there is no room."""
        name, present = self.scored_after, request.current_state
        if self.settings.domain == "web":
            from engine.llm import web

            name, present = "web_actions_transcript", web.transcript(request)
        blanks = {"current_state": present, "valid_actions": ", ".join(request.valid_actions)}
        if not request.memory_text:
            return prompts.render(name, memory_text="", **blanks)
        return prompts.fit(
            name, self.count, self.budget, ("memory_text",), memory_text=request.memory_text, **blanks
        )

    # --------------------------------------------------------------------------------- index tokens

    def token(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Let the model choose by number and read the numbers' probabilities (Sec. 5, token-level logit).

        Candidates are proposed in words first, unless as many are asked for as there are.

        Raises:
            Failed: The kind is `failures.LOGPROBS` where the model tells none.
        """
        actions = request.valid_actions
        before = Proposal(())
        if len(actions) > min(INDICES, request.candidates):
            asked = dataclasses.replace(request, candidates=min(INDICES, max(2, request.candidates)))
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
            raise Failed(Failure(failures.LOGPROBS, f"{self.client.name} gives no log-probabilities"))
        found: list[float | None] = [None] * len(order)
        for token, logprob in answer.top:
            text = token.strip()
            if text.isascii() and text.isdigit() and 1 <= int(text) <= len(order):
                known = found[int(text) - 1]
                found[int(text) - 1] = logprob if known is None else float(np.logaddexp(known, logprob))
        if all(p is None for p in found):
            raise Failed(Failure(failures.CONTENT, f"{self.client.name} did not answer with a number"))
        self.client.keep(answer)
        floor = min(logprob for _, logprob in answer.top)
        z = logits.from_index_logprobs(found, floor, self.settings.temperature)
        return z, [floor if p is None else p for p in found], answer.call

    # ---------------------------------------------------------------------------------------- words

    def verbalized(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Ask for options with confidences as JSON; ask once more if too few of them can be used.

        Raises:
            Failed: The call failed, or was refused.
        """
        count = min(request.candidates, len(request.valid_actions))
        order = [request.valid_actions[i] for i in rng.permutation(len(request.valid_actions))]
        form = _web_form(count) if self.settings.domain == "web" else _format(count)
        prompt = self._fitted(
            "actions", request, valid_actions=", ".join(order), count=str(count), format=form
        )
        answer = self._ask(prompt, order, count)
        read = self._read(answer, request)
        calls = [answer.call]
        if 2 * len(read.options) < count:
            allowed = f"Copy every option EXACTLY from this list: {', '.join(order)}"
            if self.settings.domain == "web":
                allowed = "Every option must be one of the available actions, on an element the page shows"
            try:
                again = self._ask(_reproach(prompt, answer.text, read, allowed), order, count, fresh=True)
            except Failed:
                if not read.options:  # else what came first is better than nothing
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
            _note(read, len(options), answer.finish),
            dropped=read.dropped,
            best=read.best,
            again=len(calls) - 1,
            missing=not candidates,
        )

    def _read(self, answer: Answer, request: ActionRequest) -> parse.Options:
        """Return the options of an answer; one that has any is kept, to be given again to the same question."""
        read = parse.options(answer.text, request.valid_actions, self._accept(), until=self.client.until)
        if read.options:
            self.client.keep(answer)
        return read

    def _ask(self, prompt: Prompt, valid: Sequence[str], count: int, *, fresh: bool = False) -> Answer:
        options: dict[str, Any] = {"temperature": self.settings.temperature, "max_tokens": REPLY_TOKENS}
        if self.schema:
            options["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "options", "schema": _schema(count, self.settings.domain, valid)},
            }
        answer = self.client.ask("actions", prompt, fresh=fresh, **options)
        if answer.refusal or answer.finish == "content_filter":
            raise Failed(Failure(failures.CONTENT, f"{self.client.name} refused to answer"))
        return answer

    def _accept(self) -> Callable[[str], str | None] | None:
        """Return what may be proposed beside the valid actions: on the web, whatever can be read as an action."""
        if self.settings.domain != "web":
            return None
        from engine.llm import web

        return web.as_action

    def _fitted(self, name: str, request: ActionRequest, **blanks: str) -> Prompt:
        cuttable: tuple[str, ...] = ("memory_text", "recent_history", "summary")
        present = request.current_state
        if self.settings.domain == "web":
            from engine.llm import web

            blanks = web.unmarked_blanks(blanks) | web.blanks(request)
            name, present = f"web_{name}", web.without_goal(present)
        else:
            cuttable, present = (*cuttable, "current_state"), prompts.unmarked(present)
        return prompts.fit(
            name,
            self.count,
            self.budget,
            cuttable,
            summary=prompts.unmarked(request.summary),
            memory_text=prompts.unmarked(request.memory_text),
            recent_history=prompts.unmarked(request.recent_history),
            current_state=present,
            **blanks,
        )


def _drawn(
    actions: tuple[str, ...],
    z: logits.Array,
    logprobs: Sequence[float],
    k: int,
    rng: np.random.Generator,
    calls: tuple[ModelCall, ...],
) -> Proposal:
    """Return k distinct actions drawn from softmax(z), the likeliest first."""
    chosen = sorted(logits.gumbel_top_k(z, k, rng), key=lambda i: (-z[i], i))
    return Proposal(
        tuple(Candidate(actions[i], float(z[i]), logprob=float(logprobs[i])) for i in chosen), calls
    )


def _note(read: parse.Options, kept: int, finish: str) -> str:
    if not kept and finish == "length":
        return f"{UNUSABLE} (its answer was cut off)"
    if not read.readable:
        return f"{UNUSABLE} (its answer was no JSON)"
    if not kept:
        return f"{UNUSABLE} (none of its {read.dropped} was a valid action)" if read.dropped else UNUSABLE
    return f"dropped {read.dropped} options of the model that were no valid action" if read.dropped else ""


def _reproach(prompt: Prompt, text: str, read: parse.Options, allowed: str) -> Prompt:
    problem = (
        "some options are no valid action" if read.dropped
        else "it holds no options" if read.readable
        else "it is not valid JSON"
    )  # fmt: skip
    again = f"Your answer cannot be used: {problem}. Answer again, with the JSON object alone. {allowed}"
    return Prompt((*prompt.messages, ("assistant", text[:4000] or "(nothing)"), ("user", again)))


def _format(count: int) -> str:
    """Return the answer's form as the prompt shows it, for `count` options."""
    form: dict[str, Any] = {
        "progress_analysis": "What you've achieved and current challenges",
        "next_objective": "Your next goal",
    }
    for i in range(1, count + 1):
        form |= {f"reasoning{i}": "Why this action makes sense", f"option{i}": "action command",
                 f"confidence{i}": 100 // count}  # fmt: skip
    return json.dumps(form | {"best_action": 1}, indent=2)


def _web_form(count: int) -> str:
    form: dict[str, Any] = {"reasoning": "Your overall reasoning about the current state"}
    for i in range(1, count + 1):
        form |= {f"option{i}_reasoning": "Why this action", f"option{i}": "click(<link[Name]>)",
                 f"confidence{i}": 100 // count}  # fmt: skip
    return json.dumps(form | {"best_action": 1}, indent=2)


def _schema(count: int, domain: str, valid: Sequence[str]) -> dict[str, Any]:
    """Return the schema of an answer. In games it holds options to the valid actions, as the paper does (App. E)."""
    web = domain == "web"
    listed = not web and len(valid) <= MOST_LISTED and sum(map(len, valid)) <= LONGEST_LIST
    option: dict[str, Any] = {"type": "string", "enum": sorted(valid)} if listed else {"type": "string"}
    first = ("reasoning",) if web else ("progress_analysis", "next_objective")
    properties: dict[str, Any] = {name: {"type": "string"} for name in first}
    for i in range(1, count + 1):
        reason = f"option{i}_reasoning" if web else f"reasoning{i}"
        properties |= {reason: {"type": "string"}, f"option{i}": option,
                       f"confidence{i}": {"type": "integer"}}  # fmt: skip
    properties["best_action"] = {"type": "integer"}
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }

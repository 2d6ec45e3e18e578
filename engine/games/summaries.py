"""The episode's history as the language model tells it (paper, App. F), on top of what rules make of it.

Every so many steps the model is shown the steps so far and writes `[SUMMARY] [PROGRESS] [LOCATION]`. Its text goes
into prompts and into memory. Tokens, by which states are compared, stay those of the rules: what is retrieved must
not depend on how a model happened to put it. Where the model fails, the rules' text stands in and a notice says so.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from engine.environment import Abstractor
from engine.errors import JitrlError, ModelError
from engine.llm import prompts
from engine.llm.model import Model
from engine.records import ModelCall, Observation, State

CONTEXT_STEPS = 60
"""Steps the model is shown; what came before them it knows from its own last summary."""

_HEADS = ("SUMMARY", "PROGRESS", "LOCATION")
_SECTION = re.compile(r"\**\[(SUMMARY|PROGRESS|LOCATION)\]\**:?", re.I)
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
_LONGEST = 1500


class SummarisingAbstractor:
    """Lets a model write the history of another abstractor's states. Implements `engine.environment.Abstractor`.

    Args:
        rules: Makes states, tokens and the text that stands in where the model fails.
        every: Steps between two summaries, at least 1.
        notice: Told in one sentence when the model failed; the same sentence once an episode.
        spent: Told of every call.
    """

    def __init__(
        self,
        rules: Abstractor,
        model: Model,
        *,
        every: int,
        notice: Callable[[str], None],
        spent: Callable[[ModelCall], None],
    ) -> None:
        self._rules = rules
        self._model = model
        self._every = every
        self._notice = notice
        self._spent = spent
        self._steps = 0
        self._written = ""
        self._told: set[str] = set()

    def begin(self, observation: Observation) -> State:
        """Forget the last episode and return the state of the first observation."""
        self._steps, self._written = 0, ""
        self._told.clear()
        return self._rules.begin(observation)

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`; may call the model."""
        state = self._rules.advance(action, observation)
        self._steps += 1
        if self._steps % self._every == 0:
            self._written = self._write(state)
        return dataclasses.replace(state, history=self._written or state.history)

    def recent(self, steps: int) -> str:
        """Return the last `steps` steps as text for a prompt, oldest first."""
        return self._rules.recent(steps)

    def _write(self, state: State) -> str:
        """Return the model's history, "" if there is none to be had."""
        lines = [self._rules.recent(CONTEXT_STEPS), f"Step {self._steps}: {state.text}"]
        if self._steps > CONTEXT_STEPS and self._written:
            lines.insert(0, f"(Summary of the steps before: {self._written})")
        try:
            reply = self._model.complete(
                "history", prompts.render("history", trajectory="\n".join(lines)).chat()
            )
            self._spent(reply.call)
            return read_history(reply.text, state.history)
        except JitrlError as error:
            sentence = f"the history of this episode is written by rules for now: {error}"
            if sentence not in self._told:
                self._told.add(sentence)
                self._notice(sentence)
            return ""


def read_history(text: str, instead: str) -> str:
    """Return a model's history in the form that prompts have it, one section a paragraph.

    Args:
        instead: A history in that form; sections that the model left out are taken from it.

    Raises:
        ModelError: There is no summary in `text`.
    """
    said, known = _sections(text), _sections(instead)
    if not said.get("SUMMARY"):
        raise ModelError("the model's answer has no [SUMMARY]")
    return "\n".join(f"[{head}] {said.get(head) or known.get(head, '')}" for head in _HEADS)


def _sections(text: str) -> dict[str, str]:
    parts = _SECTION.split(_CONTROL.sub("", text))
    found: dict[str, str] = {}
    for head, body in zip(parts[1::2], parts[2::2], strict=True):
        found.setdefault(head.upper(), body.strip()[:_LONGEST])
    return found

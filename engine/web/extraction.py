"""The effective local history as a language model extracts it (App. F), instead of by rules.

The model is shown the actions taken on this page and the page as text, and names those that make the page what it is.
Only actions that were taken count; where it names none that can be read, the rules' history stands in.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from engine.errors import JitrlError, ModelError
from engine.llm import prompts
from engine.llm.model import Model
from engine.records import ModelCall, Observation
from engine.web.history import Taken, visit_of
from engine.web.text import fenced

_ANSWER = re.compile(r"(?:final answer|output)\**\s*(?::|--?)\**\s*(.*)", re.IGNORECASE | re.DOTALL)
_ARROW = re.compile(r"\s*(?:->|→|\n)\s*")
NOTHING = "no action"
PAGE = 6000


class Extraction:
    """Says which of the actions of a page visit define the page, by asking a model.

    Args:
        notice: Told in one sentence when the model failed; the same sentence once.
        spent: Told of every call.
    """

    def __init__(
        self, model: Model, notice: Callable[[str], None], spent: Callable[[ModelCall], None]
    ) -> None:
        self._model = model
        self._notice = notice
        self._spent = spent
        self._told: set[str] = set()

    def effective(
        self, taken: tuple[Taken, ...], observation: Observation, by_rule: tuple[str, ...]
    ) -> tuple[str, ...]:
        """Return the actions that define the page, oldest first; those of the rules where the model fails."""
        visit = [step.action for step in visit_of(taken, observation.place)]
        if not visit:
            return ()
        # The task stands in the first line: which page this is does not hang on it.
        page = observation.description.partition("\n")[2][:PAGE]
        prompt = prompts.render("web_history", actions=fenced(" -> ".join(visit)), page=fenced(page))
        try:
            reply = self._model.complete("history", prompt.chat())
            self._spent(reply.call)
            return read(reply.text, visit)
        except JitrlError as error:
            sentence = f"the history on this page is written by rules for now: {error}"
            if sentence not in self._told:
                self._told.add(sentence)
                self._notice(sentence)
            return by_rule


def read(text: str, visit: list[str]) -> tuple[str, ...]:
    """Return the actions a model named, each of which was taken, once and in the order it was taken last.

    Raises:
        ModelError: It named none, and did not say that there is none.
    """
    found = _ANSWER.findall(text)
    answer = found[-1] if found else text.strip().splitlines()[-1] if text.strip() else ""
    named = {part.strip(" `*[].\"'") for part in _ARROW.split(answer)}
    named |= {part.strip(" `*") for part in _ARROW.split(answer)}
    kept = dict.fromkeys(action for action in reversed(visit) if action in named)
    if not kept and NOTHING not in answer.casefold():
        raise ModelError("the model named no action that was taken on the page")
    return tuple(reversed(kept))

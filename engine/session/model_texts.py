"""Calls to the model in words within a session."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import ModelError
from engine.llm.model import Question, Reply, Unusable
from engine.records import ModelCall

if TYPE_CHECKING:
    from engine.llm.model import Model


class Writer:
    """Asks the model in words, and charges the running episode.

    Args:
        charge: Called with each answered call, whether or not its answer was usable.
        check: Raises if the person stopped the session, so that a cancelled call does not count as a failure.
        begins: Called with a short phrase before each call.
    """

    def __init__(
        self,
        model: Model,
        charge: Callable[[ModelCall], None],
        check: Callable[[], None],
        begins: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._model = model
        self._charge = charge
        self._check = check
        self._begins = begins

    def __call__(self, question: Question) -> Reply:
        """Return the model's answer; see `engine.llm.model.Write`."""
        self._begins(f"writing: {question.purpose}")
        try:
            reply = self._model.complete(question)
        except ModelError as error:
            if isinstance(error, Unusable):
                self._charge(error.call)
            self._check()
            raise
        self._charge(reply.call)
        return reply

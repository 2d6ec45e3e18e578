"""Asking the model in words within a session: for states, for histories, and for what an agent lets it write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engine.errors import ModelError
from engine.llm.model import Messages, Reply, Unusable
from engine.records import ModelCall

if TYPE_CHECKING:
    from engine.llm.model import Model


class Writer:
    """Asks the model in words, and charges the running episode for it.

    Args:
        charge: Takes every call that was answered, whether its answer could be used or not.
        check: Raises when the person has asked to stop; a call that was cancelled is no failure of the model.
        begins: Takes a short phrase before each call.
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

    def __call__(
        self,
        purpose: str,
        messages: Messages,
        schema: Mapping[str, Any] | None = None,
        pictures: Sequence[bytes] = (),
        *,
        usable: Callable[[str], bool] | None = None,
        fresh: bool = False,
        temperature: float = 0.0,
    ) -> Reply:
        """Return what the model writes; see `engine.llm.model.Write`."""
        self._begins(f"writing: {purpose}")
        try:
            reply = self._model.complete(
                purpose, messages, schema, pictures, usable=usable, fresh=fresh, temperature=temperature
            )
        except ModelError as error:
            if isinstance(error, Unusable):
                self._charge(error.call)
            self._check()
            raise
        self._charge(reply.call)
        return reply

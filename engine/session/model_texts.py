"""Texts within a session: calls to the model in words, and the records that an agent keeps."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.errors import JitrlError, ModelError, StorageError
from engine.llm.model import Question, Reply, Unusable
from engine.records import Kept, ModelCall

if TYPE_CHECKING:
    from engine.llm.model import Model
    from engine.memory.kept import KeptRecords


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


class SessionNotebook:
    """Records of one method in one scope; see `engine.agents.base.Notebook`.

    Args:
        agent: The method's name.
        origin: Returns an empty record with scope, session, episode and time.
        failed: Called with the error if a record could not be written. Returns to try again, or raises.
    """

    def __init__(
        self,
        records: KeptRecords,
        agent: str,
        origin: Callable[[], Kept],
        failed: Callable[[JitrlError], None],
    ) -> None:
        self._records = records
        self._agent = agent
        self._origin = origin
        self._failed = failed

    def add(self, kind: str, text: str, data: Mapping[str, Any] | None = None) -> Kept:
        """Store a record on disk."""
        record = dataclasses.replace(
            self._origin(), kind=kind, text=text, data=data or {}, agent=self._agent
        )
        while True:
            try:
                return self._records.add(record)
            except StorageError as error:
                self._failed(error)

    def records(self, kind: str = "") -> tuple[Kept, ...]:
        """Return the records of one kind, or of all kinds for "", oldest first."""
        return tuple(
            one for one in self._records.all() if one.agent == self._agent and kind in ("", one.kind)
        )

"""A method's own records, as its agent reads and stores them within a session."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from engine.errors import JitrlError, StorageError
from engine.records import Kept

if TYPE_CHECKING:
    from engine.memory.kept import KeptRecords


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

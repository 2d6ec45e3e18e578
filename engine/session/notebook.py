"""A method's own records, as its agent sees them and adds to them within a session."""

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
        origin: Returns a record with everything filled in that says where and when.
        failed: Takes what could not be written; returns when it is to be tried again, or raises.
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
        """Keep a record; on return it is on the disk."""
        record = dataclasses.replace(
            self._origin(), kind=kind, text=text, data=data or {}, agent=self._agent
        )
        while True:
            try:
                return self._records.add(record)
            except StorageError as error:
                self._failed(error)

    def records(self, kind: str = "") -> tuple[Kept, ...]:
        """Return what is kept, oldest first; of one kind, or of all for ""."""
        return tuple(
            one for one in self._records.all() if one.agent == self._agent and kind in ("", one.kind)
        )

"""Memory as a TinyDB database, with tables that know that their storage is a journal.

    db = JournalDB(path)
    db.insert({...}); db.search(where("agent") == "jitrl"); db.remove(doc_ids=[3])

An insert appends, so its cost depends on the new documents only. A search reads the documents one at a time and
caches nothing. Updates and removals replace the file atomically and copy unchanged lines as they are. Several
processes may share one journal: each call first reads what other processes wrote. What is not here is TinyDB's own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.table import Table

from engine.memory.disk.journal import Changes, Journal


class JournalTable(Table):
    """A table that appends new documents, and holds the lock between processes while it changes others."""

    _storage: Journal

    def __init__(
        self, storage: Journal, name: str, cache_size: int = 0, persist_empty: bool = False
    ) -> None:
        # TinyDB would cache the results of the last ten queries; each result may be a whole memory.
        super().__init__(storage, name, cache_size, persist_empty)

    def insert(self, document: Mapping[str, Any]) -> int:
        """Insert one document and return its id. It is on disk when this returns."""
        return self.insert_multiple([document])[0]

    def insert_multiple(self, documents: Iterable[Mapping[str, Any]]) -> list[int]:
        """Insert documents with one write and return their ids. They are on disk when this returns.

        If the process is killed meanwhile, the first of them may be stored. Each is stored completely or not at all.

        Raises:
            ValueError: A document is not a mapping, or its id is already used. Nothing is stored.
        """
        journal = self._storage
        with journal.writing():
            put: dict[int, dict[str, Any]] = {}
            known = journal.position.places.get(self.name, {})
            following = journal.next_id(self.name)
            for document in documents:
                if not isinstance(document, Mapping):
                    raise ValueError("Document is not a Mapping")
                doc_id = document.doc_id if isinstance(document, self.document_class) else following
                if doc_id in known or doc_id in put:
                    raise ValueError(f"Document with ID {doc_id} already exists")
                put[doc_id] = document if isinstance(document, dict) else dict(document)
                following = max(following, doc_id + 1)
            if put:
                journal.append(self.name, put)
            return list(put)

    def _update_table(self, updater: Callable[[Any], None]) -> None:
        with self._storage.writing():
            super()._update_table(updater)


class JournalDB(TinyDB):
    """TinyDB with journal storage and tables."""

    table_class = JournalTable  # type: ignore[assignment]

    def __init__(self, journal: str | Path | Journal, default_table: str = "_default") -> None:
        self.default_table_name = default_table
        self.journal = journal if isinstance(journal, Journal) else Journal(journal)
        self.journal.open()
        super().__init__(storage=lambda: self.journal)

    def writing(self) -> AbstractContextManager[None]:
        """Hold the lock between processes, after reading all that others wrote. Several changes are then one step."""
        return self.journal.writing()

    def change(self, changes: Changes) -> None:
        """Change documents of several tables with one write: all of them, or none if it fails.

        Args:
            changes: By table and id: the new document, or None to remove it.
        """
        self.journal.rewrite(changes)

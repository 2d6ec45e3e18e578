"""Memory as a TinyDB database, with tables that know that their storage is a journal.

    db = JournalDB(path)
    db.insert({...}); db.search(where("agent") == "jitrl"); db.remove(doc_ids=[3])

An insert appends, so its cost depends on the new documents only. A search reads the documents one at a time and
caches nothing. Updates and removals replace the file atomically and copy unchanged lines as they are. Several
processes may share one journal: each call first reads what other processes wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.table import Table

from engine.errors import BadFile
from engine.memory.disk.journal import Changes, Journal


def open_to_read(path: Path, notice: Callable[[str], None]) -> JournalDB:
    """Return a database as it is now, to read only: the file is not changed, even where a crash left half a line.

    Args:
        notice: Called with a sentence for what was left out.

    Raises:
        BadFile: The file is no journal, or one of a newer version.
    """
    return JournalDB(Journal(path, notice=notice, read_only=True))


class JournalTable(Table):
    """A table that appends new documents, and reads a document only when it is accessed."""

    _storage: Journal

    def __init__(
        self, storage: Journal, name: str, cache_size: int = 0, persist_empty: bool = False
    ) -> None:
        # TinyDB would cache the results of the last ten queries; each result may be a whole memory.
        super().__init__(storage, name, cache_size, persist_empty)

    def ids(self) -> list[int]:
        """Return the ids of the documents, oldest first."""
        self._storage.look()
        return self._storage.ids(self.name)

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

    def upsert(self, document: Mapping[str, Any], cond: Any = None) -> list[int]:
        """Update the matching documents, or insert this one; no other process can write in between."""
        with self._storage.writing():
            return super().upsert(document, cond)

    def __len__(self) -> int:
        self._storage.look()
        return len(self._storage.position.places.get(self.name, ()))

    def _read_table(self) -> Mapping[str, Mapping[str, Any]]:  # type: ignore[override]
        self._storage.look()
        return _Lazy(self._storage, self.name)

    def _update_table(self, updater: Callable[[Any], None]) -> None:
        journal = self._storage
        with journal.writing():
            documents = {doc_id: journal.document(self.name, doc_id) for doc_id in journal.ids(self.name)}
            before = {doc_id: repr(document) for doc_id, document in documents.items()}  # they are changed in place
            updater(documents)
            changes = {
                doc_id: documents.get(doc_id)
                for doc_id in before.keys() | documents.keys()
                if repr(documents.get(doc_id)) != before.get(doc_id)
            }
            if changes:
                journal.rewrite({self.name: changes})


class JournalDB(TinyDB):
    """TinyDB with journal storage and tables."""

    table_class = JournalTable  # type: ignore[assignment]

    def __init__(self, journal: str | Path | Journal, default_table: str = "_default") -> None:
        self.default_table_name = default_table
        self.journal = journal if isinstance(journal, Journal) else Journal(journal)
        self.journal.open()
        super().__init__(storage=lambda: self.journal)

    def table(self, name: str, **options: Any) -> JournalTable:
        """Return a table."""
        found = super().table(name, **options)
        assert isinstance(found, JournalTable)
        return found

    def writing(self) -> AbstractContextManager[None]:
        """Hold the lock between processes, after reading all that others wrote. Several changes are then one step."""
        return self.journal.writing()

    def change(self, changes: Changes) -> None:
        """Change documents of several tables with one write: all of them, or none if it fails.

        Args:
            changes: By table and id: the new document, or None to remove it.
        """
        self.journal.rewrite(changes)

    def tables(self) -> set[str]:
        """Return the names of the tables that hold at least one document."""
        self.journal.look()
        return {name for name, places in self.journal.position.places.items() if places}

    def drop_table(self, name: str) -> None:
        """Remove a table with all its documents."""
        self.table(name).truncate()
        self._tables.pop(name, None)


class _Lazy(Mapping[str, Mapping[str, Any]]):
    """Maps the ids of a table to its documents; each document is read from the file on access.

    A document that was damaged on the disk is refused when it is asked for, and told and left out of `items`.
    """

    def __init__(self, journal: Journal, table: str) -> None:
        self._journal = journal
        self._table = table

    def __getitem__(self, key: str) -> Mapping[str, Any]:
        document = self._journal.document(self._table, int(key))
        if document is None:
            raise KeyError(key)
        return document

    def __iter__(self) -> Iterator[str]:
        return (str(doc_id) for doc_id in self._journal.ids(self._table))

    def __len__(self) -> int:
        return len(self._journal.ids(self._table))

    def items(self) -> Iterator[tuple[str, Mapping[str, Any]]]:  # type: ignore[override]
        for key in self:
            try:
                document = self._journal.document(self._table, int(key))
            except BadFile as error:
                self._journal.tell(str(error))
                continue
            if document is not None:
                yield key, document

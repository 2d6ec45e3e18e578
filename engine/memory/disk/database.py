"""TinyDB on top of a journal file, built with TinyDB's storage class and table class.

    db = JournalDB(path)
    db.insert({...}); db.search(where("agent") == "jitrl"); db.remove(doc_ids=[3])

An insert appends, so its cost depends on the new documents only. A search reads the documents one at a time and
caches nothing. Updates and removals replace the file atomically and copy unchanged lines as they are. Several
processes may share one journal: each call first reads what other processes wrote.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from pathlib import Path
from typing import Any

from tinydb import TinyDB
from tinydb.storages import Storage
from tinydb.table import Document, Table

from engine.memory.disk.journal import Journal


class JournalStorage(Storage):
    """Stores TinyDB's tables in a journal.

    Args:
        journal: The path of a journal, or a `Journal` that is already open.
    """

    def __init__(self, journal: str | Path | Journal) -> None:
        super().__init__()
        if isinstance(journal, Journal):
            self.journal = journal
        else:
            self.journal = Journal(Path(journal))
            self.journal.open()

    def read(self) -> dict[str, dict[str, Any]] | None:
        """Return all tables in memory, or None if there is no file. `JournalTable` does not use this."""
        journal = self.journal
        with journal.lock:
            journal.refresh()
            if not journal.reader.exists:
                return None
            return {
                table: {str(doc_id): journal.document(table, doc_id) for doc_id in journal.ids(table)}
                for table in journal.reader.position.places
                if journal.ids(table)
            }

    def write(self, data: dict[str, dict[str, Any]]) -> None:
        """Make the journal hold exactly the tables and documents of `data`."""
        with self.journal.writing():
            changes: dict[str, dict[int, dict[str, Any] | None]] = {
                table: dict.fromkeys(self.journal.ids(table)) for table in self.journal.reader.position.places
            }
            for table, documents in data.items():
                put = {int(doc_id): dict(document) for doc_id, document in documents.items()}
                changes.setdefault(table, {}).update(put)
            self.journal.rewrite(changes)

    def close(self) -> None:
        """Close the journal."""
        self.journal.close()


class JournalTable(Table):
    """A table that appends new documents, and reads a document only when it is accessed."""

    _storage: JournalStorage

    def __init__(
        self, storage: JournalStorage, name: str, cache_size: int = 0, persist_empty: bool = False
    ) -> None:
        # TinyDB would cache the results of the last ten queries; each result may be a whole memory.
        super().__init__(storage, name, cache_size, persist_empty)

    def insert(self, document: Mapping[str, Any]) -> int:
        """Insert one document and return its id. It is on disk when this returns."""
        return self.insert_multiple([document])[0]

    def insert_multiple(self, documents: Iterable[Mapping[str, Any]]) -> list[int]:
        """Insert all of the documents or none, and return their ids. They are on disk when this returns.

        Raises:
            ValueError: A document is not a mapping, or its id is already used.
        """
        journal = self._storage.journal
        with journal.writing():
            put: dict[int, dict[str, Any]] = {}
            known = journal.reader.position.places.get(self.name, {})
            following = journal.next_id(self.name)
            for document in documents:
                if not isinstance(document, Mapping):
                    raise ValueError("Document is not a Mapping")
                doc_id = document.doc_id if isinstance(document, self.document_class) else following
                if doc_id in known or doc_id in put:
                    raise ValueError(f"Document with ID {doc_id} already exists")
                put[doc_id] = dict(document)
                following = max(following, doc_id + 1)
            if put:
                journal.append(self.name, put)
                self.clear_cache()
            return list(put)

    def upsert(self, document: Mapping[str, Any], cond: Any = None) -> list[int]:
        """Update the matching documents, or insert this one; no other process can write in between."""
        with self._storage.journal.writing():
            return super().upsert(document, cond)

    def truncate(self) -> None:
        """Remove all documents."""
        journal = self._storage.journal
        with journal.writing():
            journal.rewrite({self.name: dict.fromkeys(journal.ids(self.name))})
            self.clear_cache()

    def search(self, cond: Any) -> list[Document]:
        """Return the documents that match the query `cond`."""
        if self._storage.journal.refresh():
            self.clear_cache()
        return super().search(cond)

    def __len__(self) -> int:
        self._storage.journal.refresh()
        return len(self._storage.journal.reader.position.places.get(self.name, ()))

    def _read_table(self) -> Mapping[str, Mapping[str, Any]]:  # type: ignore[override]
        if self._storage.journal.refresh():
            self.clear_cache()
        return _Lazy(self._storage.journal, self.name)

    def _update_table(self, updater: Callable[[Any], None]) -> None:
        journal = self._storage.journal
        with journal.writing():
            view = _Editable(journal, self.name)
            updater(view)
            changes = view.changes()
            if changes:
                journal.rewrite({self.name: changes})
            self.clear_cache()


class JournalDB(TinyDB):
    """TinyDB with journal storage and tables."""

    table_class = JournalTable  # type: ignore[assignment]
    default_storage_class = JournalStorage  # type: ignore[assignment]

    def tables(self) -> set[str]:
        """Return the names of the tables that hold at least one document."""
        journal = self._journal
        journal.refresh()
        return {name for name, places in journal.reader.position.places.items() if places}

    def drop_table(self, name: str) -> None:
        """Remove a table with all its documents."""
        self._tables.pop(name, None)
        journal = self._journal
        with journal.writing():
            if journal.ids(name):
                journal.rewrite({name: dict.fromkeys(journal.ids(name))})

    @property
    def _journal(self) -> Journal:
        storage = self.storage
        assert isinstance(storage, JournalStorage)
        return storage.journal


class _Lazy(Mapping[str, Mapping[str, Any]]):
    """Maps the ids of a table to its documents; each document is read from the file on access."""

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


class _Editable(MutableMapping[int, dict[str, Any]]):
    """The mapping that TinyDB's update functions edit.

    It holds the document that was read last and those that were changed, instead of the whole table.
    """

    def __init__(self, journal: Journal, table: str) -> None:
        self._journal = journal
        self._table = table
        self._live = dict.fromkeys(journal.ids(table))
        self._changed: dict[int, dict[str, Any] | None] = {}
        self._current: tuple[int, dict[str, Any], str] | None = None

    def __getitem__(self, key: int) -> dict[str, Any]:
        if key not in self._live:
            raise KeyError(key)
        changed = self._changed.get(key)
        if changed is not None:
            return changed
        if self._current is None or self._current[0] != key:
            self._settle()
            document = self._journal.document(self._table, key)
            if document is None:
                raise KeyError(key)
            self._current = (key, document, _canonical(document))
        return self._current[1]

    def __setitem__(self, key: int, value: Mapping[str, Any]) -> None:
        self._drop_current(key)
        self._live[key] = None
        self._changed[key] = copy.deepcopy(dict(value))

    def __delitem__(self, key: int) -> None:
        self._drop_current(key)
        del self._live[key]
        self._changed[key] = None

    def __iter__(self) -> Iterator[int]:
        return iter(self._live)

    def __len__(self) -> int:
        return len(self._live)

    def changes(self) -> dict[int, dict[str, Any] | None]:
        """Return the changed documents by id, None for each that was removed."""
        self._settle()
        return self._changed

    def _settle(self) -> None:
        """Record the document that was read last as changed if it was edited in place."""
        if self._current is not None and _canonical(self._current[1]) != self._current[2]:
            self._changed[self._current[0]] = self._current[1]
        self._current = None

    def _drop_current(self, key: int) -> None:
        if self._current is not None and self._current[0] == key:
            self._current = None
        else:
            self._settle()


def _canonical(document: Mapping[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, allow_nan=True, default=repr)

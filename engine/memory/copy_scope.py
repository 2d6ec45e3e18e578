"""Copies the beginning of a scope: what it held before a certain entry was stored."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine.memory.disk.database import JournalDB
from engine.memory.disk.files import JOURNAL
from engine.memory.disk.journal import Journal
from engine.memory.kept import TABLE as KEPT
from engine.memory.scope import TABLE, Scope
from engine.paths import ensure_folder, slug
from engine.records import Kept


def copy_until(scope: Scope, memory: Path, entry: int, keeps: Callable[[Kept], bool]) -> None:
    """Write the episodes of a scope that were stored before an entry into another, new memory.

    Episodes and records have the same numbers and ids there. So do those that are stored next.

    Args:
        scope: The scope. It is only read.
        memory: Folder of the new memory, which must have no such scope.
        entry: Entry number of the first step that is not copied.
        keeps: Takes a kept record of the scope and returns whether it is copied.

    Raises:
        StorageError: It cannot be written.
    """
    episodes, number = [], 1
    for document in scope.documents():
        if document is not None and document["first"] < entry:
            episodes.append(document)
            number = max(number, document["number"] + 1)
    copied = {doc_id for doc_id, record in scope.records.entered() if keeps(record)}
    records = [document for document in scope.db.table(KEPT) if document.doc_id in copied]
    folder = ensure_folder(ensure_folder(memory) / slug(scope.name))
    about = {"scope": scope.name, "next_entry": entry, "next_number": number}
    with JournalDB(Journal(folder / JOURNAL, about=about), default_table=TABLE) as db:
        db.insert_multiple(episodes)
        db.table(KEPT).insert_multiple(records)

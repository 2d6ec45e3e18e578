"""Carries whole scopes from a memory on disk to a shared one, and back, with all their numbers."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from engine.disk import printable
from engine.errors import BadFile, StorageError, UsageError
from engine.memory.disk import files
from engine.memory.disk.files import JOURNAL
from engine.memory.disk.frame import Document
from engine.memory.scope import Scope
from engine.memory.shared.replica import write_journal
from engine.memory.shared.rows import Counters, Logged
from engine.paths import ensure_folder, slug

if TYPE_CHECKING:
    from engine.memory.shared.memory import SharedMemory
    from engine.memory.store import Memory


def push(scope: Scope, shared: SharedMemory) -> int:
    """Store a scope of a memory on disk in a shared memory that has no such scope; return how many documents it has.

    Raises:
        UsageError: The shared memory has such a scope already.
        BadFile: The journal has damaged parts.
        Away, StorageError: The server does not take it; nothing is stored there.
    """
    journal = scope.journal
    with journal.writing():
        if journal.damaged:
            raise BadFile(f"{scope.path} has damaged parts; `jitrl memory compact` writes what is left anew")
        places, next_ids = journal.position.places, journal.position.next_ids
        about = {**journal.header.get("about", {})}
        numbers = scope.about()
        for name in ("scope", *numbers):
            about.pop(name, None)
        counters = Counters(
            next_entry=numbers["next_entry"],
            next_number=numbers["next_number"],
            next_ids={table: next_ids[table] for table in dict.fromkeys([*places, *next_ids])},
            header={"created": journal.header.get("created"), "about": about},
        )

        def rows() -> Iterator[tuple[str, int, Document]]:
            for table in places:
                for doc_id in sorted(places[table]):
                    document = journal.document(table, doc_id)
                    if document is not None:
                        yield table, doc_id, document

        shared.log.fill(scope.name, counters, rows())
        return sum(map(len, places.values()))


def pull(shared: SharedMemory, name: str, memory: Memory, tell: Callable[[str], None]) -> int:
    """Store a scope of a shared memory in one on disk that has no such scope; return how many documents it has.

    Args:
        tell: Called with a sentence for each row that is damaged on the server; it is left out.

    Raises:
        UsageError: There is such a scope on the disk already, or none on the server.
        Away: The server is away; nothing is stored.
        StorageError: It cannot be written.
    """
    folder = memory.folder / slug(name)
    path = folder / JOURNAL
    there = UsageError(f"{name} is in {printable(memory.folder)} already; `jitrl memory merge` adds to it")
    if path.exists():
        raise there
    with shared.log.all_of(name) as (counters, rows):
        if not counters.id:
            raise UsageError(f"there is no scope {name!r} in {shared.place}")
        ensure_folder(memory.folder)
        ensure_folder(folder)
        partial = folder / f"{JOURNAL}.{os.getpid()}.pulled.part"
        number = 0

        def counted() -> Iterator[Logged]:
            nonlocal number
            for row in rows:
                number += 1
                yield row

        try:
            with files.new_file(partial, replace=True) as fd:
                write_journal(fd, name, counters, counted(), tell)
                os.fsync(fd)
            os.link(partial, path)
            files.sync_folder(folder)
        except FileExistsError:
            raise there from None
        except OSError as error:
            raise StorageError(f"cannot write to {folder}: {error.strerror or error}") from None
        finally:
            partial.unlink(missing_ok=True)
    return number

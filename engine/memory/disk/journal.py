"""TinyDB's storage of memory: an append-only file that several processes share.

The first line is a header. Each further line holds documents of one table and is read completely or not at all. A
writer takes an exclusive lock (the file `lock` in the same folder; local disks only) and reads what others have
written. Then it appends with one write and fsync, or replaces the file. Readers need no lock.

`engine.memory.disk.database` has the tables, which append a new document in place of writing all of them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tinydb.storages import Storage

from engine import limits
from engine.errors import BadFile, StorageError
from engine.limits import LINE
from engine.memory.disk import files, frame
from engine.memory.disk.reader import Document, JournalReader, LineSpan, Listener, Resume

Changes = Mapping[str, Mapping[int, Document | None]]
"""By table and document id: the new document, or None to remove it."""


class Journal(Storage):
    """One journal file. Every method may be called from any thread.

    Args:
        path: The file, in an existing folder. The first append creates it.
        listener: Receives every document. With one, what others wrote is read by `refresh` only, so that an index stays
            as it is until its owner asks.
        resume: Called with the header. Returns the position up to which the listener has the contents, or None.
        about: Stored in the header of a new file.
        notice: Called with a sentence when something was recovered.
        clock: Returns the time in seconds since the epoch.
        read_only: It is read once, by `open`, and nothing is written.
        durable: Whether appends are on the disk on return. If not, a power cut may damage the end of the file.
    """

    def __init__(
        self,
        path: str | Path,
        listener: Listener | None = None,
        *,
        resume: Resume = lambda header: None,
        about: Mapping[str, Any] | None = None,
        notice: Callable[[str], None] = lambda text: None,
        clock: Callable[[], float] = time.time,
        read_only: bool = False,
        durable: bool = True,
    ) -> None:
        self.path = path = Path(path)
        self.lock = threading.RLock()
        self.tell = notice
        self._reader = JournalReader(path, listener, notice, resume)
        self._listener = listener
        self._about = dict(about or {})
        self._clock = clock
        self._read_only = read_only
        self._durable = durable
        self._file_lock = files.FileLock(path.with_name("lock"))
        self._depth = 0

    @property
    def reader(self) -> JournalReader:
        """The reader of the file."""
        return self._reader

    def open(self) -> None:
        """Read the file. If a crash left an unfinished line at its end, set it aside where the file is writable.

        Raises:
            BadFile: The file is no journal, or one of a newer version. It is not changed.
        """
        with self.lock:
            self._reader.load()
            if self._read_only:
                self._reader.read_on(final=True)
            elif self._reader.exists and self._reader.tail(1):
                try:
                    with self.writing():
                        pass
                except StorageError:
                    self._reader.read_on(final=True)

    def refresh(self) -> bool:
        """Read what other processes added or changed; return whether there was anything. Costs one `stat` call."""
        with self.lock:
            return self._reader.refresh(final=self._depth > 0)

    def look(self) -> None:
        """Read what other processes added or changed, unless there is a listener or this is only to be read."""
        if self._listener is None and not self._read_only:
            self.refresh()

    def read(self) -> dict[str, dict[str, Any]] | None:
        """Return all tables in memory, or None if there is no file, as TinyDB asks for it."""
        with self.lock:
            self.look()
            if not self._reader.exists:
                return None
            return {
                table: {str(doc_id): self.document(table, doc_id) for doc_id in places}
                for table, places in self._reader.position.places.items()
                if places
            }

    def write(self, data: dict[str, dict[str, Any]]) -> None:
        """Make the file hold exactly the tables and documents of `data`, as TinyDB asks for it."""
        with self.writing():
            changes: dict[str, dict[int, Document | None]] = {
                table: dict.fromkeys(places) for table, places in self._reader.position.places.items()
            }
            for table, documents in data.items():
                put = {int(doc_id): dict(document) for doc_id, document in documents.items()}
                changes.setdefault(table, {}).update(put)
            self.rewrite(changes)

    def ids(self, table: str) -> list[int]:
        """Return the ids of a table's documents in the order of the file."""
        with self.lock:
            return list(self._reader.position.places.get(table, ()))

    def document(self, table: str, doc_id: int) -> Document | None:
        """Read one document from the file; None if there is none."""
        with self.lock:
            return self._reader.document(table, doc_id)

    def next_id(self, table: str) -> int:
        """Return the id of the next new document of a table. Ids are never reused."""
        return self._reader.position.next_ids.get(table, 1)

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock, after reading everything that other processes wrote. Reentrant.

        Raises:
            StorageError: The folder cannot be written to, or another process holds the lock for too long.
        """
        with self.lock:
            if self._depth == 0:
                try:
                    self._file_lock.acquire()
                except OSError as error:
                    raise self._failed(error) from None
            self._depth += 1
            try:
                if self._depth == 1:
                    self._prepare()
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self._file_lock.release()

    def append(self, table: str, documents: Mapping[int, Document]) -> None:
        """Add documents to a table. Each is stored completely or not at all, and is on disk on return.

        Raises:
            StorageError: Writing failed; the file is as before.
            BadFile: The documents cannot be written as JSON.
        """
        lines = [_encoded(table, doc_id, document) for doc_id, document in documents.items()]
        with self.writing():
            if not self._reader.exists:
                self._create()
            end = self._reader.position.offset
            try:
                files.append_durably(self.path, end, b"".join(lines), durable=self._durable)
            except OSError as error:
                raise self._failed(error) from None
            for (doc_id, document), line in zip(documents.items(), lines, strict=True):
                self._reader.position.offset = end + len(line)
                self._reader.apply(table, {doc_id: document}, LineSpan(end, len(line) - 1), line[:-1])
                end += len(line)
            self._reader.look()

    def rewrite(self, changes: Changes) -> None:
        """Rewrite the file with `changes` applied. If `changes` is empty, the same documents are written again.

        Raises:
            StorageError: Writing failed; the file is as before.
        """
        with self.writing():
            if not self._reader.exists:
                self._create()
            # The old file is kept if it holds damaged parts, which cannot be copied.
            aside = self.path.with_name(f"damaged-{self._reader.position.generation}.bak")
            try:
                self._replace(changes, aside if self._reader.damaged else None)
            except BadFile:  # damaged since it was read: then it is left out, and told
                self._reader.load(anew=True)
                self._reader.read_on(final=True)
                self._replace(changes, aside)

    def close(self) -> None:
        """Close the file and the lock; calling this twice is safe."""
        with self.lock:
            self._reader.close_file()
            self._file_lock.close()

    # ------------------------------------------------------------------------------------- details

    def _prepare(self) -> None:
        """Right after taking the lock: clean up after crashes, read what others wrote."""
        for left in self.path.parent.glob(f"{self.path.name}.*.part"):
            with contextlib.suppress(OSError):
                left.unlink()
        self._reader.refresh(final=True)
        if self._reader.exists:
            self._reader.read_on(final=True)
            self._set_tail_aside()

    def _set_tail_aside(self) -> None:
        """Move the bytes that a crash left after the last whole line to a file of their own."""
        tail = self._reader.tail(LINE + 1)
        if not tail:
            return
        position = self._reader.position
        aside = self.path.with_name(f"torn-{position.generation}-{position.offset}.bin")
        try:
            files.cut(self.path, position.offset, aside)
        except OSError as error:
            raise self._failed(error) from None
        self._reader.look()
        self.tell(
            f"an unfinished write of {len(tail)} bytes at the end of {self.path} was set aside as "
            f"{aside.name}; everything before it is there"
        )

    def _create(self) -> None:
        try:
            files.replace_file(self.path, [self._new_header({})])
            files.sync_above(self.path.parent)
        except OSError as error:
            raise self._failed(error) from None
        self._reader.load()

    def _replace(self, changes: Changes, keep_as: Path | None) -> None:
        try:
            files.replace_file(self.path, self._new_lines(changes), keep_as=keep_as)
        except OSError as error:
            self._reader.refresh(final=True)
            raise self._failed(error) from None
        self._reader.load()

    def _new_header(self, next_ids: Mapping[str, int]) -> bytes:
        header = self._reader.header
        about = dict(self._listener.about()) if self._listener is not None else {}
        about = {**self._about, **header.get("about", {}), **about}
        line = frame.header_line(about, next_ids, header.get("created", round(self._clock(), 3)))
        if len(line) > limits.HEADER:
            raise BadFile(f"{self.path} has too many tables to be written anew; it is left as it is")
        return line

    def _new_lines(self, changes: Changes) -> Iterator[bytes]:
        """Yield the lines of the rewritten file, one document each. Lines of unchanged documents are copied."""
        reader = self._reader
        next_ids = dict(reader.position.next_ids)
        for table, changed in changes.items():
            next_ids[table] = max([next_ids.get(table, 1), *(doc_id + 1 for doc_id in changed)])
        yield self._new_header(next_ids)
        for table in dict.fromkeys([*reader.position.places, *changes]):
            places, changed = reader.position.places.get(table, {}), changes.get(table, {})
            sharing = Counter(place.offset for place in places.values())
            for doc_id in sorted(places.keys() | changed.keys()):
                if doc_id in changed:
                    document = changed[doc_id]
                else:
                    line = reader.read(places[doc_id])
                    alone = sharing[places[doc_id].offset] == 1
                    if alone and frame.decode(line) is not None:
                        yield line + b"\n"
                        continue
                    document = reader.document(table, doc_id)
                if document is not None:
                    yield _encoded(table, doc_id, document)

    def _failed(self, error: OSError) -> StorageError:
        return StorageError(
            f"cannot write to {self.path.parent}: {error.strerror or error}; nothing stored before is lost. "
            "Free some space, or choose another folder with --saves DIR"
        )


def _encoded(table: str, doc_id: int, document: Document) -> bytes:
    """Return the line that holds a document."""
    if not limits.is_text(table, limits.NAME) or not limits.is_count(doc_id):
        raise BadFile("this cannot be stored: the number of a document or the name of its table is too large")
    return frame.document_line(table, doc_id, document)

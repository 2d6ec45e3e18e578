"""TinyDB's storage of memory: an append-only file that several processes share.

The first line is a header. Each further line holds documents of one table and is read completely or not at all. A
writer takes an exclusive lock (the file `lock` in the same folder; local disks only) and reads what others have
written. Then it appends with one write and fsync, or replaces the file. Readers need no lock.

An unchanged `TinyDB` works on it. `engine.memory.disk.database` has tables that append a new document in place of
writing all of them.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tinydb.storages import Storage

from engine import limits
from engine.disk import open_descriptor
from engine.errors import BadFile, FailingAs, StorageError
from engine.limits import LINE
from engine.memory.disk import files, frame
from engine.memory.disk.frame import Document, LineSpan, Position

Changes = Mapping[str, Mapping[int, Document | None]]
"""By table and document id: the new document, or None to remove it."""
_BLOCK = 4 << 20


class Listener:
    """Receives every document of a journal in the order of the file, to build its own data. This one does nothing."""

    def resume(self, header: Mapping[str, Any]) -> Position | None:
        """Return the position up to which this has the contents of the file with this header; None for nothing."""

    def reset(self, about: Mapping[str, Any]) -> None:
        """Drop everything: the file is being read from its start. `about` comes from the file's header."""

    def put(self, table: str, doc_id: int, document: Document, place: LineSpan, line: bytes) -> None:
        """Receive a new document; `line` is the whole line that holds it, at `place`."""

    def about(self) -> Mapping[str, Any]:
        """Return the values to store in the header of a rewritten file."""
        return {}


class Journal(Storage):
    """One journal file. Every method may be called from any thread.

    Args:
        path: The file, in an existing folder. The first append creates it.
        listener: Receives every document. With one, what others wrote is read by `refresh` only, so that an index stays
            as it is until its owner asks.
        about: Stored in the header of a new file.
        notice: Called with a sentence when something was recovered or left out.
        read_only: It is read once, by `open`, and nothing is written.
        durable: Whether appends are on the disk on return. If not, a power cut may damage the end of the file.

    Attributes:
        header: The header of the file, {} if there is no file.
        position: How far the file has been read.
        damaged: Number of damaged stretches, which were left out.
    """

    def __init__(
        self,
        path: str | Path,
        listener: Listener | None = None,
        *,
        about: Mapping[str, Any] | None = None,
        notice: Callable[[str], None] = lambda text: None,
        read_only: bool = False,
        durable: bool = True,
    ) -> None:
        self.path = path = Path(path)
        self.lock = threading.RLock()
        self.tell = notice
        self.header: dict[str, Any] = {}
        self.position = Position()
        self.damaged = 0
        self._listener = Listener() if listener is None else listener
        self._follows = listener is None and not read_only
        self._about = dict(about or {})
        self._read_only = read_only
        self._durable = durable
        self._depth = 0
        self._reading = FailingAs(StorageError, f"cannot read {path}")
        self._writing = FailingAs(
            StorageError,
            f"cannot write to {path.parent}",
            "nothing stored before is lost. Free some space, or choose another folder with --saves DIR",
        )
        self._fd = -1
        self._seen = (-1, -1)  # size and modification time at the last look

    # -------------------------------------------------------------------------------------- reading

    @property
    def exists(self) -> bool:
        """Whether there was a file when it was last opened."""
        return self._fd >= 0

    def open(self) -> None:
        """Read the file. If a crash left an unfinished line at its end, set it aside where the file is writable.

        Raises:
            BadFile: The file is no journal, or one of a newer version. It is not changed.
        """
        with self.lock:
            self.load()
            if self._read_only:
                self._read_on(final=True)
            elif self.exists and self.tail(1):
                try:
                    with self.writing():
                        pass
                except StorageError:
                    self._read_on(final=True)

    def load(self, *, anew: bool = False) -> None:
        """Read the file from its start, or, unless `anew`, from the position up to which the listener has it.

        Raises:
            BadFile: The file is no journal, or one of a newer version. It is not changed.
            StorageError: The file cannot be opened.
        """
        self._forget()
        with self._reading:
            try:
                self._fd = open_descriptor(self.path, os.O_NOFOLLOW)
            except FileNotFoundError:
                return
        if os.fstat(self._fd).st_size == 0:  # created but never written to
            self._close_file()
            return
        try:
            self.header, start = frame.header_at_start(self.path, self._bytes(limits.HEADER, 0))
        except BaseException:
            self._close_file()
            raise
        known = None if anew else self._listener.resume(self.header)
        if known is not None and self._continues(known):
            self.position = known
        else:
            self._listener.reset(self.header["about"])
            self.position = Position(self.header["generation"], start, next_ids=dict(self.header["next_ids"]))
        self._mark_seen()
        self._read_on(final=False)

    def refresh(self) -> bool:
        """Read what other processes added or changed; return whether there was anything. Costs one `stat` call.

        Raises:
            StorageError: The file cannot be looked at, for instance where a file is in the place of its folder.
        """
        with self.lock:
            with self._reading:
                try:
                    now = os.stat(self.path)
                except FileNotFoundError:
                    known = self.exists
                    if known:
                        self._forget()
                    return known
            if not self.exists or not os.path.samestat(now, os.fstat(self._fd)):
                self.load()
                return self.exists
            if (now.st_size, now.st_mtime_ns) == self._seen:
                return False
            if now.st_size < self.position.offset:
                self.load()
                return True
            self._seen = (now.st_size, now.st_mtime_ns)
            return self._read_on(final=self._depth > 0)

    def read(self) -> dict[str, Mapping[str, Any]]:  # type: ignore[override]
        """Return all tables, as TinyDB asks for them. A document is read from the file when it is asked for.

        What others wrote is read first, unless there is a listener or this is only to be read.
        """
        with self.lock:
            if self._follows:
                self.refresh()
            return {table: StoredTable(self, table) for table, places in self.position.places.items() if places}

    def ids(self, table: str) -> list[int]:
        """Return the ids of a table's documents in the order of the file."""
        with self.lock:
            return list(self.position.places.get(table, ()))

    def document(self, table: str, doc_id: int) -> Document | None:
        """Read one document from the file; None if there is none.

        Raises:
            BadFile: Its line was damaged after it was first read.
        """
        with self.lock:
            place = self.position.places.get(table, {}).get(doc_id)
            if place is None:
                return None
            found = frame.documents_in(self.line(place))
        if found is None or doc_id not in found[1]:
            raise BadFile(
                f"document {doc_id} of {self.path} has been damaged on the disk; "
                "`jitrl memory verify` looks at all of them"
            )
        return found[1][doc_id]

    def line(self, place: LineSpan) -> bytes:
        """Return some bytes of the opened file, even if it has been replaced since."""
        return self._bytes(place.length, place.offset)

    def tail(self, limit: int) -> bytes:
        """Return up to `limit` bytes after the position: an unfinished line, if there is one."""
        return self._bytes(limit, self.position.offset) if self.exists else b""

    def next_id(self, table: str) -> int:
        """Return the id of the next new document of a table. Ids are never reused."""
        return self.position.next_ids.get(table, 1)

    # -------------------------------------------------------------------------------------- writing

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock, after reading everything that other processes wrote. Reentrant.

        Raises:
            StorageError: The folder cannot be written to, or another process holds the lock for too long.
        """
        with self.lock, contextlib.ExitStack() as held:
            if self._depth == 0:
                with self._writing:
                    held.enter_context(files.locked(self.path.with_name("lock")))
            self._depth += 1
            try:
                if self._depth == 1:
                    self._prepare()
                yield
            finally:
                self._depth -= 1

    def write(self, data: Mapping[str, Mapping[str, Any]]) -> None:
        """Make the file hold the tables of `data`, as TinyDB asks for it. Nothing is written if nothing has changed."""
        with self.writing():
            changes: dict[str, dict[int, Document | None]] = {}
            for table in self.position.places.keys() | data.keys():
                after = data.get(table, {})
                if not isinstance(after, StoredTable):  # else it is as it was read
                    before = dict(StoredTable(self, table).items())
                    changes[table] = {
                        int(key): after.get(key)
                        for key in before.keys() | after.keys()
                        if repr(before.get(key)) != repr(after.get(key))  # 1 equals True
                    }
            if any(changes.values()):
                self.rewrite(changes)

    def append(self, table: str, documents: Mapping[int, Document]) -> None:
        """Add documents to a table. Each is stored completely or not at all, and is on disk on return.

        Raises:
            StorageError: Writing failed; the file is as before.
            BadFile: The documents cannot be written as JSON.
        """
        lines = [frame.document_line(table, doc_id, document) for doc_id, document in documents.items()]
        with self.writing():
            if not self.exists:
                self._create()
            end = self.position.offset
            with self._writing:
                files.append_durably(self.path, end, b"".join(lines), durable=self._durable)
            for (doc_id, document), line in zip(documents.items(), lines, strict=True):
                self.position.offset = end + len(line)
                self._put(table, {doc_id: document}, LineSpan(end, len(line) - 1), line[:-1])
                end += len(line)
            self._mark_seen()

    def rewrite(self, changes: Changes) -> None:
        """Rewrite the file with `changes` applied. If `changes` is empty, the same documents are written again.

        Raises:
            StorageError: Writing failed; the file is as before.
        """
        with self.writing():
            if not self.exists:
                self._create()
            # The old file is kept if it holds damaged parts, which cannot be copied.
            aside = self.path.with_name(f"damaged-{self.position.generation}.bak")
            try:
                self._replace(changes, aside if self.damaged else None)
            except BadFile:  # damaged since it was read: then it is left out, and told
                self.load(anew=True)
                self._read_on(final=True)
                self._replace(changes, aside)

    def close(self) -> None:
        """Close the file; calling this twice is safe."""
        with self.lock:
            self._close_file()

    # --------------------------------------------------------------------------- details of reading

    def _bytes(self, size: int, offset: int) -> bytes:
        with self._reading:
            return os.pread(self._fd, size, offset)

    def _read_on(self, *, final: bool) -> bool:
        """Read from the position on; return whether there was anything.

        Unless `final`, damaged lines at the end of the file are left for later: a process may still be writing them.
        """
        changed = False
        damaged = 0  # bytes
        for offset, line in self._lines() if self.exists else ():
            found = frame.documents_in(line)
            if found is None:
                damaged += len(line) + 1
                continue
            if damaged:
                self._leave_out(damaged)
                damaged = 0
            self.position.offset = offset + len(line) + 1
            self._put(*found, LineSpan(offset, len(line)), line)
            changed = True
        if damaged and final:
            self._leave_out(damaged)
        return changed

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield offset and bytes of each whole line from the position on."""
        offset = at = self.position.offset
        held = b""
        while len(held) <= LINE and (block := self._bytes(_BLOCK, at)):
            at += len(block)
            *lines, held = (held + block).split(b"\n")
            for line in lines:
                yield offset, line
                offset += len(line) + 1
        if len(held) > LINE:
            raise BadFile(
                f"{self.path} has a line of more than {LINE >> 20} MB at {offset}, which is none of jitrl's; it is "
                f"left as it is. `{frame.recovery(self.path)}` reads what can be found in it"
            )

    def _put(self, table: str, documents: Mapping[int, Document], place: LineSpan, line: bytes) -> None:
        """Record where new documents are, and pass them to the listener."""
        places, next_ids = self.position.places.setdefault(table, {}), self.position.next_ids
        for doc_id, document in documents.items():
            if doc_id not in places:
                places[doc_id] = place
                next_ids[table] = max(next_ids.get(table, 1), doc_id + 1)
                self._listener.put(table, doc_id, document, place, line)

    def _leave_out(self, size: int) -> None:
        """Go past damaged lines that begin at the position, and tell it."""
        start = self.position.offset
        self.position.offset += size
        self.damaged += 1
        self.tell(
            f"{size} bytes of {self.path} at {start} are damaged and were left out; everything else is there. "
            "`jitrl memory compact` writes the file without them, and keeps this one"
        )

    def _continues(self, known: Position) -> bool:
        """Whether this file, which a listener took for its own, still has what `known` describes."""
        if known.offset > os.fstat(self._fd).st_size:
            return False
        places = (place for table in known.places.values() for place in table.values())
        last = max(places, key=lambda place: place.offset, default=None)
        return last is None or frame.documents_in(self.line(last)) is not None

    def _mark_seen(self) -> None:
        """Record the size and modification time of the file, for `refresh`."""
        self._seen = ((now := os.fstat(self._fd)).st_size, now.st_mtime_ns)

    def _forget(self) -> None:
        """Close the file and reset everything, the listener included."""
        self._close_file()
        self.header, self.position, self.damaged = {}, Position(), 0
        self._seen = (-1, -1)
        self._listener.reset({})

    def _close_file(self) -> None:
        if self.exists:
            os.close(self._fd)
        self._fd = -1

    # --------------------------------------------------------------------------- details of writing

    def _prepare(self) -> None:
        """Right after taking the lock: clean up after crashes, read what others wrote."""
        for left in self.path.parent.glob(f"{self.path.name}.*.part"):
            with contextlib.suppress(OSError):
                left.unlink()
        self.refresh()
        if self.exists:
            self._read_on(final=True)
            self._set_tail_aside()

    def _set_tail_aside(self) -> None:
        """Move the bytes that a crash left after the last whole line to a file of their own."""
        tail = self.tail(LINE + 1)
        if not tail:
            return
        aside = self.path.with_name(f"torn-{self.position.generation}-{self.position.offset}.bin")
        with self._writing:
            files.cut_file(self.path, self.position.offset, aside)
        self._mark_seen()
        self.tell(
            f"an unfinished write of {len(tail)} bytes at the end of {self.path} was set aside as "
            f"{aside.name}; everything before it is there"
        )

    def _create(self) -> None:
        with self._writing:
            files.replace_file(self.path, [self._new_header({})])
            files.sync_above(self.path.parent)
        self.load()

    def _replace(self, changes: Changes, keep_as: Path | None) -> None:
        with self._writing:
            try:
                files.replace_file(self.path, self._new_lines(changes), keep_as=keep_as)
            except OSError:
                self.refresh()
                raise
        self.load()

    def _new_header(self, next_ids: Mapping[str, int]) -> bytes:
        about = {**self._about, **self.header.get("about", {}), **self._listener.about()}
        line = frame.header_line(about, next_ids, self.header.get("created", round(time.time(), 3)))
        if len(line) > limits.HEADER:
            raise BadFile(f"{self.path} has too many tables to be written anew; it is left as it is")
        return line

    def _new_lines(self, changes: Changes) -> Iterator[bytes]:
        """Yield the lines of the rewritten file, one document each. Lines of unchanged documents are copied."""
        known = self.position
        next_ids = dict(known.next_ids)
        for table, changed in changes.items():
            next_ids[table] = max([next_ids.get(table, 1), *(doc_id + 1 for doc_id in changed)])
        yield self._new_header(next_ids)
        for table in dict.fromkeys([*known.places, *changes]):
            places, changed = known.places.get(table, {}), changes.get(table, {})
            sharing = Counter(place.offset for place in places.values())
            for doc_id in sorted(places.keys() | changed.keys()):
                if doc_id in changed:
                    document = changed[doc_id]
                else:
                    line = self.line(places[doc_id])
                    if sharing[places[doc_id].offset] == 1 and frame.decode(line) is not None:
                        yield line + b"\n"
                        continue
                    document = self.document(table, doc_id)
                if document is not None:
                    yield frame.document_line(table, doc_id, document)


class StoredTable(Mapping[str, Any]):
    """Maps the ids of a table to its documents; each document is read from the file on access.

    A document that was damaged on the disk is refused when it is asked for, and told and left out of `items`.
    """

    def __init__(self, journal: Journal, table: str) -> None:
        self._journal = journal
        self._table = table

    def __getitem__(self, key: str) -> Document:
        document = self._journal.document(self._table, int(key))
        if document is None:
            raise KeyError(key)
        return document

    def __iter__(self) -> Iterator[str]:
        return map(str, self._journal.ids(self._table))

    def __len__(self) -> int:
        return len(self._journal.ids(self._table))

    def items(self) -> Iterator[tuple[str, Document]]:  # type: ignore[override]
        """Yield ids and documents in the order of the file."""
        for doc_id in self._journal.ids(self._table):
            try:
                document = self._journal.document(self._table, doc_id)
            except BadFile as error:
                self._journal.tell(str(error))
                continue
            if document is not None:
                yield str(doc_id), document

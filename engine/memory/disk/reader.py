"""Reads a journal: its header, its lines, damaged parts, and lines that other processes add. Never writes."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from engine import limits
from engine.disk import open_descriptor
from engine.errors import BadFile, StorageError
from engine.memory.disk import frame

_BLOCK = 4 << 20

Document = dict[str, Any]
Resume = Callable[[Mapping[str, Any]], "Position | None"]


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Where a line is: offset of its first byte, and length in bytes without the newline."""

    offset: int
    length: int


class Listener(Protocol):
    """Receives every document of a journal in the order of the file, and builds its own data from them."""

    def reset(self, about: Mapping[str, Any]) -> None:
        """Drop everything: the file is being read from its start. `about` comes from the file's header."""
        ...

    def put(self, table: str, doc_id: int, document: Document, place: LineSpan, line: bytes) -> None:
        """Receive a new document; `line` is the whole line that holds it, at `place`."""
        ...

    def about(self) -> Mapping[str, Any]:
        """Return the values to store in the header of a rewritten file."""
        ...


@dataclass(slots=True)
class Position:
    """How far a journal has been read, and where its documents are. A snapshot stores it."""

    generation: str = ""
    offset: int = 0
    places: dict[str, dict[int, LineSpan]] = field(default_factory=dict)
    next_ids: dict[str, int] = field(default_factory=dict)


class JournalReader:
    """Reads one journal file.

    Args:
        path: The file.
        listener: Receives every document.
        notice: Called with a sentence when something was left out.
        resume: Called with the header. Returns the position up to which the listener has the contents, or None.

    Attributes:
        header: The header of the file, {} if there is no file.
        position: How far the file has been read.
        damaged: Number of damaged stretches, which were left out.
    """

    def __init__(
        self,
        path: Path,
        listener: Listener | None = None,
        notice: Callable[[str], None] = lambda text: None,
        resume: Resume = lambda header: None,
    ) -> None:
        self.path = path
        self._recovery = f"jitrl memory recover {shlex.quote(str(path))}"
        self.header: dict[str, Any] = {}
        self.damaged = 0
        self.position = Position()
        self._listener = listener
        self._notice = notice
        self._resume = resume
        self._fd = -1
        self._seen = (-1, -1)  # size and modification time at the last look

    @property
    def exists(self) -> bool:
        """Whether there was a file when it was last opened."""
        return self._fd >= 0

    def load(self, *, anew: bool = False) -> None:
        """Read the file from its start, or, unless `anew`, from the position that `resume` returns.

        Raises:
            BadFile: The file is no journal, or one of a newer version. It is not changed.
            StorageError: The file cannot be opened.
        """
        self.forget()
        try:
            fd = open_descriptor(self.path, os.O_NOFOLLOW)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}") from None
        try:
            if os.fstat(fd).st_size == 0:  # created but never written to
                os.close(fd)
                return
            self.header, start = self._read_header(fd)
        except BaseException:
            os.close(fd)
            raise
        self._fd = fd
        known = None if anew else self._resume(self.header)
        if known is not None and self._continues(known):
            self.position = known
        else:
            if self._listener is not None:
                self._listener.reset(self.header["about"])
            self.position = Position(
                generation=self.header["generation"], offset=start, next_ids=dict(self.header["next_ids"])
            )
        self.look()
        self.read_on(final=False)

    def refresh(self, *, final: bool = False) -> bool:
        """Read what was added or changed since the last look; return whether there was anything.

        Costs one `stat` call if nothing changed.

        Args:
            final: No process is writing, so a damaged line at the end will not be completed any more.

        Raises:
            StorageError: The file cannot be looked at, for instance where a file is in the place of its folder.
        """
        try:
            now = os.stat(self.path)
        except FileNotFoundError:
            if self._fd < 0:
                return False
            self.forget()
            return True
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}") from None
        if self._fd < 0 or not os.path.samestat(now, os.fstat(self._fd)):
            self.load()
            return self._fd >= 0
        if (now.st_size, now.st_mtime_ns) == self._seen:
            return False
        if now.st_size < self.position.offset:
            self.load()
            return True
        self._seen = (now.st_size, now.st_mtime_ns)
        return self.read_on(final=final)

    def document(self, table: str, doc_id: int) -> Document | None:
        """Read one document from the file; None if there is none.

        Raises:
            BadFile: Its line was damaged after it was first read.
        """
        place = self.position.places.get(table, {}).get(doc_id)
        if place is None:
            return None
        found = self.parse(self.read(place))
        if found is None or doc_id not in found[1]:
            raise BadFile(
                f"document {doc_id} of {self.path} has been damaged on the disk; "
                "`jitrl memory verify` looks at all of them"
            )
        return found[1][doc_id]

    def read(self, place: LineSpan) -> bytes:
        """Return some bytes of the opened file, even if it has been replaced since."""
        return self._bytes(self._fd, place.length, place.offset)

    def parse(self, line: bytes) -> tuple[str, dict[int, Document]] | None:
        """Return the table and documents of a line; None if it is damaged."""
        payload = frame.decode(line)
        return None if payload is None else self.documents(payload)

    def documents(self, payload: bytes) -> tuple[str, dict[int, Document]] | None:
        """Return table and documents of a payload; None if it is not such a payload."""
        try:
            data = limits.parsed(payload)
            table, put = data["table"], data["put"]
            documents = {int(doc_id): document for doc_id, document in put.items()}
        except (BadFile, ValueError, KeyError, TypeError, AttributeError):
            return None
        if not limits.is_text(table, limits.NAME) or not all(isinstance(one, dict) for one in documents.values()):
            return None
        if not all(map(limits.is_count, documents)):
            return None
        return table, documents

    def read_on(self, *, final: bool) -> bool:
        """Read from the position on; return whether there was anything.

        Unless `final`, damaged lines at the end of the file are left for later: a process may still be writing them.
        """
        changed = False
        damaged = 0  # bytes
        if not self.exists:
            return False
        for offset, line in self._lines():
            found = self.parse(line)
            if found is None:
                damaged += len(line) + 1
                continue
            if damaged:
                self._leave_out(damaged)
                damaged = 0
            self.position.offset = offset + len(line) + 1
            self.apply(*found, LineSpan(offset, len(line)), line)
            changed = True
        if damaged and final:
            self._leave_out(damaged)
        return changed

    def apply(self, table: str, documents: Mapping[int, Document], place: LineSpan, line: bytes) -> None:
        """Record where new documents are, and pass them to the listener."""
        places = self.position.places.setdefault(table, {})
        next_ids = self.position.next_ids
        for doc_id, document in documents.items():
            if doc_id in places:
                continue
            places[doc_id] = place
            next_ids[table] = max(next_ids.get(table, 1), doc_id + 1)
            if self._listener is not None:
                self._listener.put(table, doc_id, document, place, line)

    def tail(self, limit: int) -> bytes:
        """Return up to `limit` bytes after the position: an unfinished line, if there is one."""
        return self._bytes(self._fd, limit, self.position.offset)

    def look(self) -> None:
        """Record the size and modification time of the file, for `refresh`."""
        now = os.fstat(self._fd)
        self._seen = (now.st_size, now.st_mtime_ns)

    def forget(self) -> None:
        """Close the file and reset everything, the listener included."""
        self.close_file()
        self.header = {}
        self.position = Position()
        self.damaged = 0
        self._seen = (-1, -1)
        if self._listener is not None:
            self._listener.reset({})

    def close_file(self) -> None:
        """Close the file; calling this twice is safe."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd = -1

    def read_header(self) -> dict[str, Any]:
        """Read and return the header of the file only, without changing this object.

        Raises:
            BadFile: The file is no journal, or one of a newer version.
            StorageError: The file cannot be opened.
        """
        try:
            fd = open_descriptor(self.path, os.O_NOFOLLOW)
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}") from None
        try:
            return self._read_header(fd)[0]
        finally:
            os.close(fd)

    # ------------------------------------------------------------------------------------- details

    def _read_header(self, fd: int) -> tuple[dict[str, Any], int]:
        """Return the header, and the offset of the line after it."""
        line, newline, _ = self._bytes(fd, limits.HEADER, 0).partition(b"\n")
        header = frame.parsed_header((newline and frame.decode(line)) or b"null")
        if header is None:
            raise BadFile(
                f"{self.path} is no jitrl memory, or its first line is damaged; it is left as it is. "
                f"`{self._recovery}` reads what can be found in it; move it away to begin a new memory"
            )
        frame.check_schema(header, self.path)
        return header, len(line) + 1

    def _bytes(self, fd: int, size: int, offset: int) -> bytes:
        try:
            return os.pread(fd, size, offset)
        except OSError as error:
            raise StorageError(f"cannot read {self.path}: {error.strerror}") from None

    def _continues(self, known: Position) -> bool:
        """Whether this file is the one that `known` describes, up to its offset."""
        if known.generation != self.header.get("generation") or known.offset > os.fstat(self._fd).st_size:
            return False
        places = (place for table in known.places.values() for place in table.values())
        last = max(places, key=lambda place: place.offset, default=None)
        return last is None or self.parse(self.read(last)) is not None

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield offset and bytes of each whole line from the position on."""
        offset = at = self.position.offset
        held = b""
        while len(held) <= limits.LINE and (block := self._bytes(self._fd, _BLOCK, at)):
            at += len(block)
            *lines, held = (held + block).split(b"\n")
            for line in lines:
                yield offset, line
                offset += len(line) + 1
        if len(held) > limits.LINE:
            raise BadFile(
                f"{self.path} has a line of more than {limits.LINE >> 20} MB at {offset}, which is none of jitrl's; it "
                f"is left as it is. `{self._recovery}` reads what can be found in it"
            )

    def _leave_out(self, size: int) -> None:
        """Go past damaged lines that begin at the position, and tell it."""
        start = self.position.offset
        self.position.offset += size
        self.damaged += 1
        self._notice(
            f"{size} bytes of {self.path} at {start} are damaged and were left out; everything else is there. "
            "`jitrl memory compact` writes the file without them, and keeps this one"
        )

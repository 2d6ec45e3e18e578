"""Documents to and from the rows of the log, and the counters of a scope. Their values are checked: whoever may write
to the database may write anything.

A row holds a document as zlib-compressed JSON. An episode's number and the entry number of its step 0 are given by the
server, so they are columns, and take their places in the document when it is read.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from engine import limits
from engine.errors import BadFile
from engine.memory.disk import document as documents
from engine.memory.disk import frame
from engine.memory.disk.document import EPISODES, KEPT
from engine.memory.disk.frame import Document
from engine.memory.kept import to_kept

_MOST_LISTS = limits.STEPS * 20
"""Lists and objects in a document: each costs a hundred times of what it takes in the text."""
_LEVEL = 1
"""Higher levels of zlib cost twice the time and save a quarter of the size."""


@dataclass(frozen=True, slots=True)
class LogRow:
    """A document on its way to the log.

    Attributes:
        table: Name of its table.
        key: Digest of its uid, None where uids do not count. A second row with the same key is not stored.
        number: Number of the episode, None for the next free one.
        first: Entry number of its step 0, None for the next free one.
        steps: How many entry numbers it takes; 0 for what is no episode.
        payload: The document, compressed.
        made: The document itself, where this process has just made it.
    """

    table: str
    key: bytes | None
    number: int | None
    first: int | None
    steps: int
    payload: bytes
    made: Document | None = None


@dataclass(frozen=True, slots=True)
class Logged:
    """A row of the log: its place in it, the id and key of its document, and the document (`made`: as in `LogRow`)."""

    seq: int
    table: str
    doc: int
    key: bytes | None
    number: int | None
    first: int | None
    payload: bytes | None
    made: Document | None = None

    def document(self) -> Document:
        """Return the document.

        Raises:
            BadFile: The row is damaged.
        """
        if self.made is not None:
            return self._numbered(self.made)
        try:
            return self._read()
        except (zlib.error, BadFile) as error:
            raise BadFile(f"row {self.seq} is damaged on the server ({error})") from None

    def _numbered(self, document: Document) -> Document:
        if self.first is not None:
            document["number"], document["first"] = self.number, self.first
        return document

    def _read(self) -> Document:
        """Return the document of a row of the server, which may hold anything."""
        if not is_table(self.table) or not limits.is_count(self.doc, 1):
            raise BadFile(f"it is document {self.doc} of {limits.short_text(self.table)}")
        if self.payload is None:
            raise BadFile(f"it is longer than {limits.LINE >> 20} MB")
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(self.payload, limits.LINE)
        if not unpacker.eof:
            raise BadFile("it is longer than a document may be, or cut off")
        if data.count(b"[") + data.count(b"{") > _MOST_LISTS:
            raise BadFile("it has more lists than a document may")
        document = limits.parse_json(data)
        if not isinstance(document, dict):
            raise BadFile("it is no object")
        self._numbered(document)
        if self.table == EPISODES:
            documents.check(document)
        elif self.table == KEPT:
            to_kept(document)
        else:
            limits.check_json(document, "it")
        return document


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of rows that were sent to the log.

    Attributes:
        generation: Of their scope.
        rows: Each row as the log has it, None for one that was there already.
    """

    generation: str
    rows: tuple[Logged | None, ...]


def new_row(table: str, document: Document) -> LogRow:
    """Return the row of a new document, which has no id yet. Of an episode, number 0 asks for the next free one.

    Raises:
        BadFile: The document cannot be written as JSON.
        StorageError: It is too large.
    """
    steps = len(document["steps"]) if table == EPISODES else 0
    number = int(document["number"]) or None if table == EPISODES else None
    return LogRow(table, key_of(document["uid"]), number, None, steps, pack(document), document)


def old_row(table: str, document: Mapping[str, Any]) -> LogRow:
    """Return the row of a document that has its numbers already, of whatever table; raises as `new_row`."""
    uid, steps = document.get("uid"), document.get("steps")
    number, first = document.get("number"), document.get("first")
    numbered = table == EPISODES and isinstance(steps, list) and limits.is_count(number) and limits.is_count(first)
    key = key_of(uid) if table in (EPISODES, KEPT) and isinstance(uid, str) else None
    if not numbered:
        return LogRow(table, key, None, None, 0, pack(document))
    return LogRow(table, key, number, first, len(steps or ()), pack(document))


def is_table(name: Any) -> bool:
    """Whether a value can be the name of a table."""
    return limits.is_name(name)


def key_of(uid: str) -> bytes:
    """Return the digest of a uid, which is short enough for an index."""
    return blake2b(uid.encode("utf-8", "replace"), digest_size=16).digest()


def pack(document: Mapping[str, Any]) -> bytes:
    """Return a document as compressed JSON; raises as `new_row`."""
    return zlib.compress(frame.json_bytes(document), _LEVEL)


COLUMNS = (
    f"id, left(generation, {limits.NAME}), seq, next_entry, next_number, left(next_ids::text, {limits.HEADER}), "
    f"left(header::text, {limits.HEADER})"
)
"""What `read_counters` reads. Nothing is fetched that is longer than it may be."""
_LONGEST_GENERATION = 64
_MOST_TABLES = 100


@dataclass(slots=True)
class Counters:
    """The counters of a scope.

    Attributes:
        id: Of the scope in the tables; 0 if it is not there.
        generation: Changes when rows were changed or removed; "" if the scope is not there.
        seq: Place of the last row.
        next_entry, next_number, next_ids: As in the header of a journal.
        header: Further fields of it.
    """

    id: int = 0
    generation: str = ""
    seq: int = 0
    next_entry: int = 0
    next_number: int = 1
    next_ids: dict[str, int] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)

    def take(self, row: LogRow) -> Logged:
        """Return a new row as the log will have it, and count it."""
        doc = self.next_ids.get(row.table, 1)
        number, first = row.number, row.first
        if row.steps and first is None:
            number, first = number or self.next_number, self.next_entry
        self.count(row.table, doc, number, first, row.steps)
        self.seq += 1
        return Logged(self.seq, row.table, doc, row.key, number, first, row.payload, row.made)

    def count(self, table: str, doc: int, number: int | None, first: int | None, steps: int) -> None:
        """Keep the numbers of a row from being given again."""
        self.next_ids[table] = max(self.next_ids.get(table, 1), doc + 1)
        if number is not None and first is not None:
            self.next_entry = max(self.next_entry, first + steps)
            self.next_number = max(self.next_number, number + 1)


def read_counters(fields: tuple[Any, ...]) -> Counters:
    """Return the counters that a row of the database has; see `COLUMNS`.

    Raises:
        BadFile: They are no counters.
    """
    number, generation, seq, next_entry, next_number, next_ids, header = fields
    if not (isinstance(generation, str) and 0 < len(generation) <= _LONGEST_GENERATION and generation.isalnum()):
        raise BadFile(f"its generation is {limits.short_text(generation)}")
    for name, value in (("seq", seq), ("next_entry", next_entry), ("next_number", next_number)):
        if not limits.is_count(value):
            raise BadFile(f"its {name} is {value}")
    ids, about = limits.parse_json(next_ids), limits.parse_json(header)
    if not (isinstance(ids, dict) and len(ids) <= _MOST_TABLES and all(map(is_table, ids))
            and all(limits.is_count(value, 1) for value in ids.values())):  # fmt: skip
        raise BadFile(f"its next_ids are {limits.short_text(ids)}")
    if not isinstance(about, Mapping) or not isinstance(about.get("about", {}), Mapping):
        raise BadFile(f"its header is {limits.short_text(about)}")
    if about.get("created") is not None and not limits.is_number(about["created"]):
        raise BadFile(f"its time is {limits.short_text(about['created'])}")
    limits.check_json(about, "its header")
    return Counters(number, generation, seq, next_entry, next_number, ids, dict(about))

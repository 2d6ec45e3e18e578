"""Documents to and from the rows of the log.

A row holds a document as zlib-compressed JSON. An episode's number and the entry number of its step 0 are given by the
server, so they are columns, and take their places in the document when it is read.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from engine import limits
from engine.errors import BadFile, StorageError
from engine.memory.disk import document as documents
from engine.memory.disk.reader import Document
from engine.memory.kept import TABLE as KEPT
from engine.memory.kept import to_kept
from engine.memory.scope import TABLE

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
            raise BadFile(f"it is document {self.doc} of {limits.shown(self.table)}")
        if self.payload is None:
            raise BadFile(f"it is longer than {limits.LINE >> 20} MB")
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(self.payload, limits.LINE)
        if not unpacker.eof:
            raise BadFile("it is longer than a document may be, or cut off")
        if data.count(b"[") + data.count(b"{") > _MOST_LISTS:
            raise BadFile("it has more lists than a document may")
        document = limits.parsed(data)
        if not isinstance(document, dict):
            raise BadFile("it is no object")
        self._numbered(document)
        if self.table == TABLE:
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
    steps = len(document["steps"]) if table == TABLE else 0
    number = int(document["number"]) or None if table == TABLE else None
    return LogRow(table, key_of(document["uid"]), number, None, steps, packed(document), document)


def old_row(table: str, document: Mapping[str, Any]) -> LogRow:
    """Return the row of a document that has its numbers already, of whatever table; raises as `new_row`."""
    uid, steps = document.get("uid"), document.get("steps")
    number, first = document.get("number"), document.get("first")
    numbered = table == TABLE and isinstance(steps, list) and limits.is_count(number) and limits.is_count(first)
    key = key_of(uid) if table in (TABLE, KEPT) and isinstance(uid, str) else None
    if not numbered:
        return LogRow(table, key, None, None, 0, packed(document))
    return LogRow(table, key, number, first, len(steps or ()), packed(document))


def is_table(name: Any) -> bool:
    """Whether a value can be the name of a table."""
    return limits.is_name(name)


def key_of(uid: str) -> bytes:
    """Return the digest of a uid, which is short enough for an index."""
    return blake2b(uid.encode("utf-8", "replace"), digest_size=16).digest()


def packed(document: Mapping[str, Any]) -> bytes:
    """Return a document as compressed JSON; raises as `new_row`."""
    try:
        text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadFile(f"this cannot be stored: {error}") from None
    data = text.encode("utf-8", "replace")
    if len(data) > limits.LINE:
        raise StorageError(
            f"an episode of {len(data) >> 20} MB is too large for memory (limit: {limits.LINE >> 20} MB)"
        )
    return zlib.compress(data, _LEVEL)

"""The lines of a journal: a header, then documents. Each has checksums.

A line is `crc32 blake2b payload newline`. Both checksums have eight hexadecimal digits; single spaces separate the
parts. The payload is JSON without raw newlines. A line whose CRC is wrong is lost. The digest is there for earlier
versions of jitrl, which looked at it.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shlex
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import open_descriptor
from engine.errors import BadFile, FailingAs, StorageError

FORMAT = "jitrl-journal"
SCHEMA = 1
"""Version of the documents."""
PREFIX = 18
"""Bytes before the payload: both checksums and their spaces."""
_GENERATION = re.compile("[0-9a-zA-Z]{0,64}")
"""Names of files are made of it."""

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LineSpan:
    """Where a line is: offset of its first byte, and length in bytes without the newline."""

    offset: int
    length: int


@dataclass(slots=True)
class Position:
    """How far a journal has been read, and where its documents are. A snapshot stores it."""

    generation: str = ""
    offset: int = 0
    places: dict[str, dict[int, LineSpan]] = field(default_factory=dict)
    next_ids: dict[str, int] = field(default_factory=dict)


def encode(payload: bytes) -> bytes:
    """Return the line that holds `payload`, with its newline."""
    digest = blake2b(payload, digest_size=4).hexdigest().encode()
    return b"%08x %s %s\n" % (zlib.crc32(payload), digest, payload)


def decode(line: bytes) -> bytes | None:
    """Return the payload of a line (without its newline), None if the line is damaged."""
    if len(line) <= PREFIX or line[8] != 0x20 or line[17] != 0x20:
        return None
    payload = line[PREFIX:]
    return payload if b"%08x" % zlib.crc32(payload) == line[:8] else None


def parse_line(line: bytes) -> Any:
    """Return the value of a line, with or without its newline; None if the line is damaged.

    Raises:
        BadFile: Its payload is no JSON within the limits.
    """
    return limits.parse_json(decode(line.removesuffix(b"\n")) or b"null")


def json_bytes(data: Any) -> bytes:
    """Return a value as JSON for a payload.

    Raises:
        BadFile: It cannot be written as JSON.
        StorageError: It is too large.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadFile(f"this cannot be stored: {error}") from None
    found = text.encode("utf-8", "replace")
    if len(found) > limits.LINE:
        raise StorageError(
            f"an episode of {len(found) >> 20} MB is too large for memory (limit: {limits.LINE >> 20} MB)"
        )
    return found


def header_line(
    about: Mapping[str, Any], next_ids: Mapping[str, int], created: float, generation: str | None = None
) -> bytes:
    """Return the first line of a journal.

    Args:
        about: What the owner of the journal says of it.
        next_ids: By table: the id of the next new document.
        created: Unix time, seconds.
        generation: Identifier of the contents; by default a new one.
    """
    return encode(json_bytes({
        "format": FORMAT, "schema": SCHEMA, "generation": generation or secrets.token_hex(8),
        "created": created, "next_ids": dict(next_ids), "about": dict(about),
    }))  # fmt: skip


def document_line(table: str, doc_id: int, document: Mapping[str, Any]) -> bytes:
    """Return the line that holds a document; raises as `json_bytes`."""
    if not limits.is_text(table, limits.NAME) or not limits.is_count(doc_id):
        raise BadFile("this cannot be stored: the number of a document or the name of its table is too large")
    return encode(json_bytes({"table": table, "put": {doc_id: document}}))


def documents_in(line: bytes) -> tuple[str, dict[int, Document]] | None:
    """Return the table and the documents of a line (without its newline); None if it is damaged or holds none."""
    payload = decode(line)
    return None if payload is None else parsed_documents(payload)


def parsed_documents(payload: bytes) -> tuple[str, dict[int, Document]] | None:
    """Return the table and the documents that a payload holds, by id; None if it holds none."""
    try:
        data = limits.parse_json(payload)
        table, put = data["table"], data["put"]
        documents = {int(doc_id): document for doc_id, document in put.items()}
    except (BadFile, ValueError, KeyError, TypeError, AttributeError):
        return None
    fits = all(limits.is_count(doc_id) and isinstance(one, dict) for doc_id, one in documents.items())
    return (table, documents) if fits and limits.is_text(table, limits.NAME) else None


def read_header(path: Path) -> dict[str, Any]:
    """Return the header of a journal; raises as `header_at_start`, and StorageError where it cannot be opened."""
    with FailingAs(StorageError, f"cannot read {path}"), os.fdopen(open_descriptor(path, os.O_NOFOLLOW), "rb") as file:
        start = file.read(limits.HEADER)
    return header_at_start(path, start)[0]


def header_at_start(path: Path, start: bytes) -> tuple[dict[str, Any], int]:
    """Return the header that a journal begins with, and the offset of the line after it.

    Args:
        path: The journal, for messages.
        start: Its first bytes.

    Raises:
        BadFile: It is no journal, its first line is damaged, or its schema is not one that this program reads.
    """
    line, newline, _ = start.partition(b"\n")
    header = parsed_header((newline and decode(line)) or b"null")
    if header is None:
        raise BadFile(
            f"{path} is no jitrl memory, or its first line is damaged; it is left as it is. "
            f"`{recovery(path)}` reads what can be found in it; move it away to begin a new memory"
        )
    check_schema(header, path)
    return header, len(line) + 1


def recovery(path: Path) -> str:
    """Return the command that reads what is left in a damaged journal."""
    return f"jitrl memory recover {shlex.quote(str(path))}"


def parsed_header(payload: bytes) -> dict[str, Any] | None:
    """Return the header that a payload holds, its fields in the form they should have; None if it holds none."""
    try:
        header = limits.parse_json(payload)
        limits.check_json(header, "a header")
    except BadFile:
        return None
    if not isinstance(header, dict) or header.get("format") != FORMAT or not limits.is_whole(header.get("schema")):
        return None
    generation = header.setdefault("generation", "")
    if not isinstance(generation, str) or not _GENERATION.fullmatch(generation):
        return None
    about, ids = header.setdefault("about", {}), header.setdefault("next_ids", {})
    if not isinstance(about, dict) or not isinstance(ids, dict):
        return None
    return header if all(limits.is_whole(number) and number > 0 for number in ids.values()) else None


def check_schema(header: Mapping[str, Any], path: Path) -> None:
    """Make sure that this program reads documents of a header's schema.

    Raises:
        BadFile: It is a newer one, or one that is no longer known.
    """
    version = header["schema"]
    if version > SCHEMA:
        raise BadFile(
            f"{path} was written by a newer jitrl (schema {version}, this one knows up to {SCHEMA}); "
            "it is left as it is. Update jitrl to use it"
        )
    if version < SCHEMA:
        raise BadFile(f"{path} has schema {version}, which this jitrl can no longer read")

"""Stores the index of a scope on disk, so that a large memory opens quickly. It can always be rebuilt from the journal.

It also says where the documents behind the index are in the journal. The file holds one framed line of JSON (names,
types and lengths of the arrays, and their CRC), then the bytes of the arrays. A file with any error in it is ignored.
Pickle is not used.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.disk import open_descriptor
from engine.errors import BadFile
from engine.memory.disk import files, frame
from engine.memory.disk.document import EPISODES, KEPT
from engine.memory.disk.frame import LineSpan, Position
from engine.memory.exact.entries import Entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "jitrl-snapshot"
VERSION = 2
_KINDS = frozenset({"<i4", "<i8", "<u2", "<u8", "<f8", "|u1", "|i1"})


def save(path: Path, entries: Entries, position: Position) -> None:
    """Write a snapshot, replacing the file atomically.

    Args:
        position: How far the index covers the journal.

    Raises:
        OSError: Writing failed.
    """
    meta, arrays = _packed(entries, position)
    parts = [np.ascontiguousarray(part) for part in arrays.values()]
    crc = 0
    for part in parts:
        crc = zlib.crc32(part.data.cast("B") if part.size else b"", crc)
    contents = [[name, part.dtype.str, len(part)] for name, part in zip(arrays, parts, strict=True)]
    head = {"format": FORMAT, "version": VERSION, "crc": crc, "arrays": contents, "meta": dict(meta)}
    line = frame.encode(frame.json_bytes(head))
    files.replace_file(
        path, (bytes(line), *(part.tobytes() for part in parts)), durable=False
    )  # not synced: `load` finds an incomplete file by its CRC


def load(path: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]] | None:
    """Return the metadata and the arrays of a snapshot; None if there is none or it is damaged."""
    try:
        fd = open_descriptor(path, os.O_NOFOLLOW)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        try:
            head = frame.parse_line(file.readline(1 << 22))
            if head["format"] != FORMAT or head["version"] != VERSION:
                return None
            body = np.fromfile(file, np.uint8)
            if zlib.crc32(body.data) != head["crc"]:
                return None
            arrays, at = {}, 0
            for name, kind, length in head["arrays"]:
                if kind not in _KINDS or length < 0:
                    return None
                size = np.dtype(kind).itemsize * length
                if at + size > len(body):
                    return None
                arrays[name] = np.frombuffer(body.data, kind, length, at)
                at += size
            return head["meta"], arrays
        except (BadFile, OSError, ValueError, KeyError, TypeError, OverflowError):
            return None


def _packed(entries: Entries, position: Position) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return the metadata and the arrays of a snapshot."""
    meta, arrays = entries.dump()
    places = [position.places[EPISODES][doc_id] for doc_id in entries.doc_ids]
    arrays["place_offset"] = np.array([place.offset for place in places], np.int64)
    arrays["place_length"] = np.array([place.length for place in places], np.int64)
    records = position.places.get(KEPT, {})
    arrays["kept_id"] = np.array(list(records), np.int64)
    arrays["kept_offset"] = np.array([place.offset for place in records.values()], np.int64)
    arrays["kept_length"] = np.array([place.length for place in records.values()], np.int64)
    head = {"entries": meta, "generation": position.generation, "offset": position.offset}
    return {**head, "next_ids": position.next_ids}, arrays


def unpack(entries: Entries, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> Position:
    """Fill an empty index from a snapshot, and return how far it covers the journal.

    Raises:
        KeyError, ValueError, TypeError: The snapshot does not fit. The index is half filled then.
    """
    entries.restore(meta["entries"], arrays)
    spans = zip(arrays["place_offset"].tolist(), arrays["place_length"].tolist(), strict=True)
    places = {doc_id: LineSpan(*span) for doc_id, span in zip(entries.doc_ids, spans, strict=True)}
    kept_ids, *kept_spans = (arrays[f"kept_{name}"].tolist() for name in ("id", "offset", "length"))
    records = {n: LineSpan(*span) for n, *span in zip(kept_ids, *kept_spans, strict=True)}
    next_ids = {table: int(number) for table, number in meta["next_ids"].items()}
    return Position(meta["generation"], int(meta["offset"]), {EPISODES: places, KEPT: records}, next_ids)

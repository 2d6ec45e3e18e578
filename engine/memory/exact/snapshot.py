"""Stores the index on disk, so that a large memory opens quickly. It can always be rebuilt from the journal.

The file holds one framed line of JSON (names, types and lengths of the arrays, and their CRC), then the bytes of the
arrays. A file with any error in it is ignored. Pickle is not used.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from engine import limits
from engine.disk import open_descriptor
from engine.errors import BadFile
from engine.memory.disk import files, frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

FORMAT = "jitrl-snapshot"
VERSION = 2
_KINDS = frozenset({"<i4", "<i8", "<u2", "<u8", "<f8", "|u1", "|i1"})


def save(path: Path, meta: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write a snapshot, replacing the file atomically.

    Raises:
        OSError: Writing failed.
    """
    parts = [np.ascontiguousarray(part) for part in arrays.values()]
    crc = 0
    for part in parts:
        crc = zlib.crc32(part.data.cast("B") if part.size else b"", crc)
    contents = [[name, part.dtype.str, len(part)] for name, part in zip(arrays, parts, strict=True)]
    head = {"format": FORMAT, "version": VERSION, "crc": crc, "arrays": contents, "meta": dict(meta)}
    line = frame.encode(json.dumps(head, separators=(",", ":")).encode())
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
            payload = frame.decode(file.readline(1 << 22).removesuffix(b"\n"))
            head = limits.parsed(payload or b"null")
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

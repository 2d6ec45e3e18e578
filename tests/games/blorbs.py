"""Makes Blorb files for tests: chunks in the order in which they are given."""

from __future__ import annotations

import struct

METADATA = (
    '<?xml version="1.0" encoding="UTF-8"?><ifindex xmlns="http://babel.ifarchive.org/protocol/iFiction/"><story>'
    "<bibliographic><title>{}</title><author>A</author></bibliographic></story></ifindex>"
)


def chunk(kind: bytes, data: bytes, size: int | None = None) -> bytes:
    """Return a chunk. Its size can be another than that of its data."""
    return kind + struct.pack(">I", len(data) if size is None else size) + data + b"\0" * (len(data) % 2)


def blorb(*chunks: bytes) -> bytes:
    """Return a Blorb file with these chunks."""
    body = b"IFRS" + b"".join(chunks)
    return b"FORM" + struct.pack(">I", len(body)) + body


def zblorb(story: bytes, title: str = "") -> bytes:
    """Return a Blorb file with a story, a picture before it, and a title after it."""
    index = chunk(b"RIdx", struct.pack(">I4sII", 1, b"Exec", 0, 24 + 8 + 12))
    about = [chunk(b"IFmd", METADATA.format(title).encode())] if title else []
    return blorb(index, chunk(b"PNG ", b"picture"), chunk(b"ZCOD", story), *about)

"""Encoding of one journal line with its checksums.

A line is `crc32 blake2b payload newline`. Both checksums have eight hexadecimal digits; single spaces separate the
parts. The payload is JSON without raw newlines. A line whose CRC is wrong is lost. The digest is there for earlier
versions of jitrl, which looked at it.
"""

from __future__ import annotations

import zlib
from hashlib import blake2b

PREFIX = 18
"""Bytes before the payload: both checksums and their spaces."""


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

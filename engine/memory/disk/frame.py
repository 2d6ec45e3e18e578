"""Encoding of one journal line with a checksum and a digest, and repair of single flipped bits.

A line is `crc32 blake2b payload newline`. Both checksums have eight hexadecimal digits; single spaces separate the
parts. The payload is JSON without raw newlines. Normal reading checks the CRC only. The CRC also locates a single
flipped bit, because every bit position has a different syndrome. The digest then confirms the repaired payload, so
that heavier damage is not mistaken for a flipped bit.
"""

from __future__ import annotations

import functools
import re
import zlib
from dataclasses import dataclass
from hashlib import blake2b

PREFIX = 18
"""Bytes before the payload: both checksums and their spaces."""

MENDABLE = 8 << 20
"""Longest damaged stretch, in bytes, that `mend` tries to repair."""

_START = re.compile(rb"[0-9a-f]{8} [0-9a-f]{8} \{\"")
# No payload contains such a prefix followed by `{"`: quotes inside JSON strings are escaped.


def encode(payload: bytes) -> bytes:
    """Return the line that holds `payload`, with its newline."""
    return b"%08x %s %s\n" % (zlib.crc32(payload), _digest(payload), payload)


def decode(line: bytes) -> bytes | None:
    """Return the payload of a line (without its newline), None if the line is damaged."""
    if len(line) <= PREFIX or line[8] != 0x20 or line[17] != 0x20:
        return None
    payload = line[PREFIX:]
    return payload if b"%08x" % zlib.crc32(payload) == line[:8] else None


def sound(line: bytes) -> bool:
    """Whether both checksums of a line (without its newline) match its payload."""
    payload = decode(line)
    return payload is not None and line[9:17] == _digest(payload)


@dataclass(frozen=True, slots=True)
class Mended:
    """A payload recovered from damaged bytes: `damaged[start:end]` is the line that was repaired to it."""

    start: int
    end: int
    payload: bytes


def mend(damaged: bytes) -> list[Mended]:
    """Recover payloads from a stretch of damaged bytes, in order; only those that a checksum confirms.

    It repairs single flipped bits, also those that turned a newline into another byte or another byte into a
    newline, and it finds undamaged lines within the stretch. A stretch of more than `MENDABLE` bytes gives nothing.
    """
    size = len(damaged)
    if size > MENDABLE:
        return []
    whole = _mend_one(damaged)
    if whole is not None:
        return [Mended(0, size, whole)]
    # The flipped bit may be in the newline between two lines; then each part may be undamaged.
    starts = [0, *(found.start() for found in _START.finditer(damaged) if found.start())]
    ends = [start - 1 for start in starts[1:]]
    found = []
    for start, stops in zip(starts, [*((end,) for end in ends), (size, size - 1)], strict=True):
        for end in stops:  # the last part may end with a damaged newline
            payload = _mend_one(damaged[start:end])
            if payload is not None:
                found.append(Mended(start, end, payload))
                break
    return found


def second_start(lines: bytes) -> int:
    """Return the offset of the second line in `lines`, found by its prefix alone, without newlines; -1 if none."""
    found = _START.search(lines, PREFIX)
    return found.start() if found else -1


def _digest(payload: bytes) -> bytes:
    return blake2b(payload, digest_size=4).hexdigest().encode()


def _mend_one(frame: bytes) -> bytes | None:
    if len(frame) <= PREFIX:
        return None
    payload, digest = frame[PREFIX:], frame[9:17]
    crc = zlib.crc32(payload)
    if b"%08x" % crc == frame[:8] or _digest(payload) == digest:
        return payload  # the flip is in the prefix
    try:
        syndrome = crc ^ int(frame[:8], 16)
    except ValueError:
        return None
    place = _locate(syndrome, len(payload))
    if place is None:
        return None
    index, bit = place
    mended = payload[:index] + bytes([payload[index] ^ (1 << bit)]) + payload[index + 1 :]
    return mended if _digest(mended) == digest else None


def _locate(syndrome: int, length: int) -> tuple[int, int] | None:
    """Return the (byte, bit) of the single flipped bit that changes the CRC of `length` bytes by `syndrome`.

    A flip of bit b in the last byte changes the CRC by table[1 << b]. Each byte after the flip advances this
    difference by one CRC step. The loop undoes these steps until it meets such a value.
    """
    table, by_top, single = _tables()
    difference = syndrome
    for index in range(length - 1, -1, -1):
        bit = single.get(difference)
        if bit is not None:
            return index, bit
        row = by_top[difference >> 24]
        difference = ((difference ^ table[row]) << 8 | row) & 0xFFFFFFFF
    return None


@functools.cache
def _tables() -> tuple[list[int], list[int], dict[int, int]]:
    """Return the table of CRC-32, the index of each row by its top byte, and the bit by the row it selects."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        table.append(value)
    by_top = [0] * 256
    for row, value in enumerate(table):
        by_top[value >> 24] = row
    return table, by_top, {table[1 << bit]: bit for bit in range(8)}

"""One line of a journal: checksum, digest, JSON; and how a flipped bit is found and mended.

A line is `crc32 blake2b payload newline`: eight hexadecimal digits each, separated by single spaces. The
payload is JSON without raw newlines. The CRC alone is read in daily use. It also locates a single flipped
bit (every position has a syndrome of its own); the digest then confirms the mended payload, so that heavier
damage is never taken for a small one.
"""

from __future__ import annotations

import functools
import re
import zlib
from dataclasses import dataclass
from hashlib import blake2b

PREFIX = 18
"""Bytes before the payload."""

MENDABLE = 8 << 20
"""Longest damaged stretch, in bytes, in which a flipped bit is looked for."""

_START = re.compile(rb"[0-9a-f]{8} [0-9a-f]{8} \{\"")
# A payload never holds `{"` after such a prefix by itself: quotes within JSON texts are escaped.


def encode(payload: bytes) -> bytes:
    """Return the line for `payload`, newline included."""
    return b"%08x %s %s\n" % (zlib.crc32(payload), _digest(payload), payload)


def decode(line: bytes) -> bytes | None:
    """Return the payload of a line (without its newline), None if the line is damaged."""
    if len(line) <= PREFIX or line[8] != 0x20 or line[17] != 0x20:
        return None
    payload = line[PREFIX:]
    return payload if b"%08x" % zlib.crc32(payload) == line[:8] else None


def sound(line: bytes) -> bool:
    """Whether a line is whole in all its parts, the digest included."""
    payload = decode(line)
    return payload is not None and line[9:17] == _digest(payload)


@dataclass(frozen=True, slots=True)
class Mended:
    """A payload got out of damage: `damaged[start:end]` is the part that mends to it alone."""

    start: int
    end: int
    payload: bytes


def mend(damaged: bytes) -> list[Mended]:
    """Return what can be had, beyond doubt, from a stretch of damaged bytes, in order.

    Found are: single flipped bits anywhere (also one that made or unmade a newline), and whole lines
    within the stretch.
    """
    size = len(damaged)
    if size > MENDABLE:
        return []
    whole = _mend_one(damaged)
    if whole is not None:
        return [Mended(0, size, whole)]
    # The newline between two lines may be what was flipped; each part may still be whole.
    starts = [0, *(found.start() for found in _START.finditer(damaged) if found.start())]
    ends = [start - 1 for start in starts[1:]]
    found = []
    for start, stops in zip(starts, [*((end,) for end in ends), (size, size - 1)], strict=True):
        for end in stops:  # the last part may end in a flipped newline
            payload = _mend_one(damaged[start:end])
            if payload is not None:
                found.append(Mended(start, end, payload))
                break
    return found


def second_start(lines: bytes) -> int:
    """Return where the second line within `lines` seems to begin, judged without newlines; -1 if nowhere."""
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
    """Return (byte, bit) of the single flip that changes the CRC of `length` bytes by `syndrome`.

    A flip of bit b in the last byte changes the CRC by table[1 << b], and every byte after the flip
    takes the difference one step on. So the step is undone until such a value shows up.
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
    """Return CRC-32's table, its row by the row's top byte, and the bit by the difference it makes."""
    table = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
        table.append(value)
    by_top = [0] * 256
    for row, value in enumerate(table):
        by_top[value >> 24] = row
    return table, by_top, {table[1 << bit]: bit for bit in range(8)}

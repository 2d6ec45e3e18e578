"""A line of a journal is found damaged, mended where that is beyond doubt, and never mended wrongly."""

from __future__ import annotations

import random

import pytest

from engine.memory.disk import frame

TEXTS = [
    b'{"table":"x","put":{"1":{"text":"JJ**\xc3\xa9 \\"{\\" and more"}}}',
    b'{"a":1}',
    b'{"J":"' + b"J*" * 40 + b'"}',
]


def read(content: bytes) -> list[bytes]:
    """Return what a reader gets from whole lines: good lines, and what stretches of bad ones mend to."""
    got, bad = [], []
    for line in content.split(b"\n")[:-1]:
        payload = frame.decode(line)
        if payload is None:
            bad.append(line)
            continue
        if bad:
            got += [part.payload for part in frame.mend(b"\n".join(bad))]
            bad = []
        got.append(payload)
    if bad:
        got += [part.payload for part in frame.mend(b"\n".join(bad))]
    return got


def test_every_single_flipped_bit_is_mended() -> None:
    content = b"".join(map(frame.encode, TEXTS))
    assert read(content) == TEXTS
    for place in range(8 * (len(content) - 1)):  # the last newline is the journal's to mend
        flipped = bytearray(content)
        flipped[place // 8] ^= 1 << place % 8
        assert read(bytes(flipped)) == TEXTS, place


def test_heavier_damage_is_never_taken_for_a_small_one() -> None:
    rng = random.Random(1)
    line = frame.encode(TEXTS[0])[:-1]
    for _ in range(5000):
        damaged = bytearray(line)
        for place in rng.sample(range(len(line)), rng.randrange(2, 6)):
            damaged[place] ^= rng.randrange(1, 256)
        assert [part.payload for part in frame.mend(bytes(damaged))] in ([], [TEXTS[0]])


@pytest.mark.parametrize("cut", range(len(frame.encode(TEXTS[0]))))
def test_a_torn_line_is_no_line(cut: int) -> None:
    torn = frame.encode(TEXTS[0])[:cut]
    assert frame.decode(torn) is None or torn == frame.encode(TEXTS[0])[:-1]


def test_a_mended_part_mends_by_itself() -> None:
    lines = bytearray(b"".join(map(frame.encode, TEXTS)))
    lines[len(frame.encode(TEXTS[0])) - 1] ^= 4  # the newline between the first two
    parts = frame.mend(bytes(lines))
    assert [part.payload for part in parts] == TEXTS
    for part in parts:
        assert [again.payload for again in frame.mend(bytes(lines[part.start : part.end]))] == [part.payload]


def test_a_long_damaged_line_takes_little_time() -> None:
    payload = b'{"a":"' + b"x" * 1_000_000 + b'"}'
    line = bytearray(frame.encode(payload)[:-1])
    line[30] ^= 1
    assert [part.payload for part in frame.mend(bytes(line))] == [payload]

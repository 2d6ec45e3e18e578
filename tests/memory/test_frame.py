"""A line of a journal comes back as it was written, or is found damaged."""

from __future__ import annotations

import random

from engine.memory.disk import frame

TEXT = b'{"table":"x","put":{"1":{"text":"JJ**\xc3\xa9 \\"{\\" and more"}}}'
LINE = frame.encode(TEXT)[:-1]


def test_damage_is_found() -> None:
    assert frame.decode(LINE) == TEXT
    for place in range(8 * len(LINE)):
        flipped = bytearray(LINE)
        flipped[place // 8] ^= 1 << place % 8
        in_digest = 8 < place // 8 < 17  # which is not looked at
        assert frame.decode(bytes(flipped)) == (TEXT if in_digest else None), place
    rng = random.Random(1)
    for _ in range(1000):
        damaged = bytearray(LINE)
        for place in rng.sample(range(18, len(LINE)), rng.randrange(2, 6)):
            damaged[place] ^= rng.randrange(1, 256)
        assert frame.decode(bytes(damaged)) is None


def test_a_torn_line_is_no_line() -> None:
    assert [cut for cut in range(len(LINE)) if frame.decode(LINE[:cut]) is not None] == []

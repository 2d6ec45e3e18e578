"""The save of a situation as bytes: interpreter, random generator, what was seen last."""

from __future__ import annotations

import json
import struct

from engine.codec import from_plain, to_plain
from engine.games.zmachine.machine import Snapshot
from engine.records import Observation

_HEAD = struct.Struct("<4s16siI")
_FORMAT = b"JZS2"


def pack(digest: str, turns: int, screens: int, last: Observation | None, situation: Snapshot) -> bytes:
    """Return a save of the story with this digest (hexadecimal).

    Args:
        digest: The story's digest.
        turns: Commands taken in this episode.
        screens: Steps in a row that ended on a screen that waits for a key.
        last: What was seen last.
        situation: The interpreter's situation.
    """
    seen = json.dumps({**to_plain(last), "screens": screens}).encode()
    return _HEAD.pack(_FORMAT, bytes.fromhex(digest), turns, len(seen)) + seen + situation.pack()


def unpack(saved: bytes, digest: str) -> tuple[int, int, Observation, Snapshot]:
    """Return turns, screens, what was seen last, and the situation.

    Raises:
        ValueError: The save is damaged, or belongs to another story.
    """
    try:
        mark, of, turns, size = _HEAD.unpack_from(saved)
    except struct.error:
        raise ValueError("this save is damaged") from None
    if mark != _FORMAT or of != bytes.fromhex(digest):
        raise ValueError("this save belongs to another story or version")
    seen = json.loads(saved[_HEAD.size : _HEAD.size + size])
    screens = seen.pop("screens", 0)  # earlier versions did not save it
    return turns, screens, from_plain(Observation, seen), Snapshot.unpack(saved[_HEAD.size + size :])

"""The first line of a journal: what it has to say, and how it is found where a bit of it is flipped."""

from __future__ import annotations

import re
from typing import Any

from engine import limits
from engine.errors import BadFile
from engine.memory.disk import frame

FORMAT = "jitrl-journal"
_GENERATION = re.compile("[0-9a-zA-Z]{0,64}")
"""Names of files are made of it."""


def parsed_header(payload: bytes) -> dict[str, Any] | None:
    """Return the header that a payload holds, its fields in the form they should have; None if it holds none."""
    try:
        header = limits.parsed(payload)
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


def header_payload(head: bytes) -> tuple[bytes | None, int]:
    """Return the payload of the first line, repaired if needed, and the offset of the next; None if there is none."""
    end = head.find(b"\n")
    if end >= 0 and (payload := frame.decode(head[:end])) is not None:
        return payload, end + 1
    if FORMAT.encode()[:6] not in head[:200] and FORMAT.encode()[-6:] not in head[:200]:
        return None, 0  # no journal: one flipped bit cannot hide both halves of the format's name
    second = frame.second_start(head)
    ends = [second - 1, end, head.find(b"\n", end + 1)]  # the bit flip removed the newline, or made an extra one
    for stop in ends:
        mended = frame.mend(head[:stop]) if stop > 0 else []
        if len(mended) == 1:
            return mended[0].payload, stop + 1
    return None, 0

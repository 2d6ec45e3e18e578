"""Reads facts about earlier sessions without decoding their decisions."""

from __future__ import annotations

import json
from pathlib import Path

_MARK = b'{"event":"EpisodeEnded"'


def has_begun(recording: Path) -> bool:
    """Return whether a recording has the start of its session, so that it can be resumed."""
    try:
        with recording.open("rb") as lines:
            return lines.readline().startswith(b'{"event":"SessionStarted"')
    except OSError:
        return False


def scores_of(recording: Path) -> tuple[float, ...]:
    """Return the final score of each episode in a recording; () if it cannot be read."""
    scores: list[float] = []
    try:
        with recording.open("rb") as lines:
            for line in lines:
                if line.startswith(_MARK):
                    scores.append(float(json.loads(line)["score"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return tuple(scores)

"""Earlier sessions, looked at without decoding their decisions."""

from __future__ import annotations

import json
from pathlib import Path

from engine.disk import open_binary

_MARK = b'{"event":"EpisodeEnded"'


def has_begun(recording: Path) -> bool:
    """Return whether a session got as far as its start, so that there is something to go on with."""
    try:
        with open_binary(recording) as lines:
            return lines.readline().startswith(b'{"event":"SessionStarted"')
    except OSError:
        return False


def scores_of(recording: Path) -> tuple[float, ...]:
    """Return the final score of each episode in a recording; () if it cannot be read."""
    scores: list[float] = []
    try:
        with open_binary(recording) as lines:
            for line in lines:
                if line.startswith(_MARK):
                    scores.append(float(json.loads(line)["score"]))
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return tuple(scores)

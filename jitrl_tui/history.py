"""Reads facts about earlier sessions without decoding their decisions."""

from __future__ import annotations

from pathlib import Path

from engine import limits
from engine.codec import event_from_line
from engine.disk import open_binary
from engine.errors import BadFile
from engine.records import EpisodeEnded

_MARK = b'{"event":"EpisodeEnded"'


def has_begun(recording: Path) -> bool:
    """Return whether a recording has the start of its session, so that it can be resumed."""
    try:
        with open_binary(recording) as lines:
            return lines.readline(1000).startswith(b'{"event":"SessionStarted"')
    except OSError:
        return False


def scores_of(recording: Path) -> tuple[float, ...]:
    """Return the final score of each episode in a recording; () if it cannot be read."""
    scores: list[float] = []
    try:
        with open_binary(recording) as lines:
            for line in iter(lambda: lines.readline(limits.LINE), b""):
                event = event_from_line(line)[1] if line.startswith(_MARK) else None
                if isinstance(event, EpisodeEnded):
                    scores.append(event.score)
    except (OSError, BadFile):
        return ()
    return tuple(scores)

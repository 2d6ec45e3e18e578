"""What the recording of a session says at a glance, for lists of sessions."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path

from engine import limits
from engine.codec import event_from_line
from engine.disk import open_binary
from engine.errors import BadFile
from engine.records import EpisodeEnded, Stepped

_MARK = b'{"event":"EpisodeEnded"'
_STEP = b'{"event":"Stepped"'
_END = 512 * 1024
"""Bytes at the end of a recording in which the last steps are looked for."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the recording of a session says at a glance.

    Attributes:
        scores: Final score of each finished episode, in their order.
        max_score: Highest score there is, None if it is not known or no episode was finished.
        begun: Whether the session has a step.
        changed: Unix time of the last change, 0 if there is no recording.
    """

    scores: tuple[float, ...] = ()
    max_score: float | None = None
    begun: bool = False
    changed: float = 0.0

    @property
    def last(self) -> float | None:
        """Score of the last finished episode."""
        return self.scores[-1] if self.scores else None

    @property
    def average(self) -> float | None:
        """Mean score of the finished episodes."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def best(self) -> float | None:
        """Best score of a finished episode."""
        return max(self.scores, default=None)


def facts(recording: Path) -> Facts:
    """Return the facts of a recording; those before the first damaged line if there is one."""
    scores: list[float] = []
    top: float | None = None
    begun, changed = False, 0.0
    try:
        changed = recording.stat().st_mtime
        with open_binary(recording) as lines:
            for line in iter(lambda: lines.readline(limits.LINE), b""):
                begun = begun or line.startswith(_STEP)
                event = event_from_line(line)[1] if line.startswith(_MARK) else None
                if isinstance(event, EpisodeEnded):
                    scores.append(event.score)
                    top = event.max_score
    except (OSError, BadFile):
        pass
    return Facts(tuple(scores), top, begun, changed)


def last_steps(recording: Path, count: int) -> list[Stepped]:
    """Return the last steps of a recording that can be read, at most so many."""
    steps: list[Stepped] = []
    try:
        with open_binary(recording) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _END))
            lines = file.read(_END).split(b"\n")
    except OSError:
        return []
    for line in reversed(lines):
        if len(steps) == count:
            break
        if line.startswith(_STEP):
            with contextlib.suppress(BadFile):
                event = event_from_line(line)[1]
                steps += [event] if isinstance(event, Stepped) else []
    return steps[::-1]

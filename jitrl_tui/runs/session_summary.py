"""What the recording of a session says at a glance, for lists of sessions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import limits
from engine.codec import event_from_line
from engine.disk import open_binary
from engine.errors import BadFile
from engine.records import SettingsChanged, Stepped

_MARK = b'{"event":"EpisodeEnded"'
_STEP = b'{"event":"Stepped"'
_CHANGE = b'{"event":"SettingsChanged"'
_BLOCK = 64 * 1024
"""Bytes that are read at a time."""
_END = 512 * 1024
"""Bytes at the end of a recording in which the last steps are looked for."""


class Scored:
    """What has final scores of episodes, in their order."""

    scores: Sequence[float]

    @property
    def average(self) -> float | None:
        """Mean score of the finished episodes, None before the first."""
        return sum(self.scores) / len(self.scores) if self.scores else None

    @property
    def best(self) -> float | None:
        """Best score of a finished episode, None before the first."""
        return max(self.scores, default=None)


@dataclass(frozen=True)
class SessionSummary(Scored):
    """What the recording of a session says at a glance.

    Attributes:
        scores: Final score of each finished episode, in their order.
        max_score: Highest score there is, None if it is not known or no episode was finished.
        begun: Whether the session has a step.
        changed: Unix time of the last change, 0 if there is no recording.
        read: Whether the scores were read.
    """

    scores: tuple[float, ...] = ()
    max_score: float | None = None
    begun: bool = False
    changed: float = 0.0
    read: bool = True

    @property
    def last(self) -> float | None:
        """Score of the last finished episode."""
        return self.scores[-1] if self.scores else None


def summary_of(recording: Path, *, scores: bool = True) -> SessionSummary:
    """Return the facts of a recording; those before the first damaged line if there is one.

    Args:
        scores: Whether the scores are read, for which the whole recording is searched.
    """
    found: list[float] = []
    top: float | None = None
    begun, changed = False, 0.0
    try:
        changed = recording.stat().st_mtime
        for lines in _blocks(recording):
            begun = begun or lines.startswith(_STEP) or b"\n" + _STEP in lines
            if begun and not scores:
                break
            for line in _beginning_with(_MARK, lines):
                event = limits.parse_json(line)
                score, most = event["score"], event["max_score"]
                if not limits.is_number(score) or not (most is None or limits.is_number(most)):
                    raise BadFile("an episode has no score")
                found.append(score)
                top = most
    except (OSError, BadFile, LookupError, TypeError):
        pass
    return SessionSummary(tuple(found), top, begun, changed, read=scores)


def _blocks(recording: Path) -> Iterator[bytes]:
    """Yield the whole lines of a recording, many at a time: most of them are not looked at one by one."""
    rest = b""
    with open_binary(recording) as file:
        while block := file.read(_BLOCK):
            end = block.rfind(b"\n") + 1
            if end:
                yield rest + block[:end]
                rest = block[end:]
            elif len(rest) < limits.LINE:
                rest += block
            else:
                return
    yield rest


def _beginning_with(mark: bytes, lines: bytes) -> Iterator[bytes]:
    """Yield the lines that begin with a mark."""
    at = 0 if lines.startswith(mark) else lines.find(b"\n" + mark) + 1
    while at or lines.startswith(mark):
        end = lines.find(b"\n", at)
        yield lines[at:end] if end >= 0 else lines[at:]
        at = lines.find(b"\n" + mark, end) + 1 if end >= 0 else 0
        if not at:
            return


def last_steps(recording: Path, count: int) -> list[Stepped | SettingsChanged]:
    """Return the last steps of a recording that can be read, at most so many, and the settings changed among them."""
    found: list[Stepped | SettingsChanged] = []
    try:
        with open_binary(recording) as file:
            end = file.seek(0, os.SEEK_END)
            file.seek(max(0, end - _END))
            lines = file.read(_END).split(b"\n")
    except OSError:
        return []
    for line in reversed(lines):
        if count <= 0:
            break
        if line.startswith((_STEP, _CHANGE)):
            with contextlib.suppress(BadFile):
                event = event_from_line(line)[1]
                found += [event] if isinstance(event, (Stepped, SettingsChanged)) else []
                count -= isinstance(event, Stepped)
    return found[::-1]

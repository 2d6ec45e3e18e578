"""The sign of life of a session that is being played: where it runs, what it does, and who holds it.

It is a small file in the session's folder that is there while the session is played and for as long as nobody cleans up
after one that was killed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine import limits
from engine.codec import from_plain, to_plain
from engine.disk import read_bytes, write_private
from engine.errors import BadFile
from engine.system import start_time
from engine.texts import clipped

FILE_NAME = "live.json"
BEAT_S = 2.0
"""Seconds between two signs of life of a session that does nothing new."""
LOST_S = 4 * BEAT_S
"""Seconds without a sign after which a session on another machine counts as gone."""
_LARGEST = 64 << 10
_TEXT = 1000


@dataclass(frozen=True, slots=True)
class CommandReply:
    """What a session said to a command.

    Attributes:
        id: Id of the command.
        accepted: Whether the session does it.
        message: What happens, or why it is refused, a sentence.
    """

    id: str
    accepted: bool
    message: str


@dataclass(frozen=True, slots=True)
class PlayedAt:
    """Where a session or a run is played.

    Attributes:
        host: Name of the machine.
        pid: Number of the process.
        born: When the process began, as the system counts it; 0 if that is not known. Another process that gets the
            same number later has another one.
    """

    host: str
    pid: int
    born: int = 0

    @classmethod
    def here(cls) -> PlayedAt:
        """Return the place of this process."""
        return cls(socket.gethostname()[:_TEXT], os.getpid(), _born(os.getpid()))

    def as_text(self) -> str:
        """Return it for people."""
        return f"{self.host}, process {self.pid}"

    def near(self) -> bool:
        """Whether it is this machine."""
        return self.host == socket.gethostname()[:_TEXT]

    def runs(self) -> bool:
        """Whether its process runs on this machine. Processes of other machines do not."""
        return self.near() and self.born > 0 and self.born == _born(self.pid)


@dataclass(frozen=True, slots=True)
class Presence:
    """The sign of life of a session.

    Attributes:
        place: Where it is played.
        at: Unix time of the sign, by the clock of that machine.
        steerable: Whether it takes commands.
        activity: "running", "thinking", "waiting" (for a model's server) or "paused".
        doing: The present work, or the reason for waiting, "" if there is nothing to say.
        seconds: Seconds until the next attempt of a model's server.
        left_s: Seconds of patience left for it.
        question: Number of the question about the decision that waits; 0 if none waits.
        asks: Whether the session asks about this decision.
        holder: Who holds the session, "" for nobody.
        replies: What it said to the latest commands, the newest last.
    """

    place: PlayedAt
    at: float
    steerable: bool = False
    activity: str = "running"
    doing: str = ""
    seconds: float = 0.0
    left_s: float = 0.0
    question: int = 0
    asks: bool = False
    holder: str = ""
    replies: tuple[CommandReply, ...] = ()

    def line(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(to_plain(self), ensure_ascii=False)


def from_line(data: bytes | str) -> Presence:
    """Return the sign of life in a text.

    Raises:
        BadFile: It is none.
    """
    found = from_plain(Presence, limits.parse_json(data))
    texts = (found.activity, found.holder, found.place.host, *(one.id for one in found.replies))
    if any(len(text) > _TEXT for text in texts) or len(found.replies) > 100:
        raise BadFile("a sign of life is longer than one is")
    return dataclasses.replace(found, doing=clipped(found.doing, _TEXT))


def write(folder: Path, presence: Presence) -> None:
    """Write the sign of life of the session in `folder`.

    Raises:
        OSError: It cannot be written.
    """
    write_private(folder / FILE_NAME, presence.line())


def read(folder: Path) -> Presence | None:
    """Return the sign of life of the session in `folder`; None if there is none, or none that can be read."""
    try:
        return from_line(read_bytes(folder / FILE_NAME, _LARGEST))
    except (OSError, BadFile):
        return None


def remove(folder: Path) -> None:
    """Remove the sign of life of the session in `folder`."""
    with contextlib.suppress(OSError):
        os.unlink(folder / FILE_NAME)


class Liveness:
    """Judges from its signs whether something is still being played.

    Clocks of machines differ, so the time in a sign is not compared with the time here. What counts is when a new sign
    was seen. The first one counts as new, unless it is of a process of this machine that does not run.

    Args:
        clock: Returns monotonic time in seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at: float | None = None
        self._seen = float("-inf")

    def lives(self, place: PlayedAt | None, at: float) -> bool:
        """Return whether it lives.

        Args:
            place: Where it is played, None if there is no sign.
            at: The time in its latest sign.
        """
        if place is None:
            return False
        if at != self._at and (self._at is not None or not place.near()):
            self._seen = self._clock()
        self._at = at
        return place.runs() or self._clock() - self._seen < LOST_S


def _born(pid: int) -> int:
    """Return when a process began, in as the system counts it; 0 if it does not run or that is not known."""
    return start_time(pid) or 0

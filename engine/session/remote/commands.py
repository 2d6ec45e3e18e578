"""The commands that reach a session from other processes, and the one door through which they come in.

They are lines in a file in the session's folder. The session makes the file when it begins, for its owner alone, and
reads what is appended. Whoever may write there may steer. Every line is checked before it is used.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import socket
import uuid
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

from engine import limits
from engine.codec import from_plain, to_plain
from engine.disk import Unreadable, printable, private_file
from engine.errors import BadFile, StorageError, UsageError
from engine.session.remote.lines import GrowingLines

FILE_NAME = "commands.jsonl"
HOLD, RENEW, STEP, OVERRULE, HAND_BACK, STOP = "hold", "renew", "step", "overrule", "hand back", "stop"
KINDS = (HOLD, RENEW, STEP, OVERRULE, HAND_BACK, STOP)
LONGEST = 8 << 10
"""Longest line in bytes."""
SHORTEST_LEASE_S, LONGEST_LEASE_S = 1.0, 3600.0
"""Range of the seconds for which a session waits for a sign of life of who holds it."""
_AT_ONCE = 64 << 10
"""Bytes that are read at one time, so that a file full of rubbish does not keep the session's process busy."""
_KNOWN = 256
"""Ids of commands that are remembered, so that none is obeyed twice."""
_NAME = 100
_ACTION = limits.NAME


@dataclass(frozen=True, slots=True)
class RemoteCommand:
    """One command.

    Attributes:
        kind: One of `KINDS`.
        by: Who gives it: user, machine and process.
        question: Number of the question that it answers (`Paused.question`), for `OVERRULE`.
        action: The action to take instead, for `OVERRULE`.
        go_on: Whether to hand the session back with it, for `OVERRULE`.
        lease_s: Seconds for which the session waits for the next sign of life of who holds it, for `HOLD` and `RENEW`.
        id: Unique id.
    """

    kind: str
    by: str
    question: int = 0
    action: str = ""
    go_on: bool = False
    lease_s: float = SHORTEST_LEASE_S
    id: str = field(default_factory=lambda: uuid.uuid4().hex)

    def line(self) -> str:
        """Return it as a line of JSON, with its end."""
        return json.dumps(to_plain(self), ensure_ascii=True) + "\n"


def who() -> str:
    """Return a name for this process, as the holder of a session: user, machine and process."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = "somebody"
    return f"{user[:40]}@{socket.gethostname()[:40]}, process {os.getpid()}"


def parse_command(line: bytes | str) -> RemoteCommand:
    """Return the command in a line.

    Raises:
        BadFile: It is none, or a part of it is out of range.
    """
    if len(line) > LONGEST:
        raise BadFile("a command is too long")
    found = from_plain(RemoteCommand, limits.parse_json(line))
    texts = ((found.by, _NAME), (found.action, _ACTION), (found.id, _NAME))
    if found.kind not in KINDS or not found.by or not found.id or not limits.is_count(found.question):
        raise BadFile("it is no command")
    if any(len(text) > most or not (text.isprintable() or not text) for text, most in texts):
        raise BadFile("a command has a text that is too long, or not printable")
    if not SHORTEST_LEASE_S <= found.lease_s <= LONGEST_LEASE_S:
        raise BadFile("the lease of a command is out of range")
    if found.kind == OVERRULE and not found.action.strip():
        raise BadFile("an action is missing")
    return found


class RemoteCommands:
    """The commands that come in for a session. Those from before it began are none.

    Args:
        folder: Folder of the session.

    Raises:
        OSError: The file cannot be made.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE_NAME
        before = os.stat(self._path).st_size if self._path.exists() else 0
        private_file(self._path)
        self._lines = GrowingLines(self._path, LONGEST, before)
        self._known: deque[str] = deque(maxlen=_KNOWN)

    def new(self) -> tuple[list[RemoteCommand], int]:
        """Return the new commands, and the number of lines that are none."""
        try:
            lines = self._lines.new(_AT_ONCE)
        except BadFile:
            return [], 1
        found, bad = [], 0
        for line in lines:
            try:
                command = parse_command(line)
            except BadFile:
                bad += 1
                continue
            if command.id not in self._known:
                self._known.append(command.id)
                found.append(command)
        return found, bad

    def close(self) -> None:
        """Remove the file: nobody reads it any more."""
        with contextlib.suppress(OSError):
            os.unlink(self._path)


def send(folder: Path, command: RemoteCommand) -> None:
    """Give a command to the session in `folder`.

    Raises:
        UsageError: The session takes no commands.
        StorageError: The file cannot be written; the sentence says why.
    """
    path = folder / FILE_NAME
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NOCTTY)
        try:
            data = command.line().encode()
            if os.write(fd, data) < len(data):
                raise OSError(28, "no space left")
        finally:
            os.close(fd)
    except FileNotFoundError:
        raise UsageError("this session takes no commands") from None
    except Unreadable as error:
        raise StorageError(f"{printable(path)} takes no commands: {error.strerror}") from None
    except OSError as error:
        raise StorageError(
            f"commands cannot be written to {printable(path)}: {error.strerror}; you only follow"
        ) from None

"""Writes the events of a session to a file and reads them, one JSON line per event.

A recording has all there is to know about a session. It can be played back without model or game, and an
unfinished episode is resumed by repeating its actions.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

from engine import limits
from engine.codec import event_from_line, event_to_line
from engine.disk import (
    found,
    lines_of,
    printable,
    private_file,
    read_bytes,
    take_lock,
    write_private,
)
from engine.errors import BadFile, FailingAs, StorageError, UsageError
from engine.records import (
    FORMAT,
    EpisodeEnded,
    Event,
    Paused,
    Resumed,
    SessionEnded,
    SessionStarted,
    SettingsChanged,
    Thinking,
    Waiting,
)
from engine.settings import settings_from

FILE_NAME = "events.jsonl"
PASSING = (Thinking, Waiting, Paused, Resumed)
"""Events that only matter while they happen, and are not recorded."""


class Recorder:
    """Appends events to a recording and keeps other processes from doing so.

    Args:
        path: The file; a torn last line, left by a crash, is cut off first.

    Raises:
        StorageError: It cannot be written.
        UsageError: Another process is recording to it.
    """

    def __init__(self, path: Path) -> None:
        with FailingAs(StorageError, f"cannot write the recording {printable(path)}"):
            private_file(path)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        try:
            if not take_lock(self._fd, path):
                raise UsageError(f"the session in {path.parent} is open in another window; close it there first")
        except BaseException:
            self.close()
            raise
        self._cut_torn_line()

    def write(self, event: Event, at: float) -> None:
        """Append one event; the start of a session and the end of an episode or session are fsynced.

        Raises:
            StorageError: The disk is full or the file system refused. Nothing torn is left behind.
            BadFile: The event is beyond `engine.limits`. Nothing was written.
        """
        if isinstance(event, PASSING):
            return
        # A name of a file may have bytes that are no text; JSON has an escape for each.
        line = event_to_line(event, at).encode("utf-8", "backslashreplace") + b"\n"
        before = os.fstat(self._fd).st_size
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            if isinstance(event, (SessionStarted, EpisodeEnded, SessionEnded)):
                os.fsync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):  # what stays is a torn line, which the next recorder cuts off
                os.ftruncate(self._fd, before)
            raise StorageError(f"the recording could not be written: {error.strerror}") from None

    def close(self) -> None:
        """Let go of the file; safe to call twice."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _cut_torn_line(self) -> None:
        size = end = os.fstat(self._fd).st_size
        while end > 0:
            start = max(0, end - 65536)
            cut = os.pread(self._fd, end - start, start).rfind(b"\n")
            if cut >= 0:
                end = start + cut + 1
                break
            end = start
        if end < size:
            os.ftruncate(self._fd, end)


class NotRepeatable(UsageError):
    """An episode cannot be continued, because its actions must not or cannot be repeated.

    Args:
        episode: Number of the episode in its session.
        steps: Number of its steps.
    """

    def __init__(self, episode: int, steps: int) -> None:
        super().__init__(
            f"episode {episode} was left after {steps} steps, and what it is played in cannot be put back to its "
            "start: taking them again would lead elsewhere, or send a site's forms a second time; begin a new session "
            "(what earlier episodes taught is kept)"
        )


def set_torn_apart(path: Path) -> None:
    """Take the unfinished episode out of a recording and keep it in a file beside it, `torn-N.jsonl`.

    Raises:
        StorageError: It cannot be written.
        BadFile: The recording cannot be read.
    """
    kept, torn = 0, b""
    with FailingAs(StorageError, f"cannot write in {printable(path.parent)}"):
        data = read_bytes(path, limit=os.stat(path).st_size + 1)
        at = 0
        for line in data.splitlines(keepends=True):
            at += len(line)
            if line.startswith((b'{"event":"SessionStarted"', b'{"event":"EpisodeEnded"')) and line.endswith(b"\n"):
                kept = at if kept == 0 or line.startswith(b'{"event":"EpisodeEnded"') else kept
        torn = data[kept:]
        number = len(list(path.parent.glob("torn-*.jsonl"))) + 1
        write_private(path.with_name(f"torn-{number}.jsonl"), torn)
        write_private(path, data[:kept])


def below(folder: Path) -> list[Path]:
    """Return the recordings in a folder and in those in it, sorted; none, if it is no folder.

    Raises:
        UsageError: There is too much in it.
    """
    with FailingAs(UsageError, f"cannot look for recordings in {printable(folder)}"):
        return found(folder, FILE_NAME) if folder.is_dir() else []


class EventReader:
    """Reads the lines of a recording, one after the other.

    Args:
        name: What the recording is called in messages.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._begun = False
        self._number = 0

    def read(self, line: bytes) -> tuple[float, Event | None]:
        """Return Unix time and event of the next line; None for a kind of event that this version does not know.

        Raises:
            BadFile: It is damaged, none of a recording, or of a newer version.
        """
        self._number += 1
        try:
            at, event = event_from_line(line)
            if isinstance(event, SettingsChanged):
                settings_from(event.settings)
        except (BadFile, UsageError) as error:
            why = f"line {self._number}: {error}"
            raise BadFile(f"{self._name} is not a recording of jitrl, or is damaged ({why})") from None
        if not self._begun and not isinstance(event, SessionStarted):
            raise BadFile(f"{self._name} is not a recording of jitrl: it does not begin with a session")
        if isinstance(event, SessionStarted) and event.format > FORMAT:
            raise BadFile(f"{self._name} was recorded by a newer jitrl (format {event.format}); update jitrl")
        self._begun = True
        return at, event


def read(path: Path) -> Iterator[tuple[float, Event]]:
    """Yield (Unix time, event) of a recording: a file, or the folder of a session.

    A torn last line is passed over: it is what a crash leaves.

    Raises:
        BadFile: It is no recording, or it is damaged; what was yielded before stands.
        UsageError: It is not there.
    """
    file = path / FILE_NAME if path.is_dir() else path
    reader = EventReader(str(file))
    try:
        for line in lines_of(file, limits.LINE):
            if not line.endswith(b"\n"):
                break
            at, event = reader.read(line)
            if event is not None:
                yield at, event
    except FileNotFoundError:
        raise UsageError(f"there is no recording at {printable(path)}") from None
    except OSError as error:
        raise BadFile(f"cannot read {printable(file)}: {error.strerror}") from None

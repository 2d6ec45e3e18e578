"""Notes that a person makes while a game is played or watched. They lie beside the recording, one JSON line each."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import open_binary, private_file, write_private
from engine.errors import BadFile, FailingAs, StorageError, UsageError

FILE_NAME = "notes.jsonl"
LONGEST = 2_000
"""Characters of a note."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note.

    Attributes:
        text: What was noted, on one line.
        episode: Episode in which it was made, 0 before the first.
        step: Number of steps that the episode had then.
        at: Unix time, seconds.
    """

    text: str
    episode: int = 0
    step: int = 0
    at: float = 0.0


class Notes:
    """The notes of one session. A note is on disk when `add` returns.

    Args:
        folder: The session's folder.
    """

    def __init__(self, folder: Path, clock: Callable[[], float] = time.time) -> None:
        self.path = folder / FILE_NAME
        self._clock = clock

    def add(self, text: str, episode: int = 0, step: int = 0) -> Note:
        """Keep a note.

        Raises:
            UsageError: It is empty or too long.
            StorageError: It cannot be written; nothing of it was.
        """
        text = " ".join(text.split())
        if not text or len(text) > LONGEST:
            raise UsageError(f"a note has 1 to {LONGEST:,} characters, for instance: /note the lamp is in the attic")
        note = Note(text, episode, step, round(self._clock(), 3))
        line = json.dumps(asdict(note)).encode() + b"\n"
        with FailingAs(StorageError, "the note could not be written"):
            private_file(self.path)
            fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
            try:
                size = os.fstat(fd).st_size
                # A line that a crash has torn ends here, so that it does not take this note with it.
                if size and os.pread(fd, 1, size - 1) != b"\n":
                    line = b"\n" + line
                if os.write(fd, line) < len(line):
                    os.ftruncate(fd, size)
                    raise OSError("no space left")
                os.fsync(fd)
            finally:
                os.close(fd)
        return note

    def all(self) -> list[Note]:
        """Return the notes, oldest first. Lines that are no notes are left out, as is a torn last line."""
        found: list[Note] = []
        try:
            with open_binary(self.path) as file:
                for line in iter(lambda: file.readline(limits.LINE), b""):
                    with contextlib.suppress(BadFile, ValueError):
                        note = _note(limits.parse_json(line))
                        if note is not None:
                            found.append(note)
        except OSError:
            return found
        return found


def copy(source: Path, target: Path, at: tuple[int, int] | None = None) -> None:
    """Copy the notes of a session's folder into another folder.

    Args:
        at: (episode, number of its steps); notes that were made later are left out. None for all.

    Raises:
        OSError: They cannot be copied.
    """
    notes = [note for note in Notes(source).all() if at is None or (note.episode, note.step) <= at]
    if notes:
        write_private(target / FILE_NAME, "".join(json.dumps(asdict(note)) + "\n" for note in notes))


def _note(data: Any) -> Note | None:
    """Return the note that a line of the file has, None if it has none."""
    if not isinstance(data, dict) or not {"text", "episode", "step", "at"} <= data.keys():
        return None
    text, episode, step, at = data["text"], data["episode"], data["step"], data["at"]
    good = limits.is_text(text, LONGEST) and limits.is_count(episode) and limits.is_count(step)
    return Note(text, episode, step, float(at)) if good and text and limits.is_number(at) else None

"""What a screen reads and writes beside a session: notes, typed commands, the recording, and the remembered map.

Only its owner may read the file of typed commands. Transcripts are written for the screen, plain lines and the command.
"""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.disk import private_file, private_folder, read_text, write_private
from engine.errors import JitrlError, UsageError
from engine.paths import slug
from engine.session import recording
from engine.session import store as sessions
from engine.session.notes import Notes
from engine.session.transcript import format_of, save, transcript, transcript_text
from jitrl_tui.runs.places import RememberedMap
from jitrl_tui.system.output import clean

if TYPE_CHECKING:
    from engine.session.store import SavedSession


MOST = 1_000
"""Lines that are kept of a game."""
_FOLDER = "typed"


class TypedHistory:
    """Typed lines, oldest first.

    A file that cannot be read or written is passed over: then the lines are only known until the program ends.

    Args:
        path: The file, one line each; None to keep them in this process only.
    """

    def __init__(self, path: Path | None = None) -> None:
        self.lines: list[str] = []
        self._path = path
        if path is None:
            return
        with contextlib.suppress(OSError, UnicodeDecodeError):
            self.lines = [line for line in read_text(path).splitlines() if line.strip()]
        if len(self.lines) > 2 * MOST:
            del self.lines[:-MOST]
            with contextlib.suppress(OSError):
                write_private(path, "".join(f"{line}\n" for line in self.lines))

    def add(self, line: str, *, keep: bool = True) -> None:
        """Add a line, unless it is empty or the same as the last one.

        Args:
            keep: Whether it is written to the file. What is typed into web pages, such as a password, is not.
        """
        line = " ".join(line.split())
        if not line or line == (self.lines[-1] if self.lines else ""):
            return
        self.lines.append(line)
        if self._path is None or not keep:
            return
        with contextlib.suppress(OSError):
            private_folder(self._path.parent)
            private_file(self._path)
            with open(self._path, "a", encoding="utf-8", errors="backslashreplace") as file:
                file.write(f"{line}\n")
                file.flush()
                os.fsync(file.fileno())


def history_of(saves: Path, game: str) -> TypedHistory:
    """Return what was typed in a game."""
    return TypedHistory(saves / _FOLDER / f"{slug(Path(game).name)}.txt")


@dataclass(frozen=True, slots=True)
class SessionFiles:
    """The files of one session, live or recorded.

    Attributes:
        recording: Its events.
        notes: Its notes.
        typed: What was typed in this game; a recording has none.
        remembered: The map that memory had before it; None for a recording that is not of a session.
    """

    recording: Path
    notes: Notes
    typed: TypedHistory
    remembered: RememberedMap | None = None

    @classmethod
    def of(cls, saved: SavedSession, saves: Path) -> SessionFiles:
        """Return the files of a session that is played."""
        typed = history_of(saves, saved.config.game)
        return cls(saved.recording, Notes(saved.folder), typed, RememberedMap(saves, saved))

    @classmethod
    def recorded(cls, path: Path) -> SessionFiles:
        """Return the files of a recording: a file or its folder."""
        folder = path if path.is_dir() else path.parent
        return cls(path, Notes(folder), TypedHistory(), _remembered(folder))


def _remembered(folder: Path) -> RememberedMap | None:
    """Return the map that the memory of a recorded session had before it, None without the session."""
    try:
        return RememberedMap(folder.parent.parent, sessions.load(folder))
    except (JitrlError, OSError):
        return None


THOUGHTS = "--thoughts"
"""What stands before the name of a file that tells the reason of each action, too."""


def text_of(events: Path, form: str, *, thoughts: bool = False) -> str:
    """Return the transcript of a recording as text that a terminal can show.

    Args:
        events: The recording; notes are read from the same folder.
        form: "txt", "md", "html" or "json".
        thoughts: Whether to tell the reason of each action.

    Raises:
        BadFile: The recording cannot be read.
        UsageError: There is no such format, or the session has not begun.
    """
    folder = events if events.is_dir() else events.parent
    made = transcript((event for _, event in recording.read(events)), Notes(folder).all())
    if not made.session:
        raise UsageError("nothing has been played yet, so there is no transcript")
    return clean(transcript_text(made, form, thoughts=thoughts))


def export(events: Path, target: Path, form: str | None = None, *, thoughts: bool = False) -> None:
    """Write the transcript of a recording to a file.

    Args:
        events: The recording.
        target: The file; one that exists is replaced.
        form: Its format, None for the one that its name ends with.
        thoughts: Whether to tell the reason of each action.

    Raises:
        BadFile: The recording cannot be read.
        UsageError: There is no such format.
        StorageError: The file cannot be written.
    """
    save(text_of(events, format_of(target, form), thoughts=thoughts), target)


def export_as(events: Path, typed: str) -> Path:
    """Write a transcript as a person asked for it, and return the file: `FILE`, or `--thoughts FILE`.

    Raises:
        JitrlError: As of `export`.
    """
    first, _, rest = typed.partition(" ")
    thoughts = first == THOUGHTS
    target = Path(rest.strip() if thoughts else typed).expanduser()
    export(events, target, thoughts=thoughts)
    return target

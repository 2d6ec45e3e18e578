"""Writes the transcript of a session to a file, for the screen, plain lines and the command."""

from __future__ import annotations

from pathlib import Path

from engine.errors import UsageError
from engine.session import recording
from engine.session.notes import Notes
from engine.session.transcript import format_of, save, transcript, written
from jitrl_tui.system.output import clean

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
    return clean(written(made, form, thoughts=thoughts))


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

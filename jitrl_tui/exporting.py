"""Writes the transcript of a session to a file, for the screen, plain lines and the command."""

from __future__ import annotations

from pathlib import Path

from engine.session import recording
from engine.session.notes import Notes
from engine.session.transcript import format_of, save, transcript, written
from jitrl_tui.output import clean


def text_of(events: Path, form: str) -> str:
    """Return the transcript of a recording as text that a terminal can show.

    Args:
        events: The recording; notes are read from the same folder.
        form: "txt", "md" or "json".

    Raises:
        BadFile: The recording cannot be read.
        UsageError: There is no such format.
    """
    folder = events if events.is_dir() else events.parent
    made = transcript((event for _, event in recording.read(events)), Notes(folder).all())
    return clean(written(made, form))


def export(events: Path, target: Path, form: str | None = None) -> None:
    """Write the transcript of a recording to a file.

    Args:
        events: The recording.
        target: The file; one that exists is replaced.
        form: Its format, None for the one that its name ends with.

    Raises:
        BadFile: The recording cannot be read.
        UsageError: There is no such format.
        StorageError: The file cannot be written.
    """
    save(text_of(events, format_of(target, form)), target)

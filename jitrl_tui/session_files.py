"""What a screen reads and writes beside a session: notes, typed commands, the recording, and the remembered map."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError
from engine.session import store as sessions
from engine.session.notes import Notes
from jitrl_tui.places import Remembered
from jitrl_tui.typed_history import TypedHistory, history_of

if TYPE_CHECKING:
    from engine.session.store import SavedSession


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
    remembered: Remembered | None = None

    @classmethod
    def of(cls, saved: SavedSession, saves: Path) -> SessionFiles:
        """Return the files of a session that is played."""
        typed = history_of(saves, saved.config.game)
        return cls(saved.recording, Notes(saved.folder), typed, Remembered(saves, saved))

    @classmethod
    def recorded(cls, path: Path) -> SessionFiles:
        """Return the files of a recording: a file or its folder."""
        folder = path if path.is_dir() else path.parent
        return cls(path, Notes(folder), TypedHistory(), _remembered(folder))


def _remembered(folder: Path) -> Remembered | None:
    """Return the map that the memory of a recorded session had before it, None without the session."""
    try:
        return Remembered(folder.parent.parent, sessions.load(folder))
    except (JitrlError, OSError):
        return None

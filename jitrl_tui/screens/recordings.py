"""Recordings that are opened over another screen: of the cells of a benchmark, and of remembered episodes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from textual.content import Content

from engine.session import recording
from engine.web.browser.pages import PageStore
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.dialogs import PickDialog
from jitrl_tui.screens.watch import WatchScreen


def recordings(folder: Path) -> list[Path]:
    """Return the folders of the sessions in a cell's folder that have a recording, the first session first."""
    return sorted(file.parent for file in folder.rglob(recording.FILE_NAME))


class RecordingScreen(WatchScreen):
    """The recording of a session. Leaving it goes back to the screen below.

    Args:
        folder: The session's folder.
        uid: The episode to go to, "" for the first one. It is shown paused.
    """

    def __init__(self, folder: Path, uid: str = "") -> None:
        source = ReplaySource(
            lambda: recording.read(folder), delay=1.0, paused=bool(uid), path=folder, from_episode=uid
        )
        super().__init__(source, pages=PageStore(folder), over=True)


def session_dialog(folders: Sequence[Path]) -> PickDialog:
    """Return a window that asks which session of a cell to open. Answers are numbers of folders, from 0."""
    rows = [(str(at), Content(f"{at + 1:>3}  {folder.name}")) for at, folder in enumerate(folders)]
    hint = "The sessions of this cell, in their order."
    return PickDialog("recording", hint, "a number or a word of a name", rows=rows)

"""The recording of the run on a watch screen, with the memory that it is played with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import JitrlError, UsageError
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.shown_run import ShownRun

if TYPE_CHECKING:
    from engine.memory.scope import Scope
    from engine.session.whatif import OpenRun


class Recorded:
    """Opens the recording and its memory when they are asked for.

    Args:
        run: The run.
        tell: Takes a sentence about what is missing.
    """

    def __init__(self, run: ShownRun, tell: Callable[[str], None]) -> None:
        self._run = run
        self._tell = tell
        self._open: OpenRun | None = None

    def opened(self) -> OpenRun | None:
        """Return the recording with its memory; None, with a sentence, if there is none."""
        try:
            return self.open()
        except (JitrlError, OSError) as error:
            self._tell(str(error))
            return None

    def open(self) -> OpenRun:
        """Return the recording with its memory.

        Raises:
            UsageError: The run is not on the disk.
        """
        from engine.session.whatif import OpenRun

        if self._open is None:
            where = self._run.place
            if where is None:
                raise UsageError("this run is not on the disk, so its memory cannot be looked into")
            folder, saves, live = where
            source = self._run.source
            path = source.path if isinstance(source, ReplaySource) and source.path is not None else folder
            self._open = OpenRun(path, saves, live=live)
        return self._open

    def scope(self) -> Scope | None:
        """Return the memory of the run; None, with a sentence, if it is not at hand."""
        opened, started = self.opened(), self._run.view.started
        if opened is None:
            return None
        try:
            if opened.memory is not None and started is not None:
                name = started.environment.scope
                if name in opened.memory.scopes():
                    return opened.memory.scope(name)
        except JitrlError as error:
            self._tell(str(error))
            return None
        self._tell("The memory of this run is not at hand.")
        return None

    def of_session(self, session: str) -> Path | None:
        """Return the folder of a session with its recording, None if there is none."""
        where = self._run.place
        if where is None or not session or "/" in session:
            return None
        folders = (where[0].parent / session, where[1] / "sessions" / session)
        return next((folder for folder in folders if (folder / "events.jsonl").is_file()), None)

    def close(self) -> None:
        """Close the memory; calling this twice is safe."""
        if self._open is not None:
            self._open.close()
            self._open = None

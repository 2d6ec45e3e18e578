"""Benchmarks that are shown: one that is being run, here or by another process, and one whose folder is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from engine.bench import folder as folders
from engine.bench.follower import FollowedRun, News, RunFolder, session_playing
from engine.bench.manifest import read_manifest
from engine.bench.progress import RunLimits
from engine.bench.reader import messages
from engine.bench.records import Cell, Message
from engine.bench.run_events import RunBegan, RunOver, is_played
from engine.session.remote.followed import FolderSession
from jitrl_tui.runs.follower import Reach
from jitrl_tui.runs.source import InThread

if TYPE_CHECKING:
    from engine.bench.runner import Runner

__all__ = ["BenchInfo", "BenchSource", "FollowedBench", "LiveBench", "RunOver", "StoredBench", "source_of"]

POLL_S = 0.5
"""Seconds between two looks at the folder of a run that is followed."""


@dataclass(frozen=True, slots=True)
class BenchInfo:
    """What is known of a benchmark before its first message.

    Attributes:
        name: Name of the run.
        title: Title of its suite, "" if it has none.
        cells: All cells, in the order of the plan.
        jobs: Number of cells that are played at the same time.
        limits: What it may cost.
        folder: The run's folder, None if recordings cannot be opened.
    """

    name: str
    title: str
    cells: Sequence[Cell]
    jobs: int = 1
    limits: RunLimits = field(default_factory=RunLimits)
    folder: Path | None = None


class BenchSource(InThread):
    """A benchmark that is shown: work that tells its messages."""

    def __init__(self, info: BenchInfo, saves: Path | None = None) -> None:
        super().__init__("bench", saves)
        self.info = info

    def failed(self) -> None:
        """Tell of the failure."""
        self.put(RunOver(self.failure))

    @property
    def sign(self) -> str:
        """What to say of it in place of how many cells are played, "" for that."""
        return ""

    def session(self, cell: str) -> Reach | None:
        """Return how the session of a cell is reached that is being played, None if there is none."""
        folder = self.info.folder
        found = session_playing(folders.cell_folder(folder, cell)) if folder is not None else None
        return Reach(partial(FolderSession, found), found) if found is not None else None

    def finish_running(self) -> None:
        """Begin no more cells, where they are played here. The run ends when those that are played have ended."""


class LiveBench(BenchSource):
    """A benchmark that is being run.

    Args:
        info: What is known of it.
        open_run: Makes the runner. Its argument is called with each message, by any thread. `open_run` should be
            fast; `run` does the rest in the thread.
        saves: Folder for the traceback of an unexpected exception.
    """

    live = True

    def __init__(
        self,
        info: BenchInfo,
        open_run: Callable[[Callable[[Message], None]], Runner],
        *,
        saves: Path | None = None,
    ) -> None:
        super().__init__(info, saves)
        self._runner = open_run(self.put)

    def finish_running(self) -> None:
        """Begin no more cells."""
        self._runner.finish_running()

    def stop(self) -> None:
        """Stop the cells after their present step."""
        self._runner.stop()

    def work(self) -> None:
        """Play the run."""
        self.exit_code = self._runner.run()
        self.put(RunOver(self._runner.stopped))


class StoredBench(BenchSource):
    """A benchmark that was run, read from its folder.

    Args:
        info: What is known of it. Its folder is read.
    """

    def __init__(self, info: BenchInfo) -> None:
        super().__init__(info)
        self._stopping = False

    @property
    def sign(self) -> str:
        """What to say of it until it is read."""
        return "… reading"

    def stop(self) -> None:
        """Read no further."""
        self._stopping = True

    def work(self) -> None:
        """Read the run."""
        assert self.info.folder is not None
        manifest = read_manifest(self.info.folder)
        for message in messages(self.info.folder, manifest, self.info.cells):
            if self._stopping:
                break
            self.put(message)
        self.put(RunOver(str(manifest.get("stopped", ""))))


class FollowedBench(BenchSource):
    """A benchmark that another process plays, or will play: its folder is read, and what is new there.

    Args:
        run: The run.
        ends: Whether to end with the run, or when its process is gone. Otherwise it may be resumed, and is
            followed further.

    Attributes:
        lives: Whether it is being played.
    """

    def __init__(self, run: FollowedRun, *, ends: bool = False) -> None:
        super().__init__(BenchInfo(run.name, run.title, run.cells, folder=run.files.folder))
        self.lives = False
        self._run_followed, self._ends = run, ends
        self._over = self._seen = False
        self._stopped = threading.Event()

    @property
    def sign(self) -> str:
        """How it is shown: where it is played, or that nobody plays it."""
        run = self._run_followed.run
        if run is None:
            return "◉ following: nobody plays it yet"
        where = run.place.as_text()
        return f"◉ following, read-only: {where}" if self.lives else f"■ its process is gone: {where}"

    def session(self, cell: str) -> Reach | None:
        """Return how the session of a cell is reached that is being played, None if there is none."""
        files = self._run_followed.files
        return super().session(cell) if files.folder is not None else Reach(partial(files.session, cell))

    def stop(self) -> None:
        """Follow no further."""
        self._stopped.set()

    def work(self) -> None:
        """Read what is there, then what comes."""
        run = self._run_followed
        try:
            while not self._stopped.is_set():
                news: list[News] = run.new()
                self.lives = run.lives()
                for item in news:
                    self._take(item)
                if self._ends and (self._over or (run.run is not None and not self.lives)):
                    return
                self._stopped.wait(0.0 if run.files.more else POLL_S)
        finally:
            run.files.close()

    def _take(self, item: News) -> None:
        if isinstance(item, RunBegan):
            before = self.info
            self.info = BenchInfo(before.name, before.title, before.cells, item.jobs, item.limits, before.folder)
        self._over = isinstance(item, RunOver)
        self.put(item)


def source_of(folder: Path) -> BenchSource:
    """Return the source of a run that is not played by this process. If another one plays it, it is followed.

    Args:
        folder: The run's folder.

    Raises:
        UsageError: Its suite cannot be played by this version.
        BadFile: Its manifest is damaged, or of a newer version.
    """
    if is_played(folder):
        return FollowedBench(FollowedRun(RunFolder(folder)))
    plan = folders.read_plan(folder)
    return StoredBench(BenchInfo(folder.name, plan.suite.title, plan.cells, folder=folder))

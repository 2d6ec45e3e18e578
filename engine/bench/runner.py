"""Plays a run: gives its cells to an executor, keeps to the limits, and writes down what became of them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from engine import limits, waits
from engine.bench import folder as folders
from engine.bench import rows
from engine.bench.executor import Executor
from engine.bench.manifest import FAILED, FINISHED, RUNNING, STOPPED, read_manifest, write_manifest
from engine.bench.progress import BenchProgress, RunLimits
from engine.bench.reader import messages_before
from engine.bench.records import (
    Began,
    Cell,
    Failed,
    Finished,
    Message,
    Said,
    Stopped,
)
from engine.bench.run_events import RunWriter
from engine.bench.worker import CellJob
from engine.disk import read_bytes
from engine.errors import BadFile

TRIES = 3
"""Number of times that a cell is begun whose worker dies without a word."""
PATIENCE_S = waits.WORKERS_END.seconds
"""Seconds that workers have to end after they were asked to stop. Then they are killed; what they played is kept."""
_WAIT_S = 0.2
_NOTE_S = 5
"""Seconds between notes in the manifest of what was spent so far."""


class Runner:
    """Plays the cells of a run that are not finished.

    `stop` and `finish_running` may be called by other threads and by signal handlers.

    Args:
        folder: Folder of the run.
        cells: All cells of the run, in the order of the plan.
        executor: Plays them.
        limits: What the run may cost. Dollars and tokens count from the beginning of the run, minutes from now.
        tell: Called with each message, by the thread that calls `run`.
        saves: The saves folder.

    Attributes:
        stopped: Why the run ended early, a sentence; "" if it did not.
    """

    def __init__(
        self,
        folder: Path,
        cells: Sequence[Cell],
        executor: Executor,
        limits: RunLimits,
        tell: Callable[[Message], None],
        saves: Path,
    ) -> None:
        self.stopped = ""
        self._folder = folder
        self._cells = {cell.name: cell for cell in cells}
        self._executor = executor
        self._limits = limits
        self._show = tell
        self._saves = saves
        self._progress = BenchProgress(cells)
        self._manifest: dict[str, Any] = {}
        self._tries: dict[str, int] = {}
        self._waiting: deque[str] = deque()
        self._running: set[str] = set()
        self._events = RunWriter(folder, limits)
        self._ending = self._interrupted = self._halt = False
        self._stopping_since: float | None = None
        self._spent_before: dict[str, Any] = {}
        self._began = self._noted = 0.0

    def finish_running(self) -> None:
        """Begin no more cells."""
        self.stopped = self.stopped or "stopped by request after the running cells"
        self._ending = self._interrupted = True

    def stop(self) -> None:
        """Stop all cells after their running step. What they played is kept."""
        self.stopped = self.stopped or "stopped by request"
        self._ending = self._interrupted = True
        self._halt = True

    def run(self) -> int:
        """Play until all cells are finished or the run is stopped.

        Returns:
            The exit code: 0 if all cells are finished, 130 if it was stopped on request, 1 otherwise.

        Raises:
            UsageError: Another process plays this run.
            StorageError: The folder cannot be written.
            BadFile: The manifest or the rows of a cell are damaged.
        """
        with folders.lock_run(self._folder):
            self._manifest = read_manifest(self._folder)
            self._manifest.update(self._executor.place)
            self._spent_before = dict(self._manifest["spent"])
            self._began = self._noted = time.monotonic()
            self._events.begin(max(1, self._executor.free), self._manifest)
            try:
                self._resume()
                self._loop()
            finally:
                self._executor.close()
                self._count_spent()
                self._manifest["stopped"] = self.stopped
                for name in self._running:
                    self._manifest["cells"][name]["state"] = STOPPED
                write_manifest(self._folder, self._manifest)
                folders.gather(self._folder, list(self._cells))
                self._events.close(self.stopped)
        if all(cell["state"] == FINISHED for cell in self._manifest["cells"].values()):
            return 0
        return 130 if self._interrupted else 1

    def _resume(self) -> None:
        """Tell of the cells that were finished before, and queue the others."""
        for name in self._cells:
            if folders.is_finished(self._folder, name):
                self._about(name, FINISHED)
                self._pass_on(Began(name))
                for message in messages_before(folders.cell_folder(self._folder, name)):
                    self._pass_on(message)
                self._pass_on(Finished(name))
            else:
                self._waiting.append(name)

    def _count_spent(self) -> None:
        """Note in the manifest what the run has spent so far."""
        usd, before = self._progress.usd, self._spent_before
        self._manifest["spent"] = {
            **before,
            "usd": None if usd is None else round(usd, 9),
            "tokens": self._progress.tokens,
            "minutes": round(before.get("minutes", 0.0) + (time.monotonic() - self._began) / 60, 3),
        }

    def _loop(self) -> None:
        while self._waiting or self._running:
            while self._waiting and self._executor.free > 0 and not self._ending:
                self._begin(self._waiting.popleft())
            if self._ending and not self._running:
                return
            for message in self._executor.messages(_WAIT_S):
                self._take(message)
            self._events.beat()
            self._keep_to_limits(time.monotonic() - self._began)
            self._press_on()
            if time.monotonic() - self._noted > _NOTE_S:  # for those who look at the run meanwhile
                self._noted = time.monotonic()
                self._count_spent()
                write_manifest(self._folder, self._manifest)

    def _begin(self, name: str) -> None:
        self._tries[name] = self._tries.get(name, 0) + 1
        self._running.add(name)
        self._about(name, RUNNING)
        place = folders.cell_folder(self._folder, name)
        self._executor.begin(CellJob(self._cells[name], str(place.absolute()), str(self._saves.absolute())))

    def _take(self, message: Message) -> None:
        """Take in what a worker told."""
        name = message.cell
        if isinstance(message, Failed) and message.lost and not self._ending and self._tries[name] < TRIES:
            self._running.discard(name)
            self._waiting.appendleft(name)
            self._pass_on(Said(name, f"{message.message}; it is resumed"))
            return
        self._pass_on(message)
        if isinstance(message, Began):
            self._manifest["cells"][name]["node"] = message.node
        elif isinstance(message, Finished):
            self._end(name, FINISHED)
        elif isinstance(message, Failed):
            self._end(name, FAILED, message.message)
            if message.everywhere:
                self._wind_down(message.message)
        elif isinstance(message, Stopped):
            self._end(name, STOPPED)

    def _end(self, name: str, state: str, error: str = "") -> None:
        self._running.discard(name)
        self._about(name, state, error)
        write_manifest(self._folder, self._manifest)

    def _about(self, name: str, state: str, error: str = "") -> None:
        """Note the state of a cell in the manifest; of a finished one also what it was played with."""
        about = self._manifest["cells"].setdefault(name, {})
        about.update(state=state, error=error)
        if state == FINISHED:
            path = folders.cell_folder(self._folder, name) / rows.ABOUT
            try:
                loaded = limits.parse_json(read_bytes(path))
            except (OSError, BadFile) as problem:
                raise BadFile(f"{path} cannot be read ({problem})") from None
            about.update({key: loaded[key] for key in rows.REPORTED_KEYS if key in loaded})

    def _keep_to_limits(self, elapsed: float) -> None:
        wanted = self._limits
        if wanted.usd is not None and self._progress.usd is None:
            self._wind_down(f"the limit of {wanted.usd:g} US dollars cannot be kept: a price is not known")
        elif wanted.usd is not None and (self._progress.usd or 0.0) > wanted.usd:
            self._wind_down(f"the limit of {wanted.usd:g} US dollars is reached")
        elif wanted.tokens is not None and self._progress.tokens >= wanted.tokens:
            self._wind_down(f"the limit of {wanted.tokens:,} tokens is reached")
        elif wanted.minutes is not None and elapsed >= wanted.minutes * 60:
            self._wind_down(f"the limit of {wanted.minutes:g} minutes is reached")

    def _wind_down(self, why: str) -> None:
        """End the run early, for a reason of its own."""
        self.stopped = self.stopped or why
        self._ending = self._halt = True

    def _press_on(self) -> None:
        """Ask running cells to stop, if that is due, and kill those that do not."""
        if not self._halt:
            return
        if self._stopping_since is None:
            self._stopping_since = time.monotonic()
            self._executor.stop()
        elif time.monotonic() - self._stopping_since > PATIENCE_S:
            self._executor.close()
            for name in sorted(self._running):
                self._pass_on(Stopped(name))
                self._end(name, STOPPED)

    def _pass_on(self, message: Message) -> None:
        self._progress.apply(message)
        self._events.note(message)
        self._show(message)

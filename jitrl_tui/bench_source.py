"""Benchmarks that are shown: one that is being run, and one whose folder is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.bench.manifest import read_manifest
from engine.bench.progress import Limits
from engine.bench.reading import messages
from engine.bench.records import Cell, Message
from jitrl_tui.source import Ending, InThread


@dataclass(frozen=True, slots=True)
class Over:
    """No more messages will come.

    Attributes:
        message: Why the run ended early, a sentence; "" if all cells were played.
    """

    message: str = ""


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
    limits: Limits = field(default_factory=Limits)
    folder: Path | None = None


class BenchSource(Ending, Protocol):
    """A benchmark that is shown."""

    info: BenchInfo

    def finish_running(self) -> None:
        """Begin no more cells. The run ends when those that are played have ended."""
        ...


class RunnableBench(Protocol):
    """The part of a benchmark's runner that a live source uses. Other threads call `finish_running` and `stop`."""

    stopped: str
    """Why the run ended early, a sentence; "" if it did not."""

    def run(self) -> int:
        """Play until the run ends, and return the exit code. This blocks."""
        ...

    def finish_running(self) -> None:
        """Begin no more cells."""
        ...

    def stop(self) -> None:
        """Stop all cells."""
        ...


class _Bench(InThread):
    """Work that tells the messages of a benchmark."""

    def __init__(self, info: BenchInfo, saves: Path | None = None) -> None:
        super().__init__("bench", saves)
        self.info = info

    def failed(self) -> None:
        """Tell of the failure."""
        self.put(Over(self.failure))


class LiveBench(_Bench):
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
        open_run: Callable[[Callable[[Message], None]], RunnableBench],
        *,
        saves: Path | None = None,
    ) -> None:
        super().__init__(info, saves)
        self._runner = open_run(self.put)

    def finish_running(self) -> None:
        """Begin no more cells."""
        self._runner.finish_running()

    def stop(self) -> None:
        """Stop all cells."""
        self._runner.stop()

    def work(self) -> None:
        """Play the run."""
        self.exit_code = self._runner.run()
        self.put(Over(self._runner.stopped))


class StoredBench(_Bench):
    """A benchmark that was run, read from its folder.

    Args:
        info: What is known of it. Its folder is read.
    """

    live = False

    def __init__(self, info: BenchInfo) -> None:
        super().__init__(info)
        self._stopping = False

    def finish_running(self) -> None:
        """Do nothing: no cell is being played."""

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
        self.put(Over(str(manifest.get("stopped", ""))))

"""Benchmarks that are shown: one that is being run, and one whose folder is read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from engine.bench.progress import Limits
from engine.bench.records import Cell, Message
from engine.errors import JitrlError
from jitrl_tui import bench_folder, crash
from jitrl_tui.source import Inbox


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


class BenchSource(Protocol):
    """A benchmark that is shown. Its commands do not block."""

    live: bool
    """Whether it is being run."""
    info: BenchInfo

    @property
    def exit_code(self) -> int:
        """Exit code for the command line."""
        ...

    @property
    def failure(self) -> str:
        """The error in a sentence, "" if there was none."""
        ...

    def start(self, inbox: Inbox) -> None:
        """Put all messages into `inbox`, and `Over` at the end."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait for the source's thread to end; return whether it has."""
        ...

    def finish_running(self) -> None:
        """Begin no more cells. The run ends when those that are played have ended."""
        ...

    def stop(self) -> None:
        """Stop all cells. What they played is kept."""
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


class _InThread:
    """A source whose work is done in a thread of its own."""

    def __init__(self, info: BenchInfo, saves: Path | None) -> None:
        self.info = info
        self.failure = ""
        self.exit_code = 0
        self._saves = saves
        self._inbox: Inbox | None = None
        self._thread: threading.Thread | None = None

    def start(self, inbox: Inbox) -> None:
        """Begin the work."""
        self._inbox = inbox
        self._thread = threading.Thread(target=self._run, name="bench", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the thread to end; return whether it has."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _work(self) -> str:
        """Put all messages into the inbox, and return why the run ended early."""
        raise NotImplementedError

    def _run(self) -> None:
        why = ""
        try:
            why = self._work()
        except JitrlError as error:
            self.failure, self.exit_code = str(error), error.exit_code
        except BaseException as error:  # the screen reports any exception
            sentence = f"Something went wrong that should not have ({crash.named(error)}). What was stored is intact."
            self.failure, self.exit_code = f"{sentence} {crash.written_down(error, self._saves)}", 1
        self._put(Over(self.failure or why))

    def _put(self, item: Message | Over) -> None:
        if self._inbox is not None:
            self._inbox.put(item)


class LiveBench(_InThread):
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
        self._runner = open_run(self._put)

    def finish_running(self) -> None:
        """Begin no more cells."""
        self._runner.finish_running()

    def stop(self) -> None:
        """Stop all cells."""
        self._runner.stop()

    def _work(self) -> str:
        self.exit_code = self._runner.run()
        return self._runner.stopped


class StoredBench(_InThread):
    """A benchmark that was run, read from its folder.

    Args:
        info: What is known of it. Its folder is read.
    """

    live = False

    def __init__(self, info: BenchInfo) -> None:
        super().__init__(info, None)
        self._stopping = False

    def finish_running(self) -> None:
        """Do nothing: no cell is being played."""

    def stop(self) -> None:
        """Read no further."""
        self._stopping = True

    def _work(self) -> str:
        assert self.info.folder is not None
        manifest = bench_folder.read_manifest(self.info.folder)
        for message in bench_folder.messages(self.info.folder, manifest, self.info.cells):
            if self._stopping:
                break
            self._put(message)
        return manifest.stopped

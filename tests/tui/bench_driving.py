"""A scripted benchmark, as a source of the bench screen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from engine.bench.records import Message
from jitrl_tui.runs.bench_source import BenchInfo, LiveBench


class ScriptedRun:
    """Tells messages at once, then waits to be stopped.

    Args:
        tell: Called with each message.
        messages: What is told.
        ends: Whether the run ends by itself after the last message.
        error: Raised after the last message.
    """

    def __init__(
        self, tell: Callable[[Message], None], messages: Iterable[Message], ends: bool, error: BaseException | None
    ) -> None:
        self._tell, self._messages, self._ends, self._error = tell, messages, ends, error
        self.stopped = ""
        self.told = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()
        self.finishing = False
        self._stop = threading.Event()

    def run(self) -> int:
        for message in self._messages:
            self._tell(message)
        self.told.set()
        if self._error is not None:
            raise self._error
        if self._ends:
            return 0
        self._stop.wait()
        self.may_end.wait(60)
        self.stopped = "it was stopped"
        return 130

    def finish_running(self) -> None:
        self.finishing = True

    def stop(self) -> None:
        self._stop.set()


class ScriptedBench(LiveBench):
    """A source on a `ScriptedRun`."""

    def __init__(
        self, info: BenchInfo, messages: Iterable[Message], *, ends: bool = False, error: BaseException | None = None
    ) -> None:
        super().__init__(info, lambda tell: ScriptedRun(tell, messages, ends, error))

    @property
    def run_(self) -> ScriptedRun:
        return self._runner

    @property
    def told(self) -> bool:
        return self._runner.told.is_set()

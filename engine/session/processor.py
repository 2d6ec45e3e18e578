"""Processor time of this process and of the processes that it started, for instance browsers and games."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

_TICK = os.sysconf("SC_CLK_TCK")


def processor_seconds() -> float:
    """Return the processor seconds so far. Processes that are on other machines, or were started by others, have none.

    Where the system does not list running children, only those that have ended are counted.
    """
    ended = sum(os.times()[2:4])
    return time.process_time() + ended + sum(_taken(child) for child in _children(os.getpid())) / _TICK


def _children(pid: int) -> Iterator[int]:
    """Yield the running children of a process, their children included."""
    with contextlib.suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children = [int(child) for child in file.read().split()]
            for child in children:
                yield child
                yield from _children(child)


def _taken(pid: int) -> int:
    """Return the ticks of a process and of those of its children that have ended."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return sum(map(int, fields[11:15]))
    return 0


class Stopwatch:
    """Counts processor seconds, except while it is paused."""

    def __init__(self) -> None:
        self._taken = 0.0
        self._since = processor_seconds()

    def lap(self) -> float:
        """Return what was taken since the last lap."""
        now = processor_seconds()
        taken, self._taken = self._taken + max(0.0, now - self._since), 0.0
        self._since = now
        return taken

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what is taken in the block: others have their turn."""
        self._taken = self.lap()
        try:
            yield
        finally:
            self._since = processor_seconds()

"""Waits until file descriptors are readable, and handles signals while something else waits."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Protocol


class _HasFileno(Protocol):
    def fileno(self) -> int: ...


def readable(source: int | _HasFileno, seconds: float) -> bool:
    """Return whether the source has data, or reaches its end, within `seconds`.

    Unlike `select.select`, this works with descriptors above 1023.
    """
    return bool(readable_of([source], seconds))


def readable_of(sources: Iterable[int | _HasFileno], seconds: float) -> list[int]:
    """Return the descriptors of the sources that have data, or reach their end, within `seconds`."""
    poll = select.poll()
    for source in sources:
        poll.register(source, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(1000.0 * max(0.0, seconds))]


@contextlib.contextmanager
def signals_in_threads(handlers: Mapping[signal.Signals, Callable[[], None]]) -> Iterator[None]:
    """Handle signals with these functions during the block, each time in a thread of its own.

    Python's own handlers run within the main thread. They must not take a lock, which that thread may hold, nor wake
    it, as it may be about to wait for just that. And they run only after what it waits for, if a signal comes in the
    moment in which it begins to wait. Call this in the main thread.
    """
    reader, writer = os.pipe()
    os.set_blocking(writer, False)

    def serve() -> None:
        while numbers := os.read(reader, 64):
            for number in filter(handlers.__contains__, numbers):
                threading.Thread(target=handlers[signal.Signals(number)], daemon=True).start()
        os.close(reader)

    threading.Thread(target=serve, name="signals", daemon=True).start()
    before = {number: signal.signal(number, lambda *_: None) for number in handlers}
    wakes = signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakes)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(writer)

"""Waits until file descriptors are readable. Unlike `select.select`, it works with descriptors above 1023."""

from __future__ import annotations

import select
from collections.abc import Iterable
from typing import Protocol


class _HasFileno(Protocol):
    def fileno(self) -> int: ...


def readable(source: int | _HasFileno, seconds: float) -> bool:
    """Return whether the source has data, or reaches its end, within `seconds`."""
    return bool(readable_of([source], seconds))


def readable_of(sources: Iterable[int | _HasFileno], seconds: float) -> list[int]:
    """Return the descriptors of the sources that have data, or reach their end, within `seconds`."""
    poll = select.poll()
    for source in sources:
        poll.register(source, select.POLLIN)
    return [descriptor for descriptor, _ in poll.poll(1000.0 * max(0.0, seconds))]

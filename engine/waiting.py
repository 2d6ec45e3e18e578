"""Waits until a file descriptor is readable. Unlike `select.select`, it works with descriptors above 1023."""

from __future__ import annotations

import select
from typing import Protocol


class _HasFileno(Protocol):
    def fileno(self) -> int: ...


def readable(source: int | _HasFileno, seconds: float) -> bool:
    """Return whether the source has data, or reaches its end, within `seconds`."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(1000.0 * max(0.0, seconds)))

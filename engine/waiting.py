"""Waiting for something to read, whatever its number: `select.select` fails beyond 1023 open files."""

from __future__ import annotations

import select
from typing import Protocol


class _HasFileno(Protocol):
    def fileno(self) -> int: ...


def readable(source: int | _HasFileno, seconds: float) -> bool:
    """Return whether there is something to read, or an end to be seen, within so many seconds."""
    poll = select.poll()
    poll.register(source, select.POLLIN)
    return bool(poll.poll(1000.0 * max(0.0, seconds)))

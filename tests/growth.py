"""How the time that something takes grows with what it is given, whatever else the machine does."""

from __future__ import annotations

import time
from collections.abc import Callable


def cost(work: Callable[[], object]) -> float:
    """Return the processor time that something takes."""
    start = time.process_time()
    work()
    return time.process_time() - start


def is_linear(work: Callable[[int], object], size: int) -> bool:
    """Whether the time grows with the size alone.

    Ten times the size may take forty times as long; were it quadratic, it would be a hundred times.
    """
    most = 40 * max(min(cost(lambda: work(size)) for _ in range(2)), 0.003)
    return any(cost(lambda: work(10 * size)) < most for _ in range(3))

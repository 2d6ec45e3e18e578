"""A rate limit that all processes with the same saves folder share."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

from engine import waits
from engine.disk import private_database

PACE = "pace.sqlite"
"""Name of the file in the folder of caches."""
Keeper = Callable[[str, float, float], float]
"""Does what `Pace.move` does, for the processes of several machines. Raises OSError if it cannot."""
_keeper: Keeper | None = None


def share(keeper: Keeper) -> None:
    """Let `keeper` assign the times of this process's calls, instead of the file of its machine."""
    global _keeper
    _keeper = keeper


class Pace:
    """Assigns times at which calls may start, `per_minute` for each name.

    Args:
        path: SQLite file shared by the processes; None to limit this process alone.
        per_minute: Calls per minute, 0 for no limit.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(self, path: Path | None, per_minute: float, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._gap = 60.0 / per_minute if per_minute > 0 else 0.0
        self._clock = clock
        self._lock = threading.Lock()
        self._slots: dict[str, tuple[float, float]] = {}
        """By name: the next free slot, and when it was assigned."""

    def reserve(self, name: str) -> float:
        """Reserve the next free slot and return the seconds until it."""
        return self.move(name, self._gap, 0.0)

    def hold(self, name: str, seconds: float) -> None:
        """Block all calls with this name for `seconds`, as the server asked."""
        self.move(name, 0.0, seconds)

    def move(self, name: str, gap: float, hold: float) -> float:
        """Reserve the next free slot and return the seconds until it.

        Args:
            name: Whose calls.
            gap: Seconds to the slot after it.
            hold: Seconds for which nobody may call from now on.
        """
        now = self._clock()
        with self._lock:
            with contextlib.suppress(sqlite3.Error, OSError):
                if self._path is not None:
                    if _keeper is not None:
                        return _keeper(name, gap, hold)
                    return self._move_shared(self._path, name, gap, hold, now)
            slot, following = _moved(self._slots.get(name), now, gap, hold)
            self._slots[name] = following, now
            return slot - now

    def _move_shared(self, path: Path, name: str, gap: float, hold: float, now: float) -> float:
        if gap == 0.0 and hold == 0.0 and not path.exists():
            return 0.0
        private_database(path)
        connection = sqlite3.connect(path, timeout=waits.SQLITE.seconds, isolation_level=None)
        try:
            connection.execute(
                "CREATE TABLE IF NOT EXISTS slots (name TEXT PRIMARY KEY, next REAL NOT NULL, at REAL NOT NULL)"
            )
            connection.execute("BEGIN IMMEDIATE")
            before = connection.execute("SELECT next, at FROM slots WHERE name = ?", (name,)).fetchone()
            slot, following = _moved(before, now, gap, hold)
            connection.execute("INSERT OR REPLACE INTO slots VALUES (?, ?, ?)", (name, following, now))
            connection.execute("COMMIT")
            return slot - now
        finally:
            connection.close()


def _moved(before: tuple[float, float] | None, now: float, gap: float, hold: float) -> tuple[float, float]:
    """Return the slot of a call, and the next free one after it.

    If the clock was set back since `before`, nobody waits longer than was left to wait then.
    """
    following, at = before or (now, now)
    slot = max(now, following - max(0.0, at - now))
    return slot, max(slot + gap, now + hold)

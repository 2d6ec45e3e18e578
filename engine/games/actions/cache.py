"""Caches the valid actions of each state, in memory and on disk, for all processes that play.

Losing the cache only costs time. So disk errors are ignored, and writes are not synced to disk.
"""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from engine.disk import private_database
from engine.games.actions.search import SCHEME

LIMIT = 400_000
"""States kept on disk. When there are more, the oldest tenth is deleted."""
_IN_MEMORY = 10_000
_WAIT_S = 0.5


class ActionCache:
    """The cache of one process.

    Args:
        folder: Folder of the cache file, None to cache in memory only.
        limit: Number of states kept on disk.
    """

    def __init__(self, folder: Path | None, *, limit: int = LIMIT) -> None:
        self._memory: dict[str, tuple[str, ...]] = {}
        self._limit = limit
        self._disk: sqlite3.Connection | None = None
        if folder is not None:
            self._disk = _open(folder / f"actions-{SCHEME}.sqlite")

    def get(self, key: str) -> tuple[str, ...] | None:
        """Return the cached actions of a state, None if there are none."""
        known = self._memory.get(key)
        if known is None and self._disk is not None:
            with contextlib.suppress(sqlite3.Error):
                row = self._disk.execute("SELECT found FROM actions WHERE world = ?", (key,)).fetchone()
                if row is not None:
                    known = tuple(row[0].split("\n")) if row[0] else ()
                    self._keep(key, known)
        return known

    def put(self, key: str, found: tuple[str, ...]) -> None:
        """Cache the actions of a state."""
        self._keep(key, found)
        if self._disk is not None:
            with contextlib.suppress(sqlite3.Error):
                self._disk.execute("INSERT OR REPLACE INTO actions VALUES (?, ?)", (key, "\n".join(found)))
                self._trim(self._disk)

    def _keep(self, key: str, found: tuple[str, ...]) -> None:
        if len(self._memory) >= _IN_MEMORY:
            self._memory.clear()
        self._memory[key] = found

    def close(self) -> None:
        """Close the file."""
        if self._disk is not None:
            with contextlib.suppress(sqlite3.Error):
                self._disk.close()
            self._disk = None

    def _trim(self, disk: sqlite3.Connection) -> None:
        # Row ids only grow, so their range is an upper bound of the count, and needs no scan of the table.
        lowest, highest = disk.execute("SELECT min(rowid), max(rowid) FROM actions").fetchone()
        if highest is not None and highest - lowest >= self._limit:
            disk.execute(
                "DELETE FROM actions WHERE rowid < ?", (highest - self._limit + max(1, self._limit // 10),)
            )


def _open(path: Path) -> sqlite3.Connection | None:
    """Open the file, or create it; a file that is not a database is replaced. None if that fails."""
    for attempt in range(2):
        disk = None
        try:
            private_database(path)
            disk = sqlite3.connect(path, timeout=_WAIT_S, isolation_level=None)
            disk.execute("PRAGMA journal_mode=WAL")
            disk.execute("PRAGMA synchronous=OFF")
            disk.execute("CREATE TABLE IF NOT EXISTS actions (world TEXT PRIMARY KEY, found TEXT) STRICT")
            return disk
        except (sqlite3.Error, OSError) as error:
            if disk is not None:
                disk.close()
            if attempt or not isinstance(error, sqlite3.DatabaseError) or "not a database" not in str(error):
                return None
            with contextlib.suppress(OSError):
                path.unlink()
    return None

"""Caches replies and scores on disk, so that repeated calls cost nothing and give the same result.

The cache is one SQLite file of limited size, shared by processes. If it is damaged, locked or full, calls are made
again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine import waits
from engine.disk import private_database

LIMIT = 200_000
"""Largest number of entries. Above it, the tenth that was written first is deleted."""


def digest(*parts: Any) -> str:
    """Return the cache key of plain JSON values; equal values give equal keys."""
    plain = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


class Cache:
    """Plain JSON values by key. All methods may be called from any thread and do not raise.

    Args:
        path: The file, created by the first write; None to cache nothing.
        limit: Largest number of entries.
        clock: Returns the time in seconds since the epoch.
    """

    def __init__(
        self, path: Path | None, *, limit: int = LIMIT, clock: Callable[[], float] = time.time
    ) -> None:
        self._path = path
        self._limit = limit
        self._clock = clock
        self._lock = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._broken = path is None

    def get(self, key: str) -> Any | None:
        """Return the value of a key, None if there is none."""
        with self._lock, self._guard():
            if (connection := self._open()) is not None:
                row = connection.execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
                return json.loads(row[0]) if row else None
        return None

    def put(self, key: str, value: Any) -> None:
        """Store a value. Errors of the disk are ignored."""
        text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
        with self._lock, self._guard():
            if (connection := self._open()) is not None:
                with connection:
                    cursor = connection.execute(
                        "INSERT OR REPLACE INTO replies (key, value, at) VALUES (?, ?, ?)",
                        (key, text, self._clock()),
                    )
                    if cursor.lastrowid and cursor.lastrowid % 1000 == 0:
                        self._trim(connection)

    def close(self) -> None:
        """Close the file; calling this twice is safe."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._broken = True

    @contextlib.contextmanager
    def _guard(self) -> Any:
        """Ignore errors of the cache; rename a damaged file so that a new one is made."""
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, OSError) as error:
            with contextlib.suppress(sqlite3.Error):
                if self._connection is not None:
                    self._connection.close()
            self._connection = None
            if isinstance(error, sqlite3.OperationalError) or self._path is None:
                return  # locked or full: the next access may succeed
            with contextlib.suppress(OSError):
                self._path.replace(self._path.with_suffix(".damaged"))

    def _open(self) -> sqlite3.Connection | None:
        if self._broken or self._path is None:
            return None
        if self._connection is None:
            private_database(self._path)
            connection = sqlite3.connect(self._path, timeout=waits.SQLITE.seconds, check_same_thread=False)
            # Losing the latest entries in a power cut is acceptable. WAL prevents a damaged file.
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS replies (key TEXT PRIMARY KEY, value TEXT NOT NULL, at REAL)"
            )
            self._connection = connection
        return self._connection

    def _trim(self, connection: sqlite3.Connection) -> None:
        (count,) = connection.execute("SELECT COUNT(*) FROM replies").fetchone()
        if count > self._limit:
            connection.execute(
                "DELETE FROM replies WHERE key IN (SELECT key FROM replies ORDER BY at LIMIT ?)",
                (count - self._limit + self._limit // 10,),
            )

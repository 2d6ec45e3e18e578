"""Replies and scores on disk: what was asked before costs nothing and is answered alike.

One SQLite file, shared by processes, bounded, and of no importance: if it is damaged, locked or full, a
call is simply made again.
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

LIMIT = 200_000
"""Most entries kept; above it the least recently written tenth goes."""


def digest(*parts: Any) -> str:
    """Return the key of plain values: equal values, equal key."""
    plain = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(plain.encode()).hexdigest()


class Cache:
    """Plain JSON values by key. All methods may be called from any thread; none raises.

    Args:
        path: The file, made when first written to; None keeps nothing.
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
        """Return the value, or None if there is none."""
        with self._lock, self._guard():
            if (connection := self._open()) is not None:
                row = connection.execute("SELECT value FROM replies WHERE key = ?", (key,)).fetchone()
                return json.loads(row[0]) if row else None
        return None

    def put(self, key: str, value: Any) -> None:
        """Keep `value`, at best."""
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
        """Close the file; safe to call twice."""
        with self._lock, contextlib.suppress(sqlite3.Error):
            if self._connection is not None:
                self._connection.close()
            self._connection = None
            self._broken = True

    @contextlib.contextmanager
    def _guard(self) -> Any:
        """Set a damaged file aside once; give up the cache, never the call."""
        try:
            yield
        except (sqlite3.DatabaseError, ValueError, OSError) as error:
            with contextlib.suppress(sqlite3.Error):
                if self._connection is not None:
                    self._connection.close()
            self._connection = None
            if isinstance(error, sqlite3.OperationalError) or self._path is None:
                return  # locked or full: the next call may fare better
            with contextlib.suppress(OSError):
                self._path.replace(self._path.with_suffix(".damaged"))

    def _open(self) -> sqlite3.Connection | None:
        if self._broken or self._path is None:
            return None
        if self._connection is None:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            connection = sqlite3.connect(self._path, timeout=2.0, check_same_thread=False)
            # Losing the last entries in a power cut is fine; a torn file is not, and WAL prevents that.
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

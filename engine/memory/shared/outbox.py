"""Writes of this machine that wait until the server takes them.

What waits lies in a journal of its own, so it survives a crash, and several processes may share it. Each row has a key,
and the server stores a key once. So a row may be sent again whenever it is not certain that it arrived.
"""

from __future__ import annotations

import base64
import math
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from engine.errors import BadFile, JitrlError, StorageError
from engine.memory.disk.database import JournalDB
from engine.memory.disk.journal import Journal
from engine.memory.shared.log import Log
from engine.memory.shared.rows import LogRow, Stored
from engine.memory.shared.server import ServerUnreachable, patiently
from engine.paths import ensure_folder
from engine.waits import DATABASE_WRITE

FILE = "waiting.jnl"
_TABLE = "waiting"

class Outbox:
    """Sends rows to the log, or keeps them on disk until they can be sent. Every method may be called from any thread.

    Args:
        folder: Its folder, made when something has to wait.
        log: The log.
        notice: Called with a sentence when rows begin to wait, and when they were sent.
        away: What is known of the server being away, "" if it is there.

    Attributes:
        followed: Whether somebody else looks for the server while it is away, and calls `deliver`.
    """

    def __init__(self, folder: Path, log: Log, notice: Callable[[str], None], away: str = "") -> None:
        self._folder = folder
        self._log = log
        self._notice = notice
        self._away = False
        self.followed = False
        if away:
            self._is_away(away)
        self._db: JournalDB | None = None

    def __len__(self) -> int:
        """Return how many writes wait."""
        db = self._opened()
        return 0 if db is None else len(db)

    def send(self, scope: str, rows: Sequence[LogRow]) -> Stored | None:
        """Store rows of a scope; return what became of them, None if they wait on disk.

        Raises:
            StorageError: The server refused them for good, or they cannot be written to the disk either.
        """
        if self._away and self.followed:
            self._keep(scope, rows)
            return None
        try:
            return patiently(partial(self._send, scope, rows), DATABASE_WRITE.seconds, self._may_try_again)
        except ServerUnreachable as error:
            self._keep(scope, rows)
            self._is_away(str(error))
            return None

    def deliver(self, within: float = math.inf) -> int:
        """Send what waits, the oldest first; return how many writes arrived.

        Args:
            within: Seconds for all of it.

        Raises:
            Away: The server is away; what was not sent goes on waiting.
        """
        until = time.monotonic() + within
        db = self._opened()
        sent: list[int] = []
        if db is not None and len(db):
            try:
                for doc_id in db.journal.ids(_TABLE):
                    if self._sent(db, doc_id, until - time.monotonic()):
                        sent.append(doc_id)
            finally:
                if sent:
                    db.change({_TABLE: dict.fromkeys(sent)})
        if self._away:
            self._notice(f"{self._log.server.where} is back; {len(sent)} waiting writes were sent")
        self._away = False
        return len(sent)

    def close(self) -> None:
        """Close the file; calling this twice is safe."""
        if self._db is not None:
            self._db.close()
        self._db = None

    # ------------------------------------------------------------------------------------- details

    def _send(self, scope: str, rows: Sequence[LogRow], within: float) -> Stored:
        """Send what waits, and then rows of a scope."""
        until = time.monotonic() + within
        if len(self):
            self.deliver(within)
        return self._log.append(scope, rows, until - time.monotonic())

    def _may_try_again(self) -> bool:
        return not (self._away or self._log.hurried)

    def _is_away(self, why: str) -> None:
        """Say so once."""
        if not self._away:
            self._notice(f"{why}. Reading goes on here; episodes wait in {self._folder} and are sent when it is back")
        self._away = True

    def _opened(self, *, make: bool = False) -> JournalDB | None:
        if self._db is None and (make or (self._folder / FILE).is_file()):
            journal = Journal(ensure_folder(self._folder) / FILE, about={"waiting": True}, notice=self._notice)
            self._db = JournalDB(journal, default_table=_TABLE)
        return self._db

    def _keep(self, scope: str, rows: Sequence[LogRow]) -> None:
        db = self._opened(make=True)
        assert db is not None
        db.insert({"scope": scope, "rows": [_plain(row) for row in rows]})

    def _sent(self, db: JournalDB, doc_id: int, within: float) -> bool:
        """Send one write; return whether it is done with."""
        try:
            waiting = db.get(doc_id=doc_id)
            if waiting is not None:
                self._log.append(str(waiting["scope"]), [_row(plain) for plain in waiting["rows"]], within)
            return True
        except ServerUnreachable:
            raise
        except StorageError as error:
            self._notice(f"an episode that waits in {self._folder} was refused: {error}")
        except (BadFile, KeyError, TypeError, ValueError) as error:
            reason = error if isinstance(error, JitrlError) else "it is damaged"
            self._notice(f"an episode that waits in {self._folder} cannot be sent: {reason}")
        return False


def _plain(row: LogRow) -> dict[str, Any]:
    return {
        "table": row.table,
        "key": None if row.key is None else row.key.hex(),
        "number": row.number,
        "steps": row.steps,
        "payload": base64.b64encode(row.payload).decode(),
    }


def _row(plain: dict[str, Any]) -> LogRow:
    key, number = plain["key"], plain["number"]
    return LogRow(
        str(plain["table"]),
        None if key is None else bytes.fromhex(key),
        None if number is None else int(number),
        None,
        int(plain["steps"]),
        base64.b64decode(plain["payload"], validate=True),
    )

"""The replica of one scope: a journal in the saves folder that follows the log on the server.

It is a usual journal, so everything that reads a journal reads it. Beside it lies a cursor: the generation and the
place in the log up to which it was fed. A replica that is damaged, foreign, or not of this log is made anew, so what is
appended to it is not synced to the disk. Whoever writes to the journal itself (to forget, undo, update, compact) takes
the lock of the scope on the server first; the server has the change before the replica has it.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import read_bytes
from engine.errors import BadFile, StorageError
from engine.memory.disk import files, frame
from engine.memory.disk.frame import Document
from engine.memory.disk.journal import Changes, Journal, Listener
from engine.memory.scope import LEARNT, SNAPSHOT
from engine.memory.shared.log import Log, Transaction
from engine.memory.shared.rows import Counters, Logged, Stored
from engine.memory.shared.server import ServerUnreachable

CURSOR = "cursor"
_CURSOR_SIZE = 300
"""Characters of a cursor. Each has the same length, so it can be written over the one before."""
_TRIES = 5
_MOST_GROWTH = 50
"""How much larger the rows of a scope may be on the disk than on the server. Episodes are 11 times as large."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a replica was fed.

    Attributes:
        generation: Of the scope on the server, "" for none.
        seq: Place of the last row.
        last: Key of the row there, "" if there is none. A copy of the database that went another way has another.
        journal: Generation of the journal file.
        size: Bytes of it.
    """

    generation: str = ""
    seq: int = 0
    last: str = ""
    journal: str = ""
    size: int = 0


class Replica(Journal):
    """A journal that follows a scope of the log. Every method may be called from any thread.

    Args:
        path: The journal file.
        listener: Receives every document.
        log: The log, on a connection of this thread's own.
        scope: Name of the scope.
        notice: Called with a sentence when something was recovered or left out.
        options: As of `Journal`.
    """

    def __init__(
        self, path: Path, listener: Listener, *, log: Log, scope: str,
        notice: Callable[[str], None] = lambda text: None, **options: Any,
    ) -> None:  # fmt: skip
        super().__init__(path, listener, notice=notice, durable=False, **options)
        self._log = log
        self._scope = scope
        self._local = 0
        self._turn: Transaction | None = None
        self._anew = threading.Lock()

    # ------------------------------------------------------------------------------------ following

    def open(self) -> None:
        """Read the replica. One that cannot be read is removed, and read from the server next."""
        try:
            with self._alone():
                super().open()
            sound = not self.damaged
        except BadFile:
            sound = False
        if not sound:
            for name in (self.path.name, SNAPSHOT, LEARNT, CURSOR):
                self.path.with_name(name).unlink(missing_ok=True)
            self.load()
        for left in self.path.parent.glob("anew-*.part"):
            if left.name != f"anew-{os.getpid()}.part":
                left.unlink(missing_ok=True)

    def check(self, log: Log) -> None:
        """Make sure that the replica was fed by this log, and not by a copy of it that went another way since."""
        cursor = self.cursor()
        if cursor.last and cursor.last != log.last_key(self._scope, cursor.seq):
            with self._held():
                self.path.with_name(CURSOR).unlink(missing_ok=True)

    def catch_up(self, log: Log | None = None) -> bool:
        """Take in what the log has that the replica has not; return whether there was anything.

        The server is asked before any lock is taken, so readers of the replica do not wait for it.

        Raises:
            Away: The server is away; the replica is as before.
        """
        log = log or self._log
        changed, anew = False, 0
        while True:
            before = self.cursor()
            news = log.news(self._scope, before.generation, before.seq)
            if news.generation != before.generation or news.seq < before.seq:
                self._read_anew(log, before)
                changed, anew = True, anew + 1
                if anew == _TRIES:
                    return changed
                continue  # somebody else may have read it anew, and earlier
            if news.seq == before.seq:
                return changed
            with self._held():
                now = self.cursor()
                if now.generation == news.generation:  # else somebody else has read it anew
                    self._apply([row for row in news.rows if row.seq > now.seq], now)
                    changed = True
                    if not news.rows or news.rows[-1].seq == news.seq:
                        return changed

    def take_in(self, stored: Stored) -> bool:
        """Take in rows that this process has just stored, without reading them back.

        Returns:
            Whether they were the next ones. If not, nothing was done, and `catch_up` reads what came before them, too.
        """
        rows = [row for row in stored.rows if row is not None]
        with self._held():
            now = self.cursor()
            are_next = bool(rows) and (rows[0].seq, stored.generation) == (now.seq + 1, now.generation)
            if are_next:
                self._apply(rows, now)
        return are_next

    def cursor(self) -> Cursor:
        """Return how far the replica was fed; nowhere, if what lies there is not what was fed."""
        cursor = self._read_cursor() or self._read_cursor() or Cursor()  # again, if it was just being written
        with self.lock:
            self.refresh()
            position = self.position
        fits = cursor.journal == position.generation and cursor.size <= position.offset
        return cursor if fits and not self.damaged else Cursor()

    # -------------------------------------------------------------------------------------- writing

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the scope's lock on the server and that of the replica, after taking in everything. Reentrant.

        Raises:
            Away: The server is away.
        """
        for _ in range(_TRIES):
            with self.lock:
                if self._local or self._turn is not None:
                    with super().writing():
                        yield
                    return
            self.catch_up()
            with self.lock, self._log.turn(self._scope) as turn:
                if turn.counters.generation != self.cursor().generation:
                    continue  # it was written anew since
                self.catch_up()
                self._turn = turn
                try:
                    with super().writing():
                        yield
                finally:
                    self._turn = None
                return
        raise ServerUnreachable(f"{self._scope} is being written anew all the time by others; nothing was changed")

    def append(self, table: str, documents: Mapping[int, Document]) -> None:
        """Add documents to a table; on return the server has them."""
        if self._local:
            super().append(table, documents)
            return
        with self.writing():
            turn = self._my_turn()
            turn.add(table, documents)
            turn.commit()
            with self._alone():
                super().append(table, documents)
            self._move(turn.counters)

    def rewrite(self, changes: Changes) -> None:
        """Change documents on the server, then in the replica. If `changes` is empty, the replica is written anew."""
        with self.writing():
            turn = self._my_turn()
            if any(changes.values()):
                turn.change(changes)
                turn.commit()
            with self._alone():
                super().rewrite(changes)
            self._move(turn.counters)

    # ------------------------------------------------------------------------------------- details

    def _my_turn(self) -> Transaction:
        turn = self._turn
        if turn is None or turn.done:
            raise StorageError(f"{self._scope} can be changed once at a time; nothing of this change was stored")
        return turn

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Write to the replica only, inside."""
        with self.lock:
            self._local += 1
            try:
                yield
            finally:
                self._local -= 1

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Hold the lock of the replica only."""
        with self._alone(), super().writing():
            yield

    def _apply(self, rows: Sequence[Logged], cursor: Cursor) -> None:
        """Append rows to the replica, and move the cursor behind them."""
        if not rows:
            return
        for table, some in groupby(rows, key=lambda row: row.table):
            known = self.position.places.get(table, {})
            found = [(row.doc, _document(row, self.tell)) for row in some if row.doc not in known]
            put = {doc: document for doc, document in found if document is not None}
            if put:
                super().append(table, put)
        self._write_cursor(dataclasses.replace(cursor, seq=rows[-1].seq, last=(rows[-1].key or b"").hex()))

    def _read_anew(self, log: Log, before: Cursor) -> None:
        """Replace the replica by all that the server has. One process of this machine does it, the others wait."""
        with self._anew, self._writing, contextlib.ExitStack() as held:
            with contextlib.suppress(StorageError):  # whoever has it takes long: then both do it
                held.enter_context(files.locked(self.path.with_name("anew.lock")))
            if self.cursor() == before:
                self._replace_all(log)

    def _replace_all(self, log: Log) -> None:
        partial = self.path.with_name(f"anew-{os.getpid()}.part")
        try:
            with log.all_of(self._scope) as (counters, rows), files.new_file(partial, replace=True) as fd:
                last = write_journal(fd, self._scope, counters, rows, self.tell)
            with self._held():
                for name in (CURSOR, SNAPSHOT, LEARNT):
                    self.path.with_name(name).unlink(missing_ok=True)
                if counters.generation:
                    os.replace(partial, self.path)
                else:
                    self.path.unlink(missing_ok=True)
                self.load()
                self._write_cursor(Cursor(counters.generation, counters.seq, last))
        finally:
            partial.unlink(missing_ok=True)

    def _read_cursor(self) -> Cursor | None:
        try:
            line = read_bytes(self.path.with_name(CURSOR), 4096)
            return Cursor(**json.loads(frame.decode(line.removesuffix(b"\n")) or b""))
        except (OSError, ValueError, TypeError):
            return None

    def _move(self, counters: Counters) -> None:
        """Move the cursor behind what this process wrote itself."""
        self._write_cursor(Cursor(counters.generation, counters.seq))

    def _write_cursor(self, cursor: Cursor) -> None:
        position = self.position
        cursor = dataclasses.replace(cursor, journal=position.generation, size=position.offset)
        line = frame.encode(json.dumps(dataclasses.asdict(cursor)).ljust(_CURSOR_SIZE).encode())
        with self._writing, files.new_file(self.path.with_name(CURSOR), over=True) as fd:
            files.write_all(fd, line)


def write_journal(
    fd: int, scope: str, counters: Counters, rows: Iterator[Logged], tell: Callable[[str], None]
) -> str:
    """Write a journal with all rows of a scope; return the key of the last row of the log, "" if it has none.

    Args:
        fd: Descriptor of an empty file.
        scope: Name of the scope.
        counters: Its counters.
        rows: Its rows, table by table.
        tell: Called with a sentence for each damaged row; it is left out.
    """
    latest = (0, b"")
    header = counters.header
    about = {"scope": scope, **header.get("about", {})}
    about |= {"next_entry": counters.next_entry, "next_number": counters.next_number}

    def lines() -> Iterator[bytes]:
        nonlocal latest
        yield frame.header_line(about, counters.next_ids, header.get("created", round(time.time(), 3)))
        room = limits.LINE
        for row in rows:
            latest = max(latest, (row.seq, row.key or b""))
            document = _document(row, tell)
            if document is not None:
                line = frame.document_line(row.table, row.doc, document)
                room += _MOST_GROWTH * len(row.payload or b"") - len(line)
                if room < 0:
                    raise BadFile(f"the rows of {scope} up to row {row.seq} take more of the disk than can be right")
                yield line

    files.write_lines(fd, lines())
    return latest[1].hex() if latest[0] == counters.seq else ""


def _document(row: Logged, tell: Callable[[str], None]) -> Document | None:
    try:
        return row.document()
    except BadFile as error:
        tell(f"{error}; it was left out")
        return None

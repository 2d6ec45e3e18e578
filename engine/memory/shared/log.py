"""The ordered log of a shared memory: one row for each document, in the order in which they were stored.

Each scope has a row of counters, which a writer locks: so numbers have no holes, and the order of `seq` is the order
of the commits. A reader that asks for what came after its last `seq` therefore misses nothing. What was changed or
removed gives the scope another generation; readers then read all of it anew.
"""

from __future__ import annotations

import contextlib
import json
import math
import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from engine import limits
from engine.errors import BadFile, StorageError, UsageError
from engine.memory.shared.rows import COLUMNS, Counters, Logged, LogRow, Stored, old_row, read_counters
from engine.memory.shared.server import DatabaseServer, ServerUnreachable, SharedConnection

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

    from engine.memory.disk.frame import Document
    from engine.memory.disk.journal import Changes

CHANNEL = "jitrl"
"""Name of the channel of NOTIFY. A message is the id of the scope that has something new. It is a hint only."""
_LOCKED = " FOR UPDATE"
BATCH = 32
"""Rows that are read at once: a reader holds the lock of its replica while it takes them in."""
_AT_ONCE = 200
"""Rows that are fetched at once where all of a scope are read; fewer, if one of them is large."""
_COLUMNS = (
    f"seq, left(tbl, {limits.NAME + 1}) AS tbl, doc, substr(key, 1, 64) AS key, number, first, "
    f"CASE WHEN octet_length(payload) <= {limits.LINE} THEN payload END AS payload"
)
_INSERT = (
    "INSERT INTO jitrl.log (scope, seq, tbl, doc, key, number, first, steps, payload) "
    "VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
)
_REPLACE = (
    " ON CONFLICT (scope, tbl, doc) DO UPDATE SET key = EXCLUDED.key, number = EXCLUDED.number, "
    "first = EXCLUDED.first, steps = EXCLUDED.steps, payload = EXCLUDED.payload"
)


@dataclass(frozen=True, slots=True)
class News:
    """What a scope has after some place: its generation, the place of its last row, and the first new rows."""

    id: int
    generation: str
    seq: int
    rows: tuple[Logged, ...]


class Transaction:
    """A transaction that holds the lock of a scope; nobody else writes to it meanwhile.

    Attributes:
        counters: Those of the scope.
        done: Whether it was committed.
    """

    def __init__(self, log: Log, connection: Connection[Any], scope: str, counters: Counters) -> None:
        self.counters = counters
        self.done = False
        self._log = log
        self._connection = connection
        self._scope = scope

    def add(self, table: str, documents: Mapping[int, Document]) -> None:
        """Add documents of a table under given ids."""
        self._begin()
        for doc_id, document in documents.items():
            self._put(table, doc_id, document, "")

    def change(self, changes: Changes) -> None:
        """Replace, add or remove (None) documents, and give the scope another generation."""
        self._begin()
        counters = self.counters
        for table, documents in changes.items():
            gone = [doc_id for doc_id, document in documents.items() if document is None]
            self._connection.execute(
                "DELETE FROM jitrl.log WHERE scope = %s AND tbl = %s AND doc = ANY(%s)", [counters.id, table, gone]
            )
            for doc_id, document in documents.items():
                if document is not None:
                    self._put(table, doc_id, document, _REPLACE)
        counters.generation = secrets.token_hex(8)

    def commit(self) -> None:
        """Make it count, and let go of the lock."""
        self._log.finish(self._connection, self.counters)
        self._connection.execute("COMMIT")
        self.done = True

    def _begin(self) -> None:
        """Make the scope if it is not there yet."""
        if not self.counters.id:
            self.counters = self._log.created(self._connection, self._scope, {})

    def _put(self, table: str, doc_id: int, document: Document, otherwise: str) -> None:
        row, counters = old_row(table, document), self.counters
        counters.seq += 1
        counters.count(table, doc_id, row.number, row.first, row.steps)
        columns = (counters.id, counters.seq, table, doc_id, row.key, row.number, row.first, row.steps, row.payload)
        self._connection.execute(_INSERT + otherwise, columns)


class Log:
    """The log of one space of a server. Every method may be called from any thread.

    Args:
        server: The server.
        line: The connection that is used.
    """

    def __init__(self, server: DatabaseServer, line: SharedConnection) -> None:
        self.server = server
        self._line = line

    @property
    def hurried(self) -> bool:
        """Whether nobody has time to try again."""
        return self._line.longest < math.inf

    def scopes(self) -> list[tuple[str, str | None]]:
        """Return the names of the space's scopes, sorted, each with what is wrong with it, None for nothing."""
        query = f"SELECT left(name, {limits.NAME + 1}), {COLUMNS} FROM jitrl.scopes WHERE space = %s ORDER BY name"
        with self._line.use() as connection:
            rows = connection.execute(query, [self.server.space]).fetchall()
        found: list[tuple[str, str | None]] = []
        for name, *fields in rows:
            named = limits.is_name(name)
            try:
                read_counters(tuple(fields))
                wrong = None if named else "it has no name"
            except BadFile as error:
                wrong = f"it is damaged on the server: {error}"
            found.append((name if named else limits.short_text(name), wrong))
        return sorted(found)

    def append(self, scope: str, rows: Sequence[LogRow], within: float = math.inf) -> Stored:
        """Store new rows in one transaction.

        A row whose key is known is left alone, so the same rows may be sent again if it is not certain that they
        arrived.

        Args:
            scope: Name of the scope.
            rows: The rows.
            within: Seconds for all of it.

        Raises:
            Away: The server is away. It is not certain whether the rows are stored.
            StorageError: The server refused them.
        """
        query = (
            "SELECT l.tbl, l.key FROM jitrl.log l JOIN jitrl.scopes s ON s.id = l.scope "
            "WHERE s.key = %s AND l.key = ANY(%s)"
        )
        keys = [row.key for row in rows]
        # In a pipeline, statements travel together: here it takes two round trips, one to ask and one to store.
        with self._line.use(within) as connection, connection.pipeline(), connection.transaction():
            asked = self._ask(connection, scope, _LOCKED)
            found = connection.execute(query, [self._key(scope), keys], binary=True)
            counters = self._answered(scope, asked)
            if not counters.id:
                self._create(connection, scope, {})
                counters = self._counters(connection, scope, _LOCKED)
            known: set[tuple[str, bytes | None]] = set(found)
            stored: list[Logged | None] = []
            for row in rows:
                stored.append(None if (row.table, row.key) in known else counters.take(row))
                known.add((row.table, row.key))
            if any(stored):
                for row, one in zip(rows, stored, strict=True):
                    if one is not None:
                        columns = (one.seq, one.table, one.doc, one.key, one.number, one.first)
                        connection.execute(_INSERT, [counters.id, *columns, row.steps, row.payload])
                self.finish(connection, counters)
        return Stored(counters.generation, tuple(stored))

    @contextlib.contextmanager
    def turn(self, scope: str) -> Iterator[Transaction]:
        """Yield a transaction that holds the lock of a scope. Only what is committed in it counts.

        Raises:
            Away, StorageError: As `append`.
        """
        with self._line.use() as connection:
            connection.execute("BEGIN")
            turn = Transaction(self, connection, scope, self._counters(connection, scope, _LOCKED))
            try:
                yield turn
            finally:
                if not turn.done and not connection.closed:
                    connection.execute("ROLLBACK")

    def news(self, scope: str, generation: str, seq: int) -> News:
        """Return what a scope has after `seq`; no rows if its generation is another one."""
        query = (
            f"SELECT s.id, left(s.generation, {limits.NAME}), s.seq, l.* "
            f"FROM jitrl.scopes s LEFT JOIN LATERAL (SELECT {_COLUMNS} FROM jitrl.log WHERE scope = s.id AND seq > %s "
            "AND s.generation = %s ORDER BY seq LIMIT %s) l ON true WHERE s.key = %s ORDER BY l.seq"
        )
        with self._line.use() as connection:
            found = connection.execute(query, [seq, generation, BATCH, self._key(scope)], binary=True).fetchall()
        if not found:
            return News(0, "", 0, ())
        rows = tuple(Logged(*one[3:]) for one in found if one[3] is not None)
        number, generation, last = found[0][:3]
        if not generation or not limits.is_count(last):
            raise self._damaged(scope, f"its generation is {limits.short_text(generation)}, its seq {last}")
        return News(int(number), generation, int(last), rows)

    def last_key(self, scope: str, seq: int) -> str:
        """Return the key of the row at a place in hexadecimal digits, "" if there is none."""
        query = "SELECT l.key FROM jitrl.log l JOIN jitrl.scopes s ON l.scope = s.id WHERE s.key = %s AND l.seq = %s"
        with self._line.use() as connection:
            found = connection.execute(query, [self._key(scope), seq], binary=True).fetchone()
        return bytes(found[0]).hex() if found is not None and found[0] is not None else ""

    @contextlib.contextmanager
    def all_of(self, scope: str) -> Iterator[tuple[Counters, Iterator[Logged]]]:
        """Yield the counters of a scope, and all its rows table by table, as they are at one moment."""
        with self._line.use() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            counters = self._counters(connection, scope)
            query = (
                "SELECT count(*) FILTER (WHERE tbl <> ALL(%s)), coalesce(max(octet_length(payload)), 0) "
                "FROM jitrl.log WHERE scope = %s"
            )
            found = connection.execute(query, [list(counters.next_ids), counters.id]).fetchone()
            strange, longest = found or (0, 0)
            if strange:
                raise self._damaged(scope, f"{strange} rows are of tables that its next_ids do not name")
            yield counters, _read(connection, counters, max(1, min(_AT_ONCE, limits.LINE // max(1, longest))))

    def fill(self, scope: str, counters: Counters, rows: Iterable[tuple[str, int, Document]]) -> None:
        """Store a whole scope that is not there yet, with the numbers that it has: (table, id, document) each.

        Raises:
            UsageError: There is such a scope.
            Away, StorageError: As `append`; nothing is stored.
        """
        with self._line.use() as connection, connection.transaction():
            if self._counters(connection, scope).id:
                raise UsageError(f"{scope} is in {self.server.where} already; `jitrl memory merge` adds to it")
            made = self.created(connection, scope, counters.header)
            made.next_entry, made.next_number = counters.next_entry, counters.next_number
            made.next_ids = dict(counters.next_ids)
            turn = Transaction(self, connection, scope, made)
            with connection.pipeline():
                for table, doc_id, document in rows:
                    turn.add(table, {doc_id: document})
                self.finish(connection, made)

    def created(self, connection: Connection[Any], scope: str, header: Mapping[str, Any]) -> Counters:
        """Add a scope within a transaction, and return its counters.

        Raises:
            Away: Another worker added it at the same moment.
        """
        if not self._create(connection, scope, header):
            raise ServerUnreachable(
                f"another worker began {scope} in {self.server.where} at the same moment; try again"
            )
        return self._counters(connection, scope, _LOCKED)

    def finish(self, connection: Connection[Any], counters: Counters) -> None:
        """Store the counters of a scope, and tell the others once this is committed."""
        if max(counters.next_entry, counters.next_number, counters.seq) > limits.COUNT:
            raise StorageError(f"the numbers of {self.server.where} are used up")
        connection.execute(
            "UPDATE jitrl.scopes SET generation = %s, seq = %s, next_entry = %s, next_number = %s, next_ids = %s "
            "WHERE id = %s",
            [counters.generation, counters.seq, counters.next_entry, counters.next_number,
             json.dumps(counters.next_ids), counters.id],
        )  # fmt: skip
        connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(counters.id)])

    # ------------------------------------------------------------------------------------- details

    def _counters(self, connection: Connection[Any], scope: str, how: str = "") -> Counters:
        """Return the counters of a scope; all zero if it is not there."""
        return self._answered(scope, self._ask(connection, scope, how))

    def _ask(self, connection: Connection[Any], scope: str, how: str) -> Cursor[Any]:
        """Ask for the counters of a scope."""
        return connection.execute(f"SELECT {COLUMNS} FROM jitrl.scopes WHERE key = %s{how}", [self._key(scope)])

    def _answered(self, scope: str, asked: Cursor[Any]) -> Counters:
        """Return the counters that were asked for.

        Raises:
            BadFile: They are damaged.
        """
        found = asked.fetchone()
        try:
            return Counters() if found is None else read_counters(found)
        except BadFile as error:
            raise self._damaged(scope, str(error)) from None

    def _damaged(self, scope: str, why: str) -> BadFile:
        return BadFile(
            f"{scope} is damaged in {self.server.where}: {why}. Other scopes can be used; its owner can remove this one"
        )

    def _create(self, connection: Connection[Any], scope: str, header: Mapping[str, Any]) -> bool:
        """Add a scope; return whether it was not there."""
        values = (self._key(scope), self.server.space, scope, secrets.token_hex(8), json.dumps(header))
        done = connection.execute(
            "INSERT INTO jitrl.scopes (key, space, name, generation, seq, next_entry, next_number, next_ids, header) "
            "VALUES (%s, %s, %s, %s, 0, 0, 1, '{}', %s) ON CONFLICT (key) DO NOTHING",
            values,
        )
        return done.rowcount == 1

    def _key(self, scope: str) -> bytes:
        return blake2b(f"{self.server.space}\0{scope}".encode("utf-8", "replace"), digest_size=16).digest()


def _read(connection: Connection[Any], counters: Counters, at_once: int) -> Iterator[Logged]:
    query = f"SELECT {_COLUMNS} FROM jitrl.log WHERE scope = %s AND tbl = %s ORDER BY doc"
    for table in counters.next_ids:
        with connection.cursor("jitrl_all", binary=True) as cursor:
            cursor.itersize = at_once
            cursor.execute(query, [counters.id, table])
            for row in cursor:
                yield Logged(*row)

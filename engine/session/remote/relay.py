"""Carries what is followed through a database: lines of a file, signs of life, and commands, for who sees no folder.

A thread with a connection of its own does it, so that nothing else waits for the server. Lines are sent only while
somebody follows. They are read from the file, so nothing waits in memory, and a server that was away misses nothing.
Signs of life and commands are always exchanged. NOTIFY makes commands arrive at once. It is a hint; the tables count.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import socket
import threading
import time
import zlib
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import BadFile, JitrlError
from engine.memory.shared.server import DatabaseServer, ServerUnreachable, SharedConnection, pauses
from engine.session.remote.lines import GrowingLines
from engine.session.remote.presence import BEAT_S
from engine.wait import readable_of
from engine.waits import THREAD_END

if TYPE_CHECKING:
    from psycopg import Connection

CHANNEL = "jitrl_live"
"""Name of the channel of NOTIFY. A message is the id of a row of `jitrl.live`."""
SEND_S = 0.5
"""Seconds between two looks at the file while somebody follows."""
WANTED_S = 10.0
"""Seconds for which a follower is taken to follow after its latest sign."""
KEPT_S = 24 * 3600.0
"""Seconds after which what nobody plays any more is removed from the tables."""
TAIL, MOST = 2 << 20, 16 << 20
"""Bytes of a recording that a new follower gets at first, and bytes of a recording that the tables hold at most."""
_BATCH = 256 << 10
_LOG = logging.getLogger("jitrl.session")

Marks = Sequence[bytes]
"""Beginnings of lines that a new follower gets from anywhere in the file."""


def is_wanted() -> bool:
    """Whether what is played can be followed through the database of its memory. JITRL_LIVE can forbid it."""
    return os.environ.get("JITRL_LIVE", "").strip().casefold() not in ("0", "false", "no")


class Relay:
    """Carries one file.

    Args:
        address: The database, see `engine.settings.address`.
        name: Name by which it is followed.
        file: The file, whose lines are sent.
        head: What is told of it once.
        marks: A new follower gets the lines that begin with these, and the end of the file. Without marks it gets all.
        command: Called with the line of each command, in the thread.
    """

    def __init__(
        self,
        address: str,
        name: str,
        file: Path,
        *,
        head: str = "",
        marks: Marks = (),
        command: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._line = SharedConnection(DatabaseServer(address))
        self._name, self._file, self._head, self._marks = name, file, head, marks
        self._origin = f"{socket.gethostname()}:{file.parent.absolute()}"
        self._command = command
        self._sign = self._sent = ""
        self._id = 0
        self._lines: GrowingLines | None = None
        self._sizes: deque[tuple[int, int]] = deque()
        self._seq = 0
        self._closed = threading.Event()
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self._thread = threading.Thread(target=self._run, name="jitrl-relay", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def show(self, sign: str) -> None:
        """Show a sign of life, soon. This does not wait. It has no effect after `close`."""
        self._sign = sign
        if not self._closed.is_set():
            self._wake()

    def close(self, seconds: float = THREAD_END.seconds) -> None:
        """Send what is left, and end; wait no longer than so many seconds for it. Calling this twice is safe."""
        if self._closed.is_set():
            return
        self._closed.set()
        self._wake()
        if self._thread.ident is not None:
            self._thread.join(seconds)
        if not self._thread.is_alive():
            os.close(self._wake_read)
            os.close(self._wake_write)

    def _wake(self) -> None:
        with contextlib.suppress(BlockingIOError):  # It is full: the thread wakes in any case.
            os.write(self._wake_write, b"x")

    # ------------------------------------------------------------------------------------ in the thread

    def _run(self) -> None:
        waits = pauses()
        try:
            while not self._closed.is_set():
                try:
                    with self._line.use() as connection:
                        connection.execute(f"LISTEN {CHANNEL}")
                        self._begin(connection)
                        waits = pauses()
                        while not self._closed.is_set():
                            self._wait(connection, self._turn(connection))
                        self._end(connection)
                except ServerUnreachable:
                    self._line.drop()
                    self._sent, self._lines = "", None
                    readable_of([self._wake_read], next(waits))
                    self._drain()
        except JitrlError as error:
            _LOG.warning("%s cannot be followed through the database: %s", self._name, error)
        finally:
            self._line.close()

    def _begin(self, connection: Connection[Any]) -> None:
        """Make the row, and remove those that nobody plays any more: all that at once for those who look."""
        with connection.transaction():
            connection.execute(
                "DELETE FROM jitrl.live WHERE seen < now() - %s * interval '1 second'", [KEPT_S]
            )
            row = connection.execute(
                "INSERT INTO jitrl.live (name, origin, head, sign, stream, over, seen, wanted) "
                "VALUES (%s, %s, %s, %s, '', false, now(), '-infinity') "
                "ON CONFLICT (name, origin) DO UPDATE SET head = EXCLUDED.head, sign = EXCLUDED.sign, stream = '', "
                "over = false, seen = now() RETURNING id",
                [self._name, self._origin, self._head, self._sign],
            ).fetchone()
            assert row is not None
            if self._id == 0:  # Commands for an earlier life are none. Who sees this one may send some.
                connection.execute("DELETE FROM jitrl.live_commands WHERE live = %s", [row[0]])
            connection.execute("DELETE FROM jitrl.live_lines WHERE live = %s", [row[0]])
        self._id, self._lines = int(row[0]), None

    def _turn(self, connection: Connection[Any]) -> bool:
        """Show a sign, take commands in, and send lines if somebody follows; return whether somebody does."""
        sign = self._sent = self._sign
        row = connection.execute(
            "UPDATE jitrl.live SET sign = %s, seen = now() WHERE id = %s "
            "RETURNING wanted > now() - %s * interval '1 second'",
            [sign, self._id, WANTED_S],
        ).fetchone()
        if row is None:  # Somebody removed it.
            self._begin(connection)
            return False
        for (line,) in connection.execute(
            "WITH gone AS (DELETE FROM jitrl.live_commands WHERE live = %s RETURNING id, line) "
            "SELECT line FROM gone ORDER BY id", [self._id]
        ).fetchall():  # fmt: skip
            self._command(str(line))
        if row[0]:
            self._send(connection)
        elif self._lines is not None:
            self._lines = None
            connection.execute("DELETE FROM jitrl.live_lines WHERE live = %s", [self._id])
        return bool(row[0])

    def _send(self, connection: Connection[Any]) -> None:
        """Send what is new in the file. A new follower, and one that cannot follow on, begins a new stream."""
        if self._lines is None:
            self._lines = GrowingLines(self._file)
            self._restart(connection, first=self._first())
        try:
            while True:
                lines = self._lines.new(_BATCH)
                if self._lines.restarted:
                    self._restart(connection, first=[])
                if lines:
                    self._store(connection, b"".join(lines))
                if not self._lines.more:
                    return
        except BadFile as error:
            _LOG.warning("%s cannot be followed any further: %s", self._name, error)

    def _restart(self, connection: Connection[Any], first: Sequence[bytes]) -> None:
        connection.execute("DELETE FROM jitrl.live_lines WHERE live = %s", [self._id])
        connection.execute("UPDATE jitrl.live SET stream = %s WHERE id = %s", [secrets.token_hex(8), self._id])
        self._seq = 0
        self._sizes.clear()
        if first:
            self._store(connection, b"".join(first))

    def _first(self) -> list[bytes]:
        """Return the marked lines before the end of the file, and let the rest be read from there."""
        if not self._marks or not self._file.is_file() or self._file.stat().st_size <= TAIL:
            return []
        begin = self._file.stat().st_size - TAIL
        found, at = [], 0
        with open(self._file, "rb") as file:
            for line in file:
                if at >= begin:
                    break
                at += len(line)
                if line.startswith(tuple(self._marks)):
                    found.append(line)
        self._lines = GrowingLines(self._file, at=at)
        return found

    def _store(self, connection: Connection[Any], data: bytes) -> None:
        """Store lines, and remove the oldest ones if there are too many; the first ones are kept."""
        payload = zlib.compress(data, 1)
        self._seq += 1
        connection.execute(
            "INSERT INTO jitrl.live_lines (live, seq, payload) VALUES (%s, %s, %s)", [self._id, self._seq, payload]
        )
        if self._seq > 1:
            self._sizes.append((self._seq, len(payload)))
        while self._marks and sum(size for _, size in self._sizes) > MOST:
            gone, _ = self._sizes.popleft()
            connection.execute("DELETE FROM jitrl.live_lines WHERE live = %s AND seq = %s", [self._id, gone])

    def _end(self, connection: Connection[Any]) -> None:
        """Send what is left. A file that is sent as a whole is there for who comes later, too."""
        followed = self._turn(connection)
        if not self._marks and not followed:
            self._send(connection)
        connection.execute("UPDATE jitrl.live SET over = true WHERE id = %s", [self._id])

    def _wait(self, connection: Connection[Any], followed: bool) -> None:
        """Wait for a new sign, a message for this row, or the next look."""
        until = time.monotonic() + (SEND_S if followed else BEAT_S)
        while self._sent == self._sign and not self._closed.is_set():
            ready = readable_of([connection.fileno(), self._wake_read], until - time.monotonic())
            self._drain()
            if not ready or str(self._id) in {message.payload for message in connection.notifies(timeout=0)}:
                return

    def _drain(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while os.read(self._wake_read, 4096):
                pass

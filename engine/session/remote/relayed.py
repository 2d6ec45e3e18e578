"""The follower's side of what is carried through a database: lines, signs of life, and a session made of them."""

from __future__ import annotations

import zlib

from engine import limits
from engine.errors import BadFile, JitrlError, StorageError, UsageError
from engine.memory.shared.server import DatabaseServer, ServerUnreachable, SharedConnection
from engine.session.remote import presence
from engine.session.remote.commands import RemoteCommand
from engine.session.remote.followed import Followed
from engine.session.remote.presence import Presence
from engine.session.remote.relay import CHANNEL

_AT_ONCE = 16
"""Batches that are read at once."""
_RENEW_S = 3
"""Seconds after which a follower shows again that it follows."""


class RelayedLines:
    """The lines of a file that is carried through a database, and what else is told of it.

    Args:
        address: The database, see `engine.settings.address`.
        name: Name of what is followed.

    Attributes:
        restarted: Whether the last call of `new` began at the beginning of another stream.
        more: Whether there is more that can be read at once.
        head: What is told of it once; None before it is there.
        sign: Its latest sign of life, "" for none.
        over: Whether it has ended.
        origin: Where the file lies, for people.

    Raises:
        UsageError, MissingError: The address is none, or psycopg is not installed.
    """

    def __init__(self, address: str, name: str) -> None:
        self._line = SharedConnection(DatabaseServer(address))
        self._name = name
        self._id, self._stream, self._seq = 0, "", 0
        self._known = False
        self.restarted = self.more = self.over = False
        self.head: str | None = None
        self.sign = self.origin = ""

    def look(self) -> bool:
        """Read what is told, and show that somebody follows; return whether there is such a thing.

        Raises:
            MissingError, BadFile: The database cannot be used.
            StorageError: It is away, or this role must not follow.
        """
        with self._line.use() as connection:
            row = connection.execute(
                "SELECT id, head, sign, over, stream, origin, wanted < now() - %s * interval '1 second' "
                "FROM jitrl.live WHERE name = %s ORDER BY seen DESC LIMIT 1", [_RENEW_S, self._name]
            ).fetchone()  # fmt: skip
            if row is None:
                return False
            self._id, self.head, self.sign, self.over, stream, self.origin, due = row
            if due:
                connection.execute("UPDATE jitrl.live SET wanted = now() WHERE id = %s", [self._id])
                connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(self._id)])
            if stream != self._stream:
                self._stream, self._seq = stream, 0
        return True

    def new(self) -> list[bytes]:
        """Return the lines that were not returned yet, as `look` has found them. Raises as `look`."""
        self.restarted = self.more = False
        if not self._stream:
            return []
        with self._line.use() as connection:
            rows = connection.execute(
                "SELECT seq, payload FROM jitrl.live_lines JOIN jitrl.live ON live.id = live_lines.live "
                "WHERE live = %s AND seq > %s AND stream = %s ORDER BY seq LIMIT %s",
                [self._id, self._seq, self._stream, _AT_ONCE],
            ).fetchall()
        found: list[bytes] = []
        for seq, payload in rows:
            if seq > self._seq + 1 > 2:  # Lines between were removed: begin again with what is there.
                self._seq, self.more = 0, True
                return found
            if self._seq == 0:
                self.restarted, self._known = self._known, True
            self._seq = seq
            found += _unpacked(payload).splitlines(keepends=True)
        self.more = len(rows) == _AT_ONCE
        return found

    def send(self, line: str) -> None:
        """Send a command. Raises as `look`."""
        with self._line.use() as connection:
            connection.execute("INSERT INTO jitrl.live_commands (live, line) VALUES (%s, %s)", [self._id, line])
            connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, str(self._id)])

    def close(self) -> None:
        """Close the connection."""
        self._line.close()


class RelayedSession(Followed):
    """A session that is followed through a database.

    While the server is away there is nothing new, and what was last known of its life holds.
    """

    def __init__(self, address: str, name: str) -> None:
        super().__init__(f"the recording of {name}")
        self._lines = RelayedLines(address, name)
        self._away = self._was_alive = False

    def sign(self) -> Presence | None:
        """Return the latest sign of life, None if there is none."""
        if self._lines.over or not self._lines.sign:
            return None
        try:
            return presence.from_line(self._lines.sign)
        except BadFile:
            return None

    def lives(self) -> bool:
        """Return whether the session is being played."""
        if not self._away:
            self._was_alive = super().lives()
        return self._was_alive

    def send(self, command: RemoteCommand) -> None:
        """Give a command."""
        try:
            self._lines.send(command.line())
        except JitrlError as error:
            raise StorageError(f"the command could not be sent: {error}") from None

    def close(self) -> None:
        """Close the connection."""
        self._lines.close()

    def _further(self) -> list[bytes]:
        try:
            self._lines.look()
            lines = self._lines.new()
            self._away = False
        except ServerUnreachable:
            self._away = True
            return []
        self.restarted, self.more = self._lines.restarted, self._lines.more
        return lines


def is_session(address: str, name: str) -> bool:
    """Whether a name is that of a session, and not of a run, which has a plan.

    Raises:
        UsageError, MissingError, BadFile, StorageError: The database cannot be used.
    """
    lines = RelayedLines(address, name)
    try:
        return lines.look() and not lines.head
    finally:
        lines.close()


def newest_of(address: str, prefix: str) -> str:
    """Return the name of what was begun last, and is still played, among those whose names begin with a text.

    Raises:
        UsageError: There is none.
        MissingError, BadFile, StorageError: The database cannot be used.
    """
    line = SharedConnection(DatabaseServer(address))
    try:
        with line.use() as connection:
            row = connection.execute(
                "SELECT name FROM jitrl.live WHERE starts_with(name, %s) AND NOT over ORDER BY id DESC LIMIT 1",
                [prefix],
            ).fetchone()
    finally:
        line.close()
    if row is None:
        raise UsageError(f"nothing of {prefix.rstrip('/')} is being played now")
    return str(row[0])


def _unpacked(payload: bytes) -> bytes:
    """Return lines that were packed, as far as one line may be long.

    Raises:
        BadFile: They are no packed lines, or too long.
    """
    unpacking = zlib.decompressobj()
    try:
        data = unpacking.decompress(payload, limits.LINE + 1)
    except zlib.error:
        raise BadFile("what is carried through the database is damaged") from None
    if unpacking.unconsumed_tail:
        raise BadFile("what is carried through the database is too long")
    return data

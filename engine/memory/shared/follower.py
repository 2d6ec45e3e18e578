"""A thread that brings the replicas of a memory up to date while others write.

NOTIFY tells it when there is something new; that is only a hint. What counts is the cursor of each replica, which is
compared with the log at every message, after every new connection, and every few seconds. Nobody waits for it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from engine.errors import BadFile, JitrlError
from engine.memory.shared.log import CHANNEL, Log
from engine.memory.shared.server import ServerUnreachable, SharedConnection, pauses
from engine.wait import readable, readable_of
from engine.waits import THREAD_END

if TYPE_CHECKING:
    from psycopg import Connection

    from engine.memory.shared.outbox import Outbox
    from engine.memory.shared.scope import SharedScope

POLL_S = 5.0
"""Seconds between two looks at the log when nobody tells anything: a silent connection may be a dead one."""


class Follower:
    """Follows the log for the scopes that are open.

    Args:
        writer: The line that this memory writes on. Whoever writes takes in what is new itself.
        scopes: Returns the scopes that are open.
        outbox: What waits to be sent; it is sent when the server is back.
        notice: Called with a sentence, in this thread.
    """

    def __init__(
        self, writer: SharedConnection, scopes: Callable[[], Iterable[SharedScope]], outbox: Outbox,
        notice: Callable[[str], None],
    ) -> None:
        self._writer = writer
        self._line = SharedConnection(writer.server)
        self._log = Log(writer.server, self._line)
        self._scopes = scopes
        self._outbox = outbox
        self._notice = notice
        self._notified: set[str] = set()
        self._closed = False
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        self._thread = threading.Thread(target=self._run, name="jitrl-follower", daemon=True)

    @property
    def thread(self) -> threading.Thread:
        """The thread."""
        return self._thread

    def start(self) -> None:
        """Begin to follow."""
        self._thread.start()

    def close(self) -> None:
        """End the thread and its connection, also in the middle of reading."""
        if not self._closed:
            self._closed = True
            os.write(self._wake_write, b"x")
            self._line.end()
            self._thread.join(timeout=THREAD_END.seconds)
            os.close(self._wake_write)
            if not self._thread.is_alive():
                self._line.close()
                os.close(self._wake_read)

    # ------------------------------------------------------------------------------------- details

    def _run(self) -> None:
        waits = pauses()
        while not self._closed:
            try:
                with self._line.use() as connection:
                    connection.execute(f"LISTEN {CHANNEL}")
                    for scope in self._scopes():
                        scope.replica.check(self._log)
                    while not self._closed:
                        self._look()
                        waits = pauses()
                        self._wait(connection)
            except ServerUnreachable:
                self._line.drop()
                self._sleep(next(waits))
            except JitrlError as error:
                self._notify_once(str(error))
                self._line.drop()
                self._sleep(POLL_S)

    def _look(self) -> None:
        """Send what waits, and take in what is new."""
        if len(self._outbox):
            self._outbox.deliver()
        for scope in self._scopes():
            try:
                scope.follow(self._log)
            except BadFile as error:
                self._notify_once(str(error))

    def _wait(self, connection: Connection[Any]) -> None:
        """Wait for a message of another writer, the end, or the next poll."""
        line = connection.fileno()
        ready = [line]
        while line in ready:
            senders = {message.pid for message in connection.notifies(timeout=0)}
            if senders - {self._writer.process}:
                return
            ready = readable_of([line, self._wake_read], POLL_S)

    def _sleep(self, seconds: float) -> None:
        readable(self._wake_read, seconds)

    def _notify_once(self, text: str) -> None:
        """Tell a sentence once."""
        if text not in self._notified:
            self._notified.add(text)
            self._notice(text)

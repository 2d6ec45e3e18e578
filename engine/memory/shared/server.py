"""Connections to the server of a shared memory, and what its errors mean."""

from __future__ import annotations

import contextlib
import functools
import ipaddress
import logging
import math
import os
import random
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, wait
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from engine import extras, trust
from engine.disk import read_text, write_private
from engine.errors import JitrlError, MissingError, StorageError
from engine.memory.shared import schema
from engine.pages import page
from engine.paths import ensure_folder
from engine.settings.address import parsed_address
from engine.waits import DATABASE_ANSWER, DATABASE_CONNECT, DATABASE_HURRY

if TYPE_CHECKING:
    import psycopg
    from psycopg import Connection

# psycopg logs what it ignores when a connection breaks. Without a log file, Python would print that on stderr.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

T = TypeVar("T")
_DEFAULTS = {
    "connect_timeout": str(int(DATABASE_CONNECT.seconds)),
    "tcp_user_timeout": "10000",
    "keepalives_idle": "10",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "fallback_application_name": "jitrl",
}
"""Parameters of libpq, used where address, variables and service file say nothing."""
_AUTHENTICATION = "scram-sha-256,gss,sspi,none"
"""Ways to say who one is with which the server learns no password. "none" is without one, as on a socket."""
_LOOK_S = 0.1
"""Seconds between two looks whether somebody still waits for a connection."""
_KNOWS_AUTHENTICATION = 160000
"""Version of libpq from which it can demand this."""
_SETTINGS = """
    SET lock_timeout = '10s'; SET idle_in_transaction_session_timeout = '60s'; SET client_encoding = 'UTF8';
    SET default_transaction_isolation = 'read committed'; SET search_path = 'pg_catalog'
"""
_COMPLETING = ("PGSERVICE", "PGHOST", "PGHOSTADDR", "PGPORT", "PGDATABASE", "PGUSER")
"""Variables that say which database an address leads to."""
_PASSING = ("08", "25006", "40", "53", "55P03", "57")
"""Errors (by the start of their SQLSTATE) that pass: lost connections, a full disk, a server that starts or stops."""
_FIRST_S, _LONGEST_S = 0.05, 2.0


class ServerUnreachable(StorageError):
    """The server cannot be reached, or cannot take anything at the moment. What was sent may be stored or not."""


class DatabaseRefused(ServerUnreachable):
    """The server answers, and its database cannot be used. It would say the same if it was asked again at once."""


def driver() -> Any:
    """Return the module psycopg.

    Raises:
        MissingError: It is not installed, or its C library is not.
    """
    return extras.load("postgres", "psycopg")


class DatabaseServer:
    """The database that an address names.

    Args:
        address: See `engine.settings.address`.

    Attributes:
        address: The address.
        space: The space that it names.
        password: The password that was used, "" if none or not yet connected. It is never shown or stored.
        plain: Whether the last connection went over a network without encryption.

    Raises:
        UsageError: The address is none, or has a password in it.
        MissingError: psycopg is not installed.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._given, self.space = parsed_address(address)
        at = self._given.partition("?")[0]
        self.where = f"the shared memory at {at}" if at else "the shared memory that the PG* variables name"
        self.password = ""
        self.plain = False
        self._identity = ""
        driver()

    @property
    def identity(self) -> str:
        """Name of the database that no other has; "" before the first connection."""
        return self._identity

    def reach(self, line: SharedConnection, folder: Path) -> str:
        """Connect for the first time; return "", or a sentence if the server is away and there are replicas of it.

        Args:
            line: What connects.
            folder: The folder `shared` of the saves folder. It has the identity of the database by address.

        Raises:
            MissingError, BadFile: As `connect`.
        """
        place = folder / "known" / self._digest()
        try:
            with line.use():
                pass
        except MissingError as error:
            identity = known_identity(place)
            if not (identity and (folder / identity).is_dir()) or self._answers():
                raise
            self._identity = identity
            return str(error)
        return ""

    def remember(self, folder: Path) -> None:
        """Note the identity of the database that this address leads to, for `reach`."""
        place = ensure_folder(folder / "known") / self._digest()
        if known_identity(place) != self._identity:
            with contextlib.suppress(OSError):
                write_private(place, self._identity)

    def _digest(self) -> str:
        """Return a name of the address and the variables that complete it, for a file."""
        parts = [self._given, *(os.environ.get(name, "") for name in _COMPLETING)]
        return blake2b("\0".join(parts).encode("utf-8", "replace"), digest_size=16).hexdigest()

    def _answers(self) -> bool:
        """Whether a server is there that takes connections, be it ours or not. It learns nothing of who asks."""
        from psycopg.conninfo import make_conninfo

        pq = driver().pq
        asking = make_conninfo(self._conninfo(), user="jitrl", dbname="jitrl", sslmode="disable", gssencmode="disable")
        return pq.PGconn.ping(asking.encode()) not in (pq.Ping.REJECT, pq.Ping.NO_RESPONSE)

    def connect(self, line: SharedConnection) -> Connection[Any]:
        """Return a new connection in autocommit, after a look whether the database is the right one.

        Args:
            line: Whose connection it is. It waits for the server no longer than this line allows.

        Raises:
            NotConfirmed: A session or a run of somebody else names the address.
            Away: The server cannot be reached any more.
            Refused: Its database cannot be used any more, or is another one now. What follows is only raised by the
                first connection.
            MissingError: The server cannot be reached or is too old, or the tables are missing and cannot be made.
            BadFile: The database is not ours, or newer.
        """
        psycopg = driver()
        trust.require(self._given)
        try:
            connection = _opened(self._conninfo(), line)
        except psycopg.Error as error:
            text = _one_line(error)
            self.password = self.password or _password(error)
            if self._identity:
                raise ServerUnreachable(f"{self.where} cannot be reached ({text})") from None
            raise MissingError(f"cannot open {self.where}: {text}{_hint(text)}") from None
        connection.line = line
        try:
            connection.execute(_SETTINGS)
            about = schema.prepare(connection, self.where)
            if self._identity and about.identity != self._identity:
                raise DatabaseRefused(f"{self.where} is another database than before, and nothing was sent to it")
        except psycopg.Error as error:
            connection.close()
            raise translate(error, self.where) from None
        except JitrlError as error:
            connection.close()
            if self._identity:  # it could be used before, so what is stored waits until it can again
                raise DatabaseRefused(str(error)) from None
            raise
        self._identity = about.identity
        self.password = connection.info.password
        self.plain = not connection.pgconn.ssl_in_use and not _is_near(connection.info.host)
        return connection  # type: ignore[no-any-return]

    def _conninfo(self) -> str:
        from psycopg.conninfo import conninfo_to_dict, make_conninfo

        pq = driver().pq
        usual = dict(_DEFAULTS)
        if pq.version() >= _KNOWS_AUTHENTICATION:
            usual["require_auth"] = _AUTHENTICATION
        given = set(conninfo_to_dict(self._given))
        given |= {one.keyword.decode() for one in pq.Conninfo.get_defaults() if one.val != one.compiled}
        return make_conninfo(self._given, **{name: value for name, value in usual.items() if name not in given})


class SharedConnection:
    """A connection that is opened when it is used, and anew after it broke. Any thread may use it.

    Nothing waits for ever for the server: it may be silent for `DATABASE_ANSWER`. What was asked then counts as lost.

    Attributes:
        until: The time at which the running use ends, on the clock of `time.monotonic`.
        ended: Whether nothing is to be waited for any more.
        longest: Seconds that a use may take.
    """

    def __init__(self, server: DatabaseServer) -> None:
        self.server = server
        self.until = math.inf
        self.ended = False
        self.longest = math.inf
        self._lock = threading.RLock()
        self._connection: Connection[Any] | None = None

    @property
    def process(self) -> int:
        """Number of the server's process at the other end, 0 for none. It signs the messages that this line sends."""
        connection = self._connection
        return 0 if connection is None or connection.closed else connection.info.backend_pid

    @contextlib.contextmanager
    def use(self, within: float = math.inf) -> Iterator[Connection[Any]]:
        """Yield the connection; no other thread has it meanwhile.

        Args:
            within: Seconds for all of it.

        Raises:
            Away: The connection was lost, or the server can take nothing at the moment.
            StorageError: The server refused something for good.
        """
        psycopg = driver()
        until = time.monotonic() + min(within, self.longest)
        if not self._lock.acquire(timeout=max(0.0, min(within, threading.TIMEOUT_MAX))):
            raise ServerUnreachable(
                f"{self.server.where} cannot be asked while it is busy with something else of this process"
            )
        before = self.until
        self.until = min(before, until)
        try:
            if self._connection is None or self._connection.closed:
                self._connection = self.server.connect(self)
            yield self._connection
        except psycopg.Error as error:
            if self._connection is not None and (self._connection.closed or self._connection.broken):
                self.drop()
            raise translate(error, self.server.where) from None
        finally:
            self.until = before
            if self.ended:
                self.drop()
            self._lock.release()

    def drop(self) -> None:
        """Close the connection. The next use opens another one."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()
            self._connection = None

    def hurry(self) -> None:
        """Wait only for a moment from now on, also in the running use."""
        self.longest = DATABASE_HURRY.seconds
        self.until = min(self.until, time.monotonic() + self.longest)

    def end(self) -> None:
        """Let threads that wait for the server give up at once, now and later."""
        self.ended = True

    def close(self) -> None:
        """End all waits, and close the connection; a thread that still has it closes it. Calling this twice is safe."""
        self.end()
        if self._lock.acquire(blocking=False):
            self.drop()
            self._lock.release()


@functools.cache
def _impatient() -> Any:
    """Return a class of connections that wait for the server no longer than their line allows.

    After a wait that was too long, or that was interrupted, nobody knows what it would say next: it is closed.
    """
    psycopg = driver()
    from psycopg import waiting

    class Impatient(psycopg.Connection):  # type: ignore[name-defined,misc]
        line: SharedConnection | None = None

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            try:
                return waiting.wait(self._limited(gen), self.pgconn.socket, interval=interval, timeout=timeout)
            except KeyboardInterrupt:
                self.pgconn.finish()
                raise

        def _limited(self, gen: Any) -> Generator[Any, Any, Any]:
            """Pass everything on; end where the server was silent for too long. `ready` is 0 while it is silent."""
            heard = time.monotonic()
            try:
                wanted = next(gen)
                while True:
                    ready = yield wanted
                    now, line = time.monotonic(), self.line
                    heard = now if ready else heard
                    if line is not None and (
                        line.ended or now > line.until or now - heard > DATABASE_ANSWER.seconds
                    ):
                        self.pgconn.finish()
                        raise psycopg.OperationalError("the server does not answer")
                    wanted = gen.send(ready)
            except StopIteration as done:
                return done.value

    return Impatient


def _opened(conninfo: str, line: SharedConnection) -> Any:
    """Return a new connection. A name that cannot be looked up holds up nobody whose line is over or ends.

    libpq looks names up in a call that nothing interrupts, so another thread does this.
    """
    opened: Future[Any] = Future()

    def work() -> None:
        try:
            opened.set_result(_impatient().connect(conninfo, autocommit=True))
        except Exception as error:
            opened.set_exception(error)

    threading.Thread(target=work, name="connect", daemon=True).start()
    while not wait([opened], _LOOK_S).done:
        if line.ended or time.monotonic() > line.until:
            opened.add_done_callback(lambda late: late.exception() or late.result().close())
            raise driver().OperationalError("the server does not answer")
    return opened.result()


def patiently(do: Callable[[float], T], seconds: float, again: Callable[[], bool] = lambda: True) -> T:
    """Do something that is done once however often it is tried, within so many seconds.

    Args:
        do: Does it within the seconds that it is given.
        seconds: For all tries.
        again: Whether to try again while the server is away.

    Raises:
        Away: The server is still away, or has refused.
    """
    deadline = time.monotonic() + seconds
    for pause in pauses():
        try:
            return do(deadline - time.monotonic())
        except DatabaseRefused:
            raise
        except ServerUnreachable:
            if not again() or time.monotonic() + pause > deadline:
                raise
        time.sleep(pause)
    raise AssertionError("pauses do not end")


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each new try: growing, and different for each worker."""
    pause = _FIRST_S
    while True:
        yield pause * random.uniform(0.5, 1.5)
        pause = min(pause * 2, _LONGEST_S)


def translate(error: psycopg.Error, where: str) -> JitrlError:
    """Return an error of the server as one for people."""
    psycopg = driver()
    state = error.sqlstate or ""
    text = error.diag.message_primary or _one_line(error)
    if state == "53100":
        return ServerUnreachable(f"the disk of {where} is full ({text}); nothing stored before is lost")
    if state == "42501":
        return StorageError(f"this role must not write to {where} ({text}); the rights that it needs: {page('scale')}")
    if state.startswith(_PASSING) or (
        not state and isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    ):
        return ServerUnreachable(f"{where} cannot be reached ({text})")
    return StorageError(f"{where} refused this ({text}); nothing stored before is lost")


def _one_line(error: Exception) -> str:
    """Return what an error of the driver says, in one line. It never has a password in it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    text = lines[-1 if lines[0].startswith("Multiple connection attempts") else 0]
    text = text.removeprefix("connection failed: ").removeprefix("connection is bad: ")
    return (text.rpartition("FATAL:")[2].strip() or text)[:300]


def known_identity(place: Path) -> str:
    """Return the identity that a file has, "" if it has none."""
    try:
        text = read_text(place, 100)
    except (OSError, UnicodeDecodeError):
        return ""
    return text if text.isalnum() else ""


def _password(error: psycopg.Error) -> str:
    """Return the password with which a connection was tried, "" if there was none."""
    return (error.pgconn.password if error.pgconn is not None else b"").decode("utf-8", "replace")


def _hint(text: str) -> str:
    if "authentication method requirement" in text:
        return (
            "; the server would see the password: set password_encryption = 'scram-sha-256' there and give the role "
            "its password anew, or set PGREQUIREAUTH=password if you trust it"
        )
    if "password" in text:
        return "; the password comes from PGPASSFILE (~/.pgpass), PGPASSWORD or a service file"
    if "does not exist" in text:
        return "; is the address right?"
    return ""


def _is_near(host: str) -> bool:
    """Whether a host is this machine: a socket, or a loopback address."""
    if not host or host.startswith(("/", "@")) or host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False

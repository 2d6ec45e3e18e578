"""A process that has imported what its children need, and forks them. A fork starts in milliseconds.

Only Linux has all that `engine.fork_server` uses. Elsewhere each child is started by itself.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import socket
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence

from engine import children, waits
from engine.fork_server import KILL, NUMBER, START
from engine.wait import readable

_FOR_EVER_S = 3600.0


def available() -> bool:
    """Return whether this system has what is needed."""
    return sys.platform.startswith("linux")


class Fork:
    """A child that another process has forked. It has those methods of `subprocess.Popen` that a child needs.

    Attributes:
        pid: Its process id.
    """

    def __init__(self, server: ForkServer, status: int, pid: int) -> None:
        self.pid = pid
        self._server = server
        self._status = status
        self._owner = os.getpid()
        self._code: int | None = None
        weakref.finalize(self, os.close, status)

    def poll(self) -> int | None:
        """Return how it ended, as `subprocess.Popen` says it; None if it still runs."""
        if self._code is None and os.getpid() != self._owner:
            return 0  # a fork of the program has nothing to do with it
        if self._code is None and readable(self._status, 0):
            status = os.read(self._status, NUMBER.size)
            # Nothing is told by a server that was killed. Its children end then, too.
            self._code = NUMBER.unpack(status)[0] if status else -signal.SIGKILL
        return self._code

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return it.

        Raises:
            subprocess.TimeoutExpired: It still runs after `timeout` seconds.
        """
        end = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            left = _FOR_EVER_S if end is None else end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            readable(self._status, left)
        return code

    def kill(self) -> None:
        """Kill it; nothing happens if it has ended."""
        if self.poll() is None:
            self._server.kill(self.pid)


class ForkServer:
    """The process that forks.

    Args:
        who: What its children are called in messages.
        module: The module with `prepare` and `main`.
        variables: Environment variables of the process and its children.

    Raises:
        children.NotStarted: The system cannot start it.
        OSError: There are no sockets left.
    """

    def __init__(self, who: str, module: str, variables: Mapping[str, str]) -> None:
        self._who = who
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = children.start(
                who, children.python("-m", "engine.fork_server", module, str(theirs.fileno())), variables,
                pass_fds=[theirs.fileno()], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL, cwd="/",
            )  # fmt: skip
        self._ended = weakref.finalize(self, _end, self._process, self._control)

    def start(self, folder: str, descriptors: Sequence[int], seconds: float) -> Fork:
        """Start a child that works in a folder and has these descriptors.

        Raises:
            children.NotStarted: The system cannot start it, or it did not start within `seconds`.
            OSError: There are no descriptors left, or (BrokenPipeError) the process is gone.
        """
        status, theirs = os.pipe()
        place = -1
        try:
            place = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            socket.send_fds(self._control, [START], [theirs, place, *descriptors])
        except OSError:
            os.close(status)
            raise
        finally:
            for descriptor in (theirs, place):
                if descriptor >= 0:
                    os.close(descriptor)
        late = not readable(status, seconds)
        answer = b"" if late else os.read(status, NUMBER.size)
        (pid,) = NUMBER.unpack(answer) if answer else (0,)
        if pid > 0:
            return Fork(self, status, pid)
        os.close(status)
        if late:
            raise children.NotStarted(f"{self._who} cannot be started: nothing happened within {seconds:.0f} s")
        if not answer:
            raise BrokenPipeError(errno.EPIPE, "the process that forks is gone")
        raise children.NotStarted(f"{self._who} cannot be started: {os.strerror(-pid)}")

    def kill(self, pid: int) -> None:
        """Kill a child, unless it has ended."""
        with contextlib.suppress(OSError):
            self._control.send(KILL + str(pid).encode())

    def close_copy(self) -> None:
        """Close the socket in a fork of the program, so that the process ends with the program."""
        self._control.close()


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(waits.THREAD_END.seconds)


_servers: dict[str, tuple[dict[str, str], ForkServer]] = {}


def start(
    who: str, module: str, variables: Mapping[str, str], folder: str, descriptors: Sequence[int], seconds: float
) -> subprocess.Popen[bytes] | Fork:
    """Start a child that runs the function `main` of a module, in a folder and with these descriptors.

    The first start of a module starts its server, which stays until the program ends. Other variables need another.

    Raises:
        children.NotStarted: The system cannot start it, or it did not start within `seconds`.
        OSError: There are no descriptors left.
    """
    if not available():
        return children.start(
            who, children.python("-m", module, *map(str, descriptors)), variables, pass_fds=descriptors,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
        )  # fmt: skip
    made, server = _servers.get(module, (None, None))
    if server is not None and made == variables:
        with contextlib.suppress(ConnectionError):  # somebody has killed it
            return server.start(folder, descriptors, seconds)
    server = ForkServer(who, module, variables)
    _servers[module] = dict(variables), server
    return server.start(folder, descriptors, seconds)


def forget() -> None:
    """Start the next child of each module from a new server. The old one ends with its last child."""
    _servers.clear()


def _after_fork() -> None:
    for _, server in _servers.values():
        server.close_copy()
    forget()


if available():
    os.register_at_fork(after_in_child=_after_fork)

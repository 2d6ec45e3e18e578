"""A process that has imported what its children need, and forks them. A fork starts in milliseconds.

The process runs `python -P -m engine.forks MODULE FD`. MODULE has two functions: `prepare` imports what every child
needs, and `main` is a child's work, with its descriptors as arguments. Requests come over the socket FD, each with
descriptors: a pipe, to which the number of the process is written and then how it ended, the folder to work in, and
those of the child.

The process ends when the socket is closed, also by the death of the program that opened it, and kills its children.
It has one thread, as a fork of several would not be safe. Only Linux has all that is used here.
"""

from __future__ import annotations

import contextlib
import errno
import gc
import importlib
import os
import signal
import socket
import struct
import subprocess
import sys
import time
import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from engine import children, waits
from engine.waiting import readable, readable_of

_MOST = 64
"""Bytes of a request."""
_DESCRIPTORS = 8
_START, _KILL = b"start", b"kill "
_NUMBER = struct.Struct("<i")
_FOR_EVER_S = 3600.0


def available() -> bool:
    """Return whether this system has what is needed."""
    return sys.platform.startswith("linux")


# ------------------------------------------------------------------------------------------ the side of the program


class Fork:
    """A child that another process has forked. It has those methods of `subprocess.Popen` that a child needs.

    Attributes:
        pid: Its process id.
    """

    def __init__(self, server: Server, status: int, pid: int) -> None:
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
            told = os.read(self._status, _NUMBER.size)
            # Nothing is told by a server that was killed. Its children end then, too.
            self._code = _NUMBER.unpack(told)[0] if told else -signal.SIGKILL
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


class Server:
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
                who, children.python("-m", "engine.forks", module, str(theirs.fileno())), variables,
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
            socket.send_fds(self._control, [_START], [theirs, place, *descriptors])
        except OSError:
            os.close(status)
            raise
        finally:
            for descriptor in (theirs, place):
                if descriptor >= 0:
                    os.close(descriptor)
        late = not readable(status, seconds)
        told = b"" if late else os.read(status, _NUMBER.size)
        (pid,) = _NUMBER.unpack(told) if told else (0,)
        if pid > 0:
            return Fork(self, status, pid)
        os.close(status)
        if late:
            raise children.NotStarted(f"{self._who} cannot be started: nothing happened within {seconds:.0f} s")
        if not told:
            raise BrokenPipeError(errno.EPIPE, "the process that forks is gone")
        raise children.NotStarted(f"{self._who} cannot be started: {os.strerror(-pid)}")

    def kill(self, pid: int) -> None:
        """Kill a child, unless it has ended."""
        with contextlib.suppress(OSError):
            self._control.send(_KILL + str(pid).encode())

    def close_copy(self) -> None:
        """Close the socket in a fork of the program, so that the process ends with the program."""
        self._control.close()


def _end(process: subprocess.Popen[bytes], control: socket.socket) -> None:
    control.close()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(waits.THREAD_END.seconds)


_servers: dict[str, tuple[dict[str, str], Server]] = {}


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
    server = Server(who, module, variables)
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

# ------------------------------------------------------------------------------------------ the side of the process


class _Forking:
    """Forks children that run `main`.

    Args:
        main: Their work.
        control: The socket to the program.
    """

    def __init__(self, main: Any, control: socket.socket) -> None:
        self._main = main
        self._control = control
        self._children: dict[int, int] = {}
        """Running children, and the pipe for the end of each."""
        self._wake, waker = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(waker, False)
        self._waker = waker
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Fork until the program is gone, and kill what still runs."""
        while True:
            ready = readable_of([self._control, self._wake], _FOR_EVER_S)
            if self._wake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self._wake, 1 << 12)
                self._reap()
            if self._control.fileno() in ready and not self._obey():
                break
        for pid in self._children:
            os.kill(pid, signal.SIGKILL)

    def _obey(self) -> bool:
        """Obey one request; return False if the program is gone."""
        try:
            request, descriptors, *_ = socket.recv_fds(
                self._control, _MOST, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            return False
        if request == _START:
            self._start(*descriptors)
        elif request.startswith(_KILL) and (pid := int(request[len(_KILL) :])) in self._children:
            os.kill(pid, signal.SIGKILL)  # it is ours and not waited for, so the number is still its own
        return bool(request)

    def _start(self, status: int, folder: int, *descriptors: int) -> None:
        try:
            pid = os.fork()
        except OSError as error:
            pid = -(error.errno or errno.EAGAIN)
        if pid == 0:
            try:
                self._become(status, folder)
                self._main(*descriptors)
            finally:
                os._exit(1)
        for descriptor in (folder, *descriptors):
            os.close(descriptor)
        if pid > 0:
            self._children[pid] = status
        _tell(status, pid)
        if pid < 0:
            os.close(status)

    def _become(self, status: int, folder: int) -> None:
        """Become a child: nothing of the process stays open."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self._control.close()
        for descriptor in (self._wake, self._waker, status, *self._children.values()):
            os.close(descriptor)
        os.fchdir(folder)
        os.close(folder)

    def _reap(self) -> None:
        """Tell how children ended."""
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                status = self._children.pop(ended[0])
                _tell(status, os.waitstatus_to_exitcode(ended[1]))
                os.close(status)


def _tell(status: int, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # nobody wants to know
        os.write(status, _NUMBER.pack(number))


def _serve(module: str, descriptor: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's to handle
    control = socket.socket(fileno=descriptor)
    code: Any = importlib.import_module(module)
    with contextlib.suppress(Exception):  # the child meets the same, and can tell it
        code.prepare()
    gc.collect()
    gc.freeze()
    _Forking(code.main, control).serve()
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))

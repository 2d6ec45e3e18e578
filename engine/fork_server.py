"""A process that forks children: `python -P -m engine.fork_server MODULE FD`. `engine.forks` starts it and asks it.

MODULE has two functions: `prepare` imports what every child needs, and `main` is a child's work, with its descriptors
as arguments. Requests come over the socket FD, each with descriptors: a pipe, to which the number of the process is
written and then how it ended, the folder to work in, and those of the child.

The process ends when the socket is closed, also by the death of the program that opened it, and kills its children.
It has one thread, as a fork of several would not be safe. It imports little, as every start of a program waits for it.
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
import sys
from typing import Any

from engine.wait import readable_of

LONGEST = 64
"""Bytes of a request."""
START, KILL = b"start", b"kill "
NUMBER = struct.Struct("<i")
_DESCRIPTORS = 8
_FOR_EVER_S = 3600.0


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
                self._control, LONGEST, _DESCRIPTORS, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionError:
            return False
        if request == START:
            self._start(*descriptors)
        elif request.startswith(KILL) and (pid := int(request[len(KILL) :])) in self._children:
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
        os.write(status, NUMBER.pack(number))


def _serve(module: str, descriptor: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's to handle
    control = socket.socket(fileno=descriptor)
    code: Any = importlib.import_module(module)
    with contextlib.suppress(Exception):  # the child meets the same, and can tell it
        code.prepare()
    gc.freeze()
    _Forking(code.main, control).serve()
    os._exit(0)


if __name__ == "__main__":
    _serve(sys.argv[1], int(sys.argv[2]))

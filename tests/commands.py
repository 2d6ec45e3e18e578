"""Commands of `jitrl` run in this process, or in processes of their own that start without importing all anew.

`jitrl` is for what needs no process. `run` and `Popen` are those of `subprocess` for commands of our own Python: they
ask `tests.warm` for a fork. What a test says of the start of the interpreter itself, it shows with `subprocess`.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from engine import children
from jitrl_tui.cli import main
from tests import warm

LIMIT_S = 60
"""A command that still runs after so long hangs."""


@contextlib.contextmanager
def limited(seconds: int = LIMIT_S) -> Iterator[None]:
    """End what hangs, also in a call of the system. For the main thread."""

    def rang(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"this hangs: it took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, rang)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def jitrl(*words: object) -> tuple[int, str, str]:
    """Run a command; return its exit code, and what it wrote."""
    out, err = (
        io.TextIOWrapper(io.BytesIO(), "utf-8", "surrogateescape", write_through=True) for _ in range(2)
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited():
        try:
            code = main([os.fspath(word) for word in words])  # type: ignore[call-overload]
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, *(stream.buffer.getvalue().decode() for stream in (out, err))  # type: ignore[attr-defined]


PLACE = "TEST_FORKS_COME_FROM"
"""Variable with the folder in which the process that forks is found, and the process with which it ends."""
_AT_START = ("PYTHON", "LC_", "LD_", "DYLD_", "MALLOC_", "OPENBLAS_", "OMP_", "TEXTUAL")
"""How variables begin that a process reads when it starts."""
_HARMLESS = ("PYTHONPATH", "PYTHONSAFEPATH", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")
_place = ""
"""That folder, also where a test changes the variables."""


def find_warm(place: str = "") -> None:
    """Choose where the process that forks is found. The first program that calls this is the one with which it ends."""
    global _place
    if sys.platform.startswith("linux"):
        place = place or os.environ.get(PLACE, "")
        if not place:
            folder = tempfile.mkdtemp(prefix="jitrl-warm-")
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            place = f"{folder}:{os.getpid()}"
        _place = os.environ[PLACE] = place


class Popen(subprocess.Popen[Any]):
    """A process of our own Python, `[sys.executable, ...]` or `[.../jitrl, ...]`: a fork, where that is the same.

    It is a process like any other, but not a child of this one.
    """

    _asked: socket.socket | None = None

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, close_fds: bool, pass_fds: Any,
                       cwd: Any, env: Any, *rest: Any) -> None:  # fmt: skip
        startup, flags, shell, p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *how = rest
        session = how[5]
        variables = dict(os.environ if env is None else env)
        plain = not (shell or executable or preexec_fn or startup or flags) and close_fds
        if not plain or not _place or not _forkable(args, variables):
            super()._execute_child(  # type: ignore[misc]
                args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *rest
            )
            return
        given = [
            0 if p2cread == -1 else p2cread,
            1 if c2pwrite == -1 else c2pwrite,
            2 if errwrite == -1 else errwrite,
        ]
        umask = os.umask(0)
        os.umask(umask)
        job = {
            "command": [os.fsdecode(word) for word in args], "env": variables, "session": session,
            "descriptors": [0, 1, 2, *pass_fds], "group": os.getpgrp(), "umask": umask,
            "folder": os.path.join(os.getcwd(), os.fsdecode(cwd or "")),
        }  # fmt: skip
        if not os.path.isdir(job["folder"]):
            raise FileNotFoundError(2, "No such file or directory", str(cwd))
        self._asked = _connected()
        try:
            socket.send_fds(self._asked, [json.dumps(job).encode()], [*given, *pass_fds])
            (self.pid,) = warm.NUMBER.unpack(self._asked.recv(warm.NUMBER.size))
        finally:
            pipes = (p2cread, p2cwrite), (c2pwrite, c2pread), (errwrite, errread)
            for number in {theirs for theirs, ours in pipes if -1 not in (theirs, ours)}:
                os.close(number)
            if getattr(self, "_devnull", None) is not None:
                os.close(self._devnull)
        self._child_created = True

    def stacks(self) -> str:
        """Return what the threads of a fork are doing; "" for other processes."""
        if self._asked is None or self.poll() is not None:
            return ""
        path = Path(warm.stacks_file(_place.split(":")[0], self.pid))
        os.kill(self.pid, warm.STACKS)
        end = time.monotonic() + LIMIT_S
        while not (text := path.read_text(encoding="utf-8")).endswith("\n") and time.monotonic() < end:
            time.sleep(0.02)
        return text

    def _try_wait(self, flags: int) -> tuple[int, int]:
        if self._asked is None:
            return super()._try_wait(flags)  # type: ignore[misc,no-any-return]
        if self._asked.fileno() < 0:  # it was collected with others, and nobody knows how it ended
            return self.pid, signal.SIGKILL
        try:
            told = self._asked.recv(warm.NUMBER.size, socket.MSG_DONTWAIT if flags & os.WNOHANG else 0)
        except BlockingIOError:
            return 0, 0
        self._asked.close()
        return self.pid, warm.NUMBER.unpack(told)[0] if told else signal.SIGKILL

    def _internal_poll(self, _deadstate: int | None = None, **_: Any) -> int | None:
        if self._asked is None:
            return super()._internal_poll(_deadstate)  # type: ignore[misc,no-any-return]
        if self.returncode is None and self._waitpid_lock.acquire(False):  # type: ignore[attr-defined]
            try:
                if self.returncode is None and (ended := self._try_wait(os.WNOHANG))[0]:
                    self._handle_exitstatus(ended[1])  # type: ignore[attr-defined]
            finally:
                self._waitpid_lock.release()  # type: ignore[attr-defined]
        return self.returncode


def run(command: Sequence[Any], *, input: Any = None, capture_output: bool = False, timeout: float = LIMIT_S * 5,
        check: bool = False, **how: Any) -> subprocess.CompletedProcess[Any]:  # fmt: skip
    """Run a command of our own Python to its end, as `subprocess.run` does."""
    if input is not None:
        how["stdin"] = subprocess.PIPE
    if capture_output:
        how |= {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with Popen(command, **how) as process:
        try:
            out, err = process.communicate(input, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    if check and process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command, out, err)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


_start = children.start
_WORKERS = ("engine.fork_server", "engine.bench.worker")
"""Modules that the product starts with an interpreter each time."""


def start(
    who: str, command: Sequence[str], variables: Mapping[str, str], **how: Any
) -> subprocess.Popen[Any]:
    """Start a process as `engine.children.start` does, with a fork for our own workers."""
    if list(command[:3]) == children.python("-m") and command[3] in _WORKERS and _place:
        return Popen(command, env=dict(variables), **how)
    return _start(who, command, variables, **how)


def _forkable(command: Sequence[Any], variables: Mapping[str, str]) -> bool:
    """Return whether a fork is the same as what a command and variables start."""
    words = [os.fsdecode(word) for word in command]
    known = warm.names_jitrl(words[0]) and words[0] == JITRL
    ours = words[0] == sys.executable and len(words) > 2 and words[1 + (words[1] == "-P")] in ("-m", "-c")
    names = {
        name for name in {*variables, *os.environ} if name.startswith(_AT_START) and name not in _HARMLESS
    }
    return (known or ours) and all(variables.get(name) == os.environ.get(name) for name in names)


JITRL = str(Path(sys.executable).with_name("jitrl"))
"""The installed program."""


_ASK = f"""#!{sys.executable} -IS
import json, os, socket, struct, sys
asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
asked.connect(os.path.join(os.environ[{PLACE!r}].partition(":")[0], "socket"))
umask = os.umask(0)
os.umask(umask)
job = {{"command": [{JITRL!r}, *sys.argv[1:]], "env": dict(os.environ), "session": False, "descriptors": [0, 1, 2],
       "group": os.getpgrp(), "umask": umask, "folder": os.getcwd()}}
socket.send_fds(asked, [json.dumps(job).encode()], [0, 1, 2])
asked.recv(4)
sys.exit(os.waitstatus_to_exitcode(struct.unpack("<i", asked.recv(4))[0]))
"""


def program(folder: Path) -> Path:
    """Write a program `jitrl` into a folder, for shells: it asks for a fork, where there are any."""
    path = folder / "jitrl"
    if _place:
        _connected().close()
        path.write_text(_ASK, encoding="utf-8")
    else:
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m jitrl_tui.cli "$@"\n', encoding="utf-8")
    path.chmod(0o700)
    return path


def _connected() -> socket.socket:
    """Return a connection to the process that forks; start it if there is none."""
    folder, program = _place.split(":")
    address = os.path.join(folder, "socket")
    with open(os.path.join(folder, "lock"), "w") as lock:
        if not os.path.exists(address):
            fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(address):
            variables = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
            one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
            started = subprocess.Popen(
                [sys.executable, "-P", "-m", "tests.warm", address, program], env=variables | one_thread,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            )  # fmt: skip
            assert started.wait() == 0, "tests.warm did not start"
    asked = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    asked.connect(address)
    return asked

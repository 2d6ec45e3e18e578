"""Forks commands for tests from a process that has imported `jitrl`: `python -m tests.warm ADDRESS PID`.

An interpreter that imports the project takes half a second of processor time, and three seconds more with litellm. A
fork takes some milliseconds and is a process like any other: it has a number, the descriptors, the folder and the
variables that it was started with, and it ends as Python ends. `tests.commands.Popen` asks for one.

There is one such process for all workers of pytest. It ends with the process PID and kills what still runs then.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import signal
import socket
import struct
import sys
import tempfile
import termios
import threading
import types
import warnings
from typing import Any

LONGEST, MOST = 1 << 20, 64
"""Bytes and descriptors of a request."""
NUMBER = struct.Struct("<i")
AHEAD = ("tests.commands", "jitrl_tui.cli", "jitrl_tui.app", "engine.fork_server")
PACKAGES = (
    "engine.agents", "engine.bench", "engine.games", "engine.llm", "engine.memory", "engine.session",
    "engine.settings", "engine.values", "jitrl_tui.commands", "jitrl_tui.runs", "jitrl_tui.screens",
)  # fmt: skip
"""Modules, and packages with all their modules, that are imported before the first command."""
COMMAND = "jitrl_tui.cli"
"""The module that `jitrl` runs."""
LED, ALONE = "led", "alone"
"""In place of whether a command leads a session: it is the child of the leader, or leads it. The workers of both are
their children, with interpreters of their own."""
STACKS = signal.SIGUSR1
"""The signal at which a fork writes what its threads are doing."""


def stacks_file(folder: str, pid: int) -> str:
    """Return the file in which a fork writes what its threads are doing."""
    return os.path.join(folder, f"stacks-{pid}")


def names_jitrl(program: str) -> bool:
    """Return whether a program is `jitrl`, and not Python."""
    return os.path.basename(program) == "jitrl"


def main(address: str, program: int) -> None:
    """Fork until a program is gone. Return in each fork when it has become what it was asked to be, and has run."""
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listening.bind(address + ".new")
    listening.listen(64)
    for name in AHEAD:
        importlib.import_module(name)
    for name in PACKAGES:
        package = importlib.import_module(name)
        for module in pkgutil.walk_packages(package.__path__, f"{name}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # no fork looks for garbage among what all share
    os.rename(address + ".new", address)
    if os.fork():
        os._exit(0)  # The other one is nobody's child: tests look at theirs.
    job = _serve(listening, os.pidfd_open(program), os.path.dirname(address))
    if job is not None:
        from engine import children
        from tests import commands

        if job["session"] not in (LED, ALONE):
            commands.find_warm(f"{os.path.dirname(address)}:{program}")
            children.start = commands.start
        try:
            _run(job["command"], job["env"])
        except SystemExit as end:
            if end.code is not None and not isinstance(end.code, int):
                raise
            _end(end.code or 0)
        _end(0)


def _end(code: int) -> None:
    """End as Python does, but leave the memory to the system: taking all modules apart copies every page."""
    threading._shutdown()
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code & 0xFF)


def _serve(listening: socket.socket, program: int, folder: str) -> dict[str, Any] | None:
    """Fork; return the job in a fork, None in the end."""
    awake, waker = os.pipe()
    os.set_blocking(awake, False)
    os.set_blocking(waker, False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    running: dict[int, socket.socket] = {}
    while True:
        ready = select.select([listening, awake, program], [], [])[0]
        if program in ready:
            for pid in running:
                os.kill(pid, signal.SIGKILL)
            return None
        if awake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(awake, 1 << 12)
            _reap(running)
        if listening not in ready:
            continue
        asking = listening.accept()[0]
        text, descriptors, *_ = socket.recv_fds(asking, LONGEST, MOST)
        if not text:
            continue
        job = json.loads(text)
        if any("_API_" in name for name in job["env"]):
            from engine.llm.calls.gateway import import_litellm

            import_litellm()
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            for one in (listening, asking, *running.values()):
                one.close()
            for number in (awake, waker, program):
                os.close(number)
            _become(job, descriptors)
            if job["session"] == LED:
                _lead()
            faulthandler.register(STACKS, open(stacks_file(folder, os.getpid()), "w"))  # noqa: SIM115
            return job
        for number in descriptors:
            os.close(number)
        running[pid] = asking
        with contextlib.suppress(OSError):
            asking.send(NUMBER.pack(pid))


def _reap(running: dict[int, socket.socket]) -> None:
    with contextlib.suppress(ChildProcessError):
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            with running.pop(ended[0]) as asking, contextlib.suppress(OSError):
                asking.send(NUMBER.pack(ended[1]))


def _become(job: dict[str, Any], descriptors: list[int]) -> None:
    """Take the descriptors, the folder, the variables and the place among processes that a job gives."""
    moved = [os.dup2(number, 200 + at, inheritable=False) for at, number in enumerate(descriptors)]
    for number in descriptors:
        os.close(number)
    for number, wanted in zip(moved, job["descriptors"], strict=True):
        os.dup2(number, wanted)
        os.close(number)
    if job["session"]:
        os.setsid()
        if os.isatty(0):
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    else:
        with contextlib.suppress(PermissionError):
            os.setpgid(0, job["group"])
    os.chdir(os.fsencode(job["folder"]))
    os.umask(job["umask"])
    os.environ.clear()
    os.environ.update(job["env"])
    tempfile.tempdir = None  # found anew in these variables
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP, STACKS}:
        if number not in (signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
            with contextlib.suppress(OSError):
                signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        kind = io.BufferedReader if number == 0 else io.BufferedWriter
        errors = "strict" if number < 2 else "backslashreplace"
        stream = io.TextIOWrapper(
            kind(io.FileIO(number, "r" if number == 0 else "w", closefd=False)), "utf-8", errors,
            line_buffering=number == 2 or os.isatty(number),
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _lead() -> None:
    """Go on in a child of a process that leads the session, survives SIGHUP, and ends as the child does."""
    if child := os.fork():
        signal.signal(signal.SIGHUP, lambda *_: None)
        os._exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) & 0xFF)


def _run(command: list[str], variables: dict[str, str]) -> None:
    """Run what `python ...` or `jitrl ...` would run."""
    program, *words = command
    option, what, *rest = ["-m", COMMAND, *words] if names_jitrl(program) else words[words[0] == "-P" :]
    sys.path[:0] = filter(None, variables.get("PYTHONPATH", "").split(os.pathsep))
    if names_jitrl(program):
        sys.path.insert(0, os.path.dirname(program))
    elif words[0] != "-P" and "PYTHONSAFEPATH" not in variables:
        sys.path.insert(0, os.getcwd() if option == "-m" else "")
    sys.argv, sys.orig_argv = [program if names_jitrl(program) else option, *rest], command
    importlib.invalidate_caches()
    if option == "-c":
        sys.modules["__main__"] = module = types.ModuleType("__main__")
        exec(compile(what, "<string>", "exec"), module.__dict__)
    elif what == COMMAND:
        sys.exit(importlib.import_module(COMMAND).main())
    else:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the module was imported already
            runpy.run_module(what, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))

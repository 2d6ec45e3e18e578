"""A process that ends a Ray of our own when the command that began it is gone: `python -m engine.bench.on_ray.guard`.

After a SIGKILL of the command, or after the death of Ray's head, some processes of Ray go on for a minute and more.
The guard waits for the end of its input, which the command holds open. Then it ends all processes that have a file
open in Ray's folder, as each of Ray's processes has a log there, and removes the folder.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from engine import children
from engine.system import HAS_PROC, PROC

_END_S = 15.0
"""Seconds for which the guard looks for processes. A killed one is gone at once, but may have begun another."""
_GRACE_S = 1.0
"""Seconds that processes have to end by themselves."""


@contextlib.contextmanager
def guard_folder(folder: Path) -> Iterator[None]:
    """When this is left, end the processes that use a folder, and remove it."""
    guard = children.start(
        "the guard of Ray", children.python("-m", "engine.bench.on_ray.guard", str(folder)),
        children.environment(own=True), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    try:
        yield
    finally:
        assert guard.stdin is not None
        guard.stdin.close()
        guard.wait()


def processes_using(folder: Path) -> list[int]:
    """Return the processes, apart from this one and the one that began it, that have a file open in a folder."""
    found: list[int] = []
    if not HAS_PROC:  # then those processes end by themselves, or not
        return found
    for process in PROC.iterdir():
        if process.name.isdecimal() and int(process.name) not in (os.getpid(), os.getppid()):
            with contextlib.suppress(OSError):
                if any(f"{folder}/" in os.readlink(file) for file in (process / "fd").iterdir()):
                    found.append(int(process.name))
    return found


def main(folder: str) -> int:
    """Wait for the end of stdin, then clear up."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.read()
    began = time.monotonic()
    while (left := processes_using(Path(folder))) and time.monotonic() < began + _END_S:
        if time.monotonic() > began + _GRACE_S:
            for pid in left:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

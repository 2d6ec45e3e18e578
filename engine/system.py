"""What this system may lack: Linux tells much of processes in `/proc`, and limits and confines them; others do less."""

from __future__ import annotations

import calendar
import os
import resource
import time
from collections.abc import Iterator
from pathlib import Path

from engine import children, waits
from engine.errors import GameError

PROC = Path("/proc")
HAS_PROC = os.path.exists(PROC / "self/stat")
"""Whether the system tells of processes there. Where it does not, `ps` does."""


def start_time(pid: int) -> int | None:
    """Return when a process began, as the system counts it; None if it does not run, or is a zombie."""
    if not HAS_PROC:
        for line in _ps("-o", "stat=", "-o", "lstart=", "-p", str(pid)):
            state, *when = line.split()
            if state[0] != "Z":
                return calendar.timegm(time.strptime(" ".join(when), "%a %b %d %H:%M:%S %Y"))
        return None
    try:
        stat = (PROC / str(pid) / "stat").read_text()
    except OSError:
        return None
    # The command is in brackets and may contain spaces and brackets.
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] in "ZX" else int(fields[19])


def processes() -> Iterator[tuple[int, int, list[bytes]]]:
    """Yield all processes: their numbers, the numbers of their parents, and their commands in words."""
    if not HAS_PROC:
        for line in _ps("-A", "-ww", "-o", "pid=", "-o", "ppid=", "-o", "command="):
            number, starter, *words = line.encode().split()
            yield int(number), int(starter), words
        return
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                yield int(entry.name), parent, (entry / "cmdline").read_bytes().split(b"\0")
            except OSError:  # it has ended
                continue


def missing() -> list[str]:
    """Return what this system does not do for jitrl, and what that means; nothing on Linux."""
    limit = f"import sys; from engine.confine import lower; sys.exit(not lower({resource.RLIMIT_AS}, {2**40}))"
    limited = children.run(
        "the check of limits", children.python("-c", limit), children.environment(own=True),
        timeout=waits.SYSTEM_LOOK.seconds,
    )  # fmt: skip
    lacks = {
        "no limit on memory: a broken story can use all of it": limited.returncode != 0,
        "no limit on the browser's memory: a page can use all of it": not hasattr(resource, "prlimit"),
        "no /proc: processor time of running children is not counted, and free memory is not checked": not HAS_PROC,
    }
    return [text for text, lacking in lacks.items() if lacking]


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _ps(*arguments: str) -> list[str]:
    try:
        done = children.run(
            "ps", [children.program("ps") or "ps", *arguments], children.environment({"LC_ALL": "C", "TZ": "UTC"}),
            timeout=waits.SYSTEM_LOOK.seconds, capture_output=True, text=True,
        )  # fmt: skip
    except GameError:
        return []
    return str(done.stdout).splitlines()

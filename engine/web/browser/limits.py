"""What a page may take of us: time, memory, events, and characters. One that takes more ends its episode."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import uuid
from collections import Counter
from dataclasses import dataclass

from engine import system, waits

LONGEST_ADDRESS = 4_000
LONGEST_TITLE = 500
LONGEST_TEXT = 20_000
"""Characters of one name or value on a page."""
LONGEST_PAGE = 1_000_000
"""Characters of the snapshot of a page."""
MOST_UNREAD = 2
"""Times in a row that a page may not be readable."""
MOST_NOTES = 10
"""Notes on one action."""

MOST_EVENTS = {"requests": 600, "page loads": 50, "dialogs": 20, "new tabs": 10, "downloads": 20}
"""What pages may do during one action. An ordinary page sends a few hundred requests at most when it loads."""


@dataclass(frozen=True, slots=True)
class BrowserLimits:
    """Timeouts in seconds, memory, and the size of the viewport in CSS pixels.

    Attributes:
        start: Starting the browser.
        action: One action, such as a click.
        load: Loading a page, at the beginning and after navigation.
        settle: Waiting until a page can be read after an action.
        snapshot: Reading the page.
        margin: What the browser itself needs besides these for one of them. If it takes longer, it counts as hung.
        episode: Total time of the browser in one episode. The time that a model or a person needs does not count.
        report_every: While an action takes longer, it is told each time that so many seconds have passed.
        memory: MiB that each process of the browser may have as data. A page that needs more does not get it, or
            crashes.
    """

    start: float = waits.BROWSER_START.seconds
    action: float = waits.BROWSER_ACTION.seconds
    load: float = waits.BROWSER_LOAD.seconds
    settle: float = waits.BROWSER_SETTLE.seconds
    snapshot: float = waits.BROWSER_SNAPSHOT.seconds
    margin: float = waits.BROWSER_MARGIN.seconds
    episode: float = waits.BROWSER_EPISODE.seconds
    report_every: float = 10.0
    memory: int = 1024
    width: int = 1280
    height: int = 720


class PageEvents:
    """Counts what pages do during one action."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._acting = False

    def begin(self) -> None:
        """Begin an action."""
        self._acting = True
        self._counts.clear()

    def end(self) -> None:
        """End it. What pages do while somebody thinks is not counted."""
        self._acting = False

    def count(self, what: str) -> str:
        """Count one of `MOST_EVENTS`; return a sentence if it is the first one too many, else ""."""
        self._counts[what] += self._acting
        most = MOST_EVENTS[what]
        if not self._acting or self._counts[what] != most + 1:
            return ""
        return f"the page went too far: more than {most} {what} during one action"


def clipped(text: str, most: int) -> str:
    """Return a text, or its beginning with a mark if it is longer than `most` characters."""
    return text if len(text) <= most else f"{text[:most]}..."


def new_mark() -> tuple[str, tuple[str, ...]]:
    """Return a mark by which the processes of a browser are known, and the arguments that the browser gets for it."""
    mark = f"--jitrl-browser={uuid.uuid4().hex}"
    return mark, ("--renderer-process-limit=4", mark)


def hold_memory(mark: str, mebibytes: int) -> None:
    """Limit the memory of the browser that was started with the argument `mark`, and of what it starts later."""
    if not hasattr(resource, "prlimit"):
        return
    most = mebibytes << 20
    held: set[int] = set()
    while new := _family(mark) - held:  # what was started meanwhile
        for pid in new:
            with contextlib.suppress(OSError, ValueError):
                resource.prlimit(pid, resource.RLIMIT_DATA, (most, most))
        held |= new


def end_browser(mark: str) -> None:
    """End what is left of the browser that was started with the argument `mark`."""
    for pid in _family(mark):
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def starter_of(mark: str) -> int:
    """Return our child process that started the browser with the argument `mark`; 0 if there is none."""
    parents, marked = _processes(mark)
    starters = {parents[pid] for pid in marked}
    return next((pid for pid in starters if parents.get(pid) == os.getpid()), 0)


def _family(mark: str) -> set[int]:
    """Return the process that has this argument, and all that come from it."""
    parents, found = _processes(mark)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def _processes(mark: str) -> tuple[dict[int, int], set[int]]:
    """Return the parents of all processes, and those processes that have this argument."""
    parents, marked = dict[int, int](), set[int]()
    for pid, parent, words in system.processes():
        parents[pid] = parent
        if mark.encode() in words:
            marked.add(pid)
    return parents, marked

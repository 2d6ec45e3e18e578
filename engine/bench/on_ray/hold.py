"""Keeps two workers from playing one cell at the same time, also on different machines.

A node that the cluster believes dead may still be playing. Before the cell is begun elsewhere, the command that plays
the run writes a new token into the cell's folder. A worker that does not find its own token there stops after its
running step. The new worker waits until the old one has let go of the lock.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from engine import waits
from engine.disk import read_text, take_lock, write_private
from engine.errors import FailingAs, StorageError
from engine.paths import ensure_folder

TOKEN, LOCK = "holder", "lock"
"""Names of the files in a cell's folder."""
WAIT_S = waits.RAY_CELL.seconds
"""Seconds for which a new worker waits for the old one, which may be in the middle of a call of its model."""
_PAUSE_S = 0.2


class Superseded(Exception):
    """The cell was given to another worker. Not an error."""


def assign(folder: Path, token: str) -> None:
    """Give a cell to the worker with this token.

    Raises:
        StorageError: It cannot be written.
    """
    with FailingAs(StorageError, f"cannot write to {folder}", "free some space"):
        write_private(ensure_folder(folder) / TOKEN, token)


def is_assigned(folder: Path, token: str) -> bool:
    """Whether the cell is still that of the worker with this token."""
    try:
        return read_text(folder / TOKEN) == token
    except (OSError, ValueError):
        return False


@contextlib.contextmanager
def hold_cell(
    folder: Path, token: str, stopped: Callable[[], bool], waiting: Callable[[], None], wait_s: float = WAIT_S
) -> Iterator[bool]:
    """Hold a cell's lock; wait for the worker that still has it.

    Args:
        folder: Folder of the cell.
        token: The worker's token.
        stopped: Returns whether the worker was asked to stop.
        waiting: Called if another worker still has the cell.
        wait_s: Seconds to wait.

    Yields:
        False if it was asked to stop while it waited.

    Raises:
        Superseded: The cell was given to another worker.
        StorageError: Another worker did not let go of it in time, or the folder cannot be written.
    """
    with FailingAs(StorageError, f"cannot write to {folder}"):
        fd = os.open(ensure_folder(folder) / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        yield _taken(fd, folder, token, stopped, waiting, wait_s)
    finally:
        os.close(fd)


def _taken(
    fd: int, folder: Path, token: str, stopped: Callable[[], bool], waiting: Callable[[], None], wait_s: float
) -> bool:
    end = time.monotonic() + wait_s
    for number in itertools.count():
        if not is_assigned(folder, token):
            raise Superseded
        if take_lock(fd, folder / LOCK):
            return True
        if number == 0:
            waiting()
        if stopped():
            return False
        if time.monotonic() > end:
            raise StorageError(f"another worker has been playing in {folder} for {wait_s:.0f} s; resume the run later")
        time.sleep(_PAUSE_S)
    raise AssertionError  # never reached


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of a file, as far as this machine can tell; False if there is no such file."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not take_lock(fd, path)
    except StorageError:
        return False
    finally:
        os.close(fd)

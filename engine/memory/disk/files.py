"""File operations of memory: files are private (mode 0600), links are not followed, writes are synced to disk."""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from engine import waits
from engine.disk import FILE_MODE, open_descriptor, take_lock, tighten
from engine.errors import StorageError

JOURNAL = "episodes.jnl"
"""The file of a memory's journal, in the folder of its scope."""
LOCK_WAIT_S = waits.LOCK.seconds
_BLOCK = 4 << 20


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock between processes. It uses flock and works on local disks only.

    Raises:
        StorageError: The file system has no locks, or another process held the lock for `LOCK_WAIT_S` seconds.
        OSError: The lock file cannot be created.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC, FILE_MODE)
    try:
        tighten(fd)
        deadline, pause = time.monotonic() + LOCK_WAIT_S, 0.0005
        while not take_lock(fd, path):
            if time.monotonic() > deadline:
                raise StorageError(
                    f"another program has been writing to {path.parent} for {LOCK_WAIT_S:.0f} s; "
                    "close it and try again; nothing stored before is lost"
                )
            time.sleep(pause)
            pause = min(pause * 1.5, 0.01)
        try:
            yield
        finally:
            fcntl.flock(fd, fcntl.LOCK_UN)  # closing it is not enough where a forked child has it, too
    finally:
        os.close(fd)


@contextlib.contextmanager
def new_file(path: Path, *, replace: bool = False, over: bool = False) -> Iterator[int]:
    """Yield the descriptor of a new file of mode 0600.

    Args:
        replace: An existing file is emptied first.
        over: An existing file is written over from its beginning. This is faster than replacing it, but readers may
            see half of it.

    Raises:
        FileExistsError: There is such a file, and neither `replace` nor `over` is set.
    """
    flags = os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    fd = os.open(path, flags | (os.O_TRUNC if replace else 0 if over else os.O_EXCL), FILE_MODE)
    try:
        tighten(fd)
        yield fd
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    """Write all of `data`, in as many calls as that takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def write_lines(fd: int, lines: Iterable[bytes]) -> None:
    """Write many small pieces with few large writes."""
    held: list[bytes] = []
    size = 0
    for line in lines:
        held.append(line)
        size += len(line)
        if size >= _BLOCK:
            write_all(fd, b"".join(held))
            held, size = [], 0
    write_all(fd, b"".join(held))


def replace_file(
    path: Path, lines: Iterable[bytes], *, keep_as: Path | None = None, durable: bool = True
) -> None:
    """Replace a file atomically.

    Args:
        path: The file.
        lines: Its new contents.
        keep_as: The old file is kept under this path, unless the path exists.
        durable: Sync to disk. Without it, a power cut may leave a damaged file.

    Raises:
        OSError: Writing failed; the old file is unchanged.
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    before = path.with_name(f"{path.name}.{os.getpid()}.before.part")
    try:
        with new_file(partial, replace=True) as fd:
            write_lines(fd, lines)
            if durable:
                os.fsync(fd)
        if keep_as is not None and not keep_as.exists():
            tighten(path)
            os.link(path, keep_as)
        if not durable:
            os.replace(partial, path)
            return
        with contextlib.suppress(FileNotFoundError):
            os.link(path, before)
        os.replace(partial, path)
        try:
            sync_folder(path.parent)
        except OSError:  # the new name may not survive a power cut: what was there before is put back
            if before.exists():
                os.replace(before, path)
            else:
                path.unlink()
            raise
    finally:
        for left in (partial, before):
            with contextlib.suppress(OSError):
                left.unlink()


def append_durably(path: Path, end: int, data: bytes, *, durable: bool = True) -> None:
    """Append `data` to a file of `end` bytes and sync it. If that fails, the file is truncated to `end` again.

    Args:
        path, end, data: The file, its size, and what is appended.
        durable: Sync it. Without that, a power cut may leave a damaged file.

    Raises:
        OSError: Writing failed.
    """
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        tighten(fd)
        write_all(fd, data)
        if durable:
            os.fsync(fd)
    except BaseException:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, end)
            os.fsync(fd)
        raise
    finally:
        os.close(fd)


def cut_file(path: Path, end: int, aside: Path) -> None:
    """Truncate a file to `end` bytes. The rest is copied to the file `aside` first."""
    with os.fdopen(open_descriptor(path, os.O_NOFOLLOW), "rb") as source, new_file(aside, replace=True) as fd:
        source.seek(end)
        write_lines(fd, iter(lambda: source.read(_BLOCK), b""))
        os.fsync(fd)
    os.truncate(path, end)


def sync_above(folder: Path) -> None:
    """Sync the two folders above one, so that a new folder of a scope, and that of the memory, survive a power cut."""
    for above in (folder.parent, folder.parent.parent):
        with contextlib.suppress(PermissionError):
            sync_folder(above)


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that new and renamed files in it survive a power cut."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)

"""Files that are read without waiting for them, and files that only their owner may read.

A file that a user names, or that lies in a folder of theirs, may be a named pipe, a device or far too large. Opening
a pipe waits for a writer, and reading a device never ends. So what is read is a regular file of limited size.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import stat
import tempfile
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

from engine.errors import FailingAs, StorageError

LARGEST = 64 << 20
"""Most bytes that are read of a file at once, where its format has no limit of its own."""
_PART = 1 << 20
MOST_IN_FOLDER = 100_000
"""Most files and folders that are looked at below a folder in which something is looked for."""
FILE_MODE, FOLDER_MODE = 0o600, 0o700
_KINDS = (
    (stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISLNK, "a link"),
)  # fmt: skip


class Unreadable(OSError):
    """A file is of a kind or size that is not read. `strerror` says which."""


def open_descriptor(path: str | Path, flags: int = 0) -> int:
    """Open a regular file for reading at once, and return its descriptor.

    Args:
        path: The file; links are followed unless `flags` has `O_NOFOLLOW`.
        flags: Further flags of `os.open`.

    Raises:
        Unreadable: It is a folder, a named pipe, a device or a socket.
        OSError: It cannot be opened.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC | flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # A socket, or a device that is not there.
            raise Unreadable(errno.ENXIO, "it is a socket or a device, not a file", str(path)) from None
        raise
    try:
        mode = os.fstat(fd).st_mode
        if not stat.S_ISREG(mode):
            kind = next((name for fits, name in _KINDS if fits(mode)), "something else")
            raise Unreadable(errno.EINVAL, f"it is {kind}, not a file", str(path))
    except BaseException:
        os.close(fd)
        raise
    return fd


def open_binary(path: str | Path) -> BufferedReader:
    """Open a regular file for reading bytes; see `open_descriptor`."""
    return os.fdopen(open_descriptor(path), "rb")


def read_bytes(path: str | Path, limit: int = LARGEST) -> bytes:
    """Return the contents of a regular file.

    Raises:
        Unreadable: It is no regular file, or has more than `limit` bytes.
        OSError: It cannot be read.
    """
    parts, left = [], limit
    with open_binary(path) as file:
        while part := file.read(_PART):  # a whole read takes as much memory as it may return
            parts.append(part)
            left -= len(part)
            if left < 0:
                raise Unreadable(errno.EFBIG, f"it has more than {limit:,} bytes", str(path))
    return b"".join(parts)


def read_text(path: str | Path, limit: int = LARGEST) -> str:
    """Return the contents of a regular file as text in UTF-8; raises as `read_bytes` does, and UnicodeDecodeError.

    A byte order mark at the beginning, as some editors write it, is no part of the text.
    """
    return read_bytes(path, limit).decode("utf-8-sig")


def take_lock(fd: int, path: str | Path) -> bool:
    """Take the lock of an open file; return whether it is ours, and not that of another process.

    Args:
        fd: The file.
        path: Its path, for messages.

    Raises:
        StorageError: The file system has no locks.
    """
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise StorageError(
            f"the file system of {printable(Path(path).parent)} has no locks ({error.strerror}), so two programs could "
            "write there at the same time; use a folder on another one with --saves DIR"
        ) from None
    return True


def lines_of(path: str | Path, longest: int) -> Iterator[bytes]:
    """Yield the lines of a regular file with their ends. The last one may have none: it is what a crash leaves.

    Raises:
        Unreadable: It is no regular file, or has a line of more than `longest` bytes.
        OSError: It cannot be read.
    """
    with open_binary(path) as file:
        for number, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
            if len(line) > longest:
                raise Unreadable(errno.EFBIG, f"line {number} is longer than {longest >> 20} MB", str(path))
            yield line


def found(folder: Path, name: str) -> list[Path]:
    """Return the regular files of this name in a folder and the folders in it, sorted. Links are not followed.

    Raises:
        Unreadable: There are more than `MOST_IN_FOLDER` files and folders below it.
    """
    files: list[Path] = []
    left, folders = MOST_IN_FOLDER, [folder]
    while folders:
        with contextlib.suppress(PermissionError, FileNotFoundError), os.scandir(folders.pop()) as here:
            for each in here:
                left -= 1
                if left < 0:
                    raise Unreadable(errno.EFBIG, f"it has more than {MOST_IN_FOLDER:,} files", str(folder))
                if each.is_dir(follow_symlinks=False):
                    folders.append(Path(each.path))
                elif each.name == name and each.is_file(follow_symlinks=False):
                    files.append(Path(each.path))
    return sorted(files)


def printable(text: str | Path) -> str:
    """Return text that can be printed: bytes of a file name that are not UTF-8 are written as `\\xff`."""
    try:
        return str(text).encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # Half of a pair, which no file name has.
        return str(text).encode("utf-8", "backslashreplace").decode("utf-8")


# ------------------------------------------------------------------------------------------- private


def private_folder(folder: Path) -> None:
    """Create a folder of mode 0700, with the folders above it that are missing; an existing one gets this mode.

    Raises:
        OSError: It cannot be created, or is not a folder.
    """
    missing = [folder]
    while not missing[-1].exists() and missing[-1].parent != missing[-1]:
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        each.mkdir(mode=FOLDER_MODE, exist_ok=True)
    tighten(folder, FOLDER_MODE)


def tighten(what: int | Path, mode: int = FILE_MODE) -> None:
    """Take everybody else's rights from a file or folder. A file system that has no rights is left as it is."""
    with contextlib.suppress(OSError):
        if stat.S_IMODE(os.stat(what).st_mode) & ~mode & 0o777:
            os.chmod(what, mode)


def private_file(path: Path) -> None:
    """Make sure that a file is there and only its owner may read it, before a library opens it to write.

    Raises:
        Unreadable: There is something else, such as a named pipe.
        OSError: It cannot be created.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE))
    except FileExistsError:
        if not stat.S_ISREG(path.stat().st_mode):
            raise Unreadable(errno.EINVAL, "it is no file", str(path)) from None
        tighten(path)


def private_database(path: Path) -> None:
    """Make the folder and the file of an SQLite database private; SQLite's other files get the rights of this one.

    Raises:
        OSError: They cannot be created.
    """
    private_folder(path.parent)
    private_file(path)
    for ending in ("-wal", "-shm", "-journal"):
        tighten(path.with_name(path.name + ending))


def write_private(path: Path, data: str | bytes) -> None:
    """Write a file of mode 0600 atomically; text is written in UTF-8.

    Raises:
        OSError: Writing failed; an existing file is unchanged.
    """
    fd, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data.encode("utf-8") if isinstance(data, str) else data)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def cached_json(path: Path) -> dict[str, Any]:
    """Return the JSON object that `cache_json` wrote; {} if there is none or it cannot be read."""
    with contextlib.suppress(OSError, ValueError, RecursionError):
        found = json.loads(read_text(path))
        if isinstance(found, dict):
            return found
    return {}


def cache_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON object that can be found out again. Errors of the disk are ignored."""
    with contextlib.suppress(OSError):
        private_folder(path.parent)
        write_private(path, json.dumps(values, indent=1) + "\n")


def write_json(path: Path, values: Any) -> None:
    """Write a private file of JSON that is needed later.

    Raises:
        StorageError: It cannot be written; an existing file is unchanged.
    """
    try:
        write_private(path, json.dumps(values, indent=1) + "\n")
    except OSError as error:
        folder = printable(path.parent)
        raise StorageError(f"cannot write to {folder}: {error.strerror}; free some space or use --saves DIR") from None


def replace_file(path: Path, data: bytes) -> None:
    """Write a file that the user named, as a whole.

    Raises:
        StorageError: It cannot be written; an existing file is unchanged.
    """
    with new_version_of(path) as partial, partial.open("xb") as file:
        file.write(data)


@contextlib.contextmanager
def new_version_of(path: Path) -> Iterator[Path]:
    """Yield where to write a file that takes the place of the one that the user named when the block ends.

    Raises:
        StorageError: It cannot be written; an existing file is unchanged.
    """
    if not path.name:
        raise StorageError(f"cannot write {printable(path)}: it is no name of a file")
    partial = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        with FailingAs(StorageError, f"cannot write {printable(path)}"):
            yield partial
            os.replace(partial, path)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)

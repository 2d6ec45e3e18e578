"""Reads a file that grows, line by line: each call returns the lines that are new."""

from __future__ import annotations

import os
from pathlib import Path

from engine import limits
from engine.disk import open_descriptor, printable
from engine.errors import BadFile

MOST = 4 << 20
"""Bytes that one call reads at most, unless a single line is longer."""


class GrowingLines:
    """The lines of a file that another process appends to.

    A file that is not there yet has no lines. One that was replaced, or has become shorter, is read from its beginning
    again, and `restarted` says so.

    Args:
        path: The file.
        longest: Longest line in bytes.
        at: Where to begin, in bytes.

    Attributes:
        restarted: Whether the last call of `new` began at the beginning of another file.
        more: Whether the last call of `new` left something that can be read at once.
    """

    def __init__(self, path: Path, longest: int = limits.LINE, at: int = 0) -> None:
        self.restarted = self.more = False
        self.number = 0
        self._path = path
        self._longest = longest
        self._at = at
        self._file: tuple[int, int] | None = None

    def new(self, most: int = MOST) -> list[bytes]:
        """Return the complete lines that were not returned yet, oldest first, with their ends.

        Raises:
            BadFile: The file cannot be read, or a line is too long. The next call goes on behind such a line.
        """
        self.restarted = self.more = False
        try:
            now = os.stat(self._path)
            if self._file == (now.st_dev, now.st_ino) and now.st_size == self._at:
                return []
            return self._read(most)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadFile(f"cannot read {printable(self._path)}: {error.strerror}") from None

    def _read(self, most: int) -> list[bytes]:
        fd = open_descriptor(self._path)
        try:
            status = os.fstat(fd)
            file = status.st_dev, status.st_ino
            if (self._file is not None and file != self._file) or status.st_size < self._at:
                self._at, self.number, self.restarted = 0, 0, True
            self._file = file
            data = os.pread(fd, most, self._at)
            while b"\n" not in data and len(data) <= self._longest:
                further = os.pread(fd, most, self._at + len(data))
                if not further:
                    return []
                data += further
        finally:
            os.close(fd)
        end = data.rfind(b"\n") + 1
        if not end:  # Nothing of it is kept; what follows its end is read.
            self._at += len(data)
            raise BadFile(f"a line of {printable(self._path)} is longer than {self._longest:,} bytes")
        self._at += end
        self.more = self._at < status.st_size
        found = data[:end].splitlines(keepends=True)
        return found

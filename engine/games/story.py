"""What is known of a story file, and how it is read."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from engine.disk import Unreadable, open_binary, printable
from engine.errors import GameError
from engine.games.blorb import is_blorb, not_played, read_blorb

_OTHERS = {b"Glul": "Glulx", b"TADS2 bin": "TADS 2", b"T3-image": "TADS 3"}
"""How stories for other machines begin."""
LARGEST = 2**20
"""Most bytes of a story file. Stories of version 8, the largest, have 512 KiB; Jericho knows padded files."""


def read_file(path: str | Path) -> tuple[bytes, str]:
    """Return the story in a file, and its title if it is a Blorb file that has one, else "".

    Raises:
        engine.disk.Unreadable: It is no regular file, or too large for a story.
        OSError: It cannot be read.
        GameError: It is a story for another machine, or a Blorb file that holds none or is damaged.
    """
    with open_binary(path) as file:
        head = file.read(12)
        if is_blorb(head):
            return read_blorb(file, printable(path), LARGEST)
        for begins, kind in _OTHERS.items():
            if head.startswith(begins):
                raise GameError(f"{printable(path)} is a {kind} story, {not_played(kind)}")
        data = head + file.read(LARGEST + 1 - len(head))
    if len(data) > LARGEST:
        raise Unreadable(errno.EFBIG, f"it has more than {LARGEST:,} bytes", str(path))
    return data, ""


def story_bytes(path: str | Path) -> bytes:
    """Return the story in a file; raises as `read_file` does."""
    return read_file(path)[0]


@contextlib.contextmanager
def bare_file(path: Path) -> Iterator[str]:
    """Give the path of a file with nothing but the story, and a name that Jericho can take: with a dot in it.

    It is the file itself, or else a temporary copy of the story in it.
    """
    with open_binary(path) as file:
        bare = "." in path.name and not is_blorb(file.read(12))
    if bare:
        yield str(path)
        return
    with tempfile.NamedTemporaryFile(prefix="jitrl-", suffix=".z5") as copy:
        copy.write(story_bytes(path))
        copy.flush()
        yield copy.name


class StoryPath(str):
    """The path of a story file for Jericho, which takes texts only: this one is encoded as the file system does it."""

    def encode(self, encoding: str = "utf-8", errors: str = "strict") -> bytes:
        """Return the bytes of the path."""
        return _Encoded(os.fsencode(str(self)))


class _Encoded(bytes):
    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> str:
        return os.fsdecode(bytes(self))


@dataclass(frozen=True, slots=True)
class Story:
    """One story file that looks playable.

    Attributes:
        digest: md5 of the file.
        shipped: It comes with jitrl.
        supported: Score, end and valid actions are known for it.
        metadata: File with a generated story's facts and rules, None for others.
        licence: As far as it is known.
        origin: Where it is from, in words.
    """

    name: str
    title: str
    path: Path
    digest: str
    shipped: bool = False
    supported: bool = False
    max_score: float | None = None
    metadata: Path | None = None
    description: str = ""
    licence: str = ""
    origin: str = "a file of yours"

    @property
    def scope(self) -> str:
        """Key of the memory that belongs to this story."""
        return f"game/{self.name}-{self.digest[:8]}"

    @property
    def untitled(self) -> bool:
        """Whether no better title is known than the file's name."""
        return self.title == printable(self.path.stem)

    def called(self, printed: str) -> Story:
        """Return the story with the title that it prints, unless a better one is known or it prints none."""
        return replace(self, title=printed) if printed and self.untitled else self

"""What is known of a story file, and how it is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from engine.disk import read_bytes

LARGEST = 2**20
"""Most bytes of a story file. Stories of version 8, the largest, have 512 KiB; Jericho knows padded files."""


def story_bytes(path: str | Path) -> bytes:
    """Return the contents of a story file.

    Raises:
        engine.disk.Unreadable: It is no regular file, or too large for a story.
        OSError: It cannot be read.
    """
    return read_bytes(path, LARGEST)


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

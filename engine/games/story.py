"""What is known of a story file, and how it is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from engine.disk import open_descriptor, read_bytes

LARGEST = 2**20
"""Most bytes of a story file. Stories of version 8, the largest, have 512 KiB; Jericho knows padded files."""


def story_bytes(path: str | Path) -> bytes:
    """Return the contents of a story file.

    Raises:
        engine.disk.Unreadable: It is no regular file, or too large for a story.
        OSError: It cannot be read.
    """
    return read_bytes(path, LARGEST)


def name_for_jericho(path: str | Path) -> str:
    """Return a path of the file whose name is valid UTF-8: Jericho takes no other.

    For another name it is the path of an open descriptor, which stays open as long as this process.

    Raises:
        OSError: The file cannot be opened.
    """
    try:
        str(path).encode("utf-8")
    except UnicodeEncodeError:
        return f"/dev/fd/{open_descriptor(path)}"
    return str(path)


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

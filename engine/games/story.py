"""What is known of a story file."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


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

"""Makes stories with TextWorld; the same recipe gives the same file, byte for byte.

A recipe is a kind, a seed and a size. Each story is made in a process with a fixed hash seed, because TextWorld
iterates over sets. The date that Inform writes into the header is replaced by a fixed one. TextWorld is an optional
dependency (the extra `make`), and only that process imports it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine import children, extras, waits
from engine.errors import GameError, MissingError, UsageError

KINDS = ("cooking", "house")
SIZES = ("small", "medium", "large")
SERIAL = b"250101"
"""Replaces the date of compilation in the header (bytes 0x12 to 0x17)."""
_SECONDS = waits.STORY_BUILD.seconds


@dataclass(frozen=True, slots=True)
class Recipe:
    """Everything that determines a story.

    Attributes:
        name: Name in the catalogue. The files are `tw-NAME.z8`, `tw-NAME.json` (needed for play) and
            `tw-NAME.walkthrough.json` (for tests only). Jericho keeps score only for generated stories with a file
            name that begins with `tw-`.
        title: Title that the story prints.
        kind: "cooking" or "house".
        size: "small", "medium" or "large".
        seed: Random seed, at least 0.
        difficulty: "easy", "medium" or "hard", shown to people.
        description: A sentence shown to people.
    """

    name: str
    title: str
    kind: str
    size: str
    seed: int
    difficulty: str
    description: str


SHIPPED: tuple[Recipe, ...] = (
    Recipe(
        name="pantry",
        title="The Pantry",
        kind="cooking",
        size="medium",
        seed=10,
        difficulty="easy",
        description="Six ingredients to fetch and fry, no doors, nothing to spoil: many small points.",
    ),
    Recipe(
        name="manor",
        title="The Manor",
        kind="house",
        size="medium",
        seed=12,
        difficulty="medium",
        description="Five treasures to bring to the hall, two locks with their keys, one thing to leave alone.",
    ),
    Recipe(
        name="feast",
        title="The Feast",
        kind="cooking",
        size="large",
        seed=15,
        difficulty="hard",
        description="Five ingredients to fetch, cut and cook as the recipe says, and many ways to spoil them.",
    ),
)


def make_story(recipe: Recipe, folder: Path) -> dict[str, Any]:
    """Make the story, its metadata and its walkthrough in `folder`; return its index entry.

    Raises:
        UsageError: Unknown kind or size, a negative seed, or an invalid name.
        MissingError: TextWorld is not installed.
        GameError: Making the story failed or took too long. With some seeds a house cannot be won.
    """
    if recipe.kind not in KINDS or recipe.size not in SIZES or recipe.seed < 0:
        raise UsageError(
            f"stories are of kind {' or '.join(KINDS)}, of size {', '.join(SIZES)}, with a seed from 0"
        )
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,40}", recipe.name):
        raise UsageError(f"{recipe.name!r} is no name for a story: use small letters, digits and hyphens")
    folder.mkdir(parents=True, exist_ok=True)
    command = children.python("-m", "engine.games.stories.compile", json.dumps(asdict(recipe)), str(folder))
    environment = children.environment({"PYTHONHASHSEED": "0"}, own=True)
    done = children.run(
        f"making {recipe.name}", command, environment, capture_output=True, text=True, timeout=_SECONDS
    )
    if done.returncode == MissingError.exit_code:
        raise extras.missing_extra("make")
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise GameError(f"{recipe.name} could not be made: {last}; another seed may work")
    entry: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return entry


def make_shipped(folder: Path) -> list[dict[str, Any]]:
    """Make every shipped story again in `folder`, with `index.json` and `walkthroughs.json`."""
    entries = [make_story(recipe, folder) for recipe in SHIPPED]
    walkthroughs = {}
    for recipe in SHIPPED:
        path = folder / f"tw-{recipe.name}.walkthrough.json"
        walkthroughs[recipe.name] = json.loads(path.read_text(encoding="utf-8"))
        path.unlink()
    for name, value in (("index", entries), ("walkthroughs", walkthroughs)):
        text = json.dumps(value, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return entries


def md5(path: Path) -> str:
    """Return the MD5 of a file, in hexadecimal."""
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def main() -> None:
    """Make all shipped stories: `python -m engine.games.stories.recipe FOLDER`."""
    parser = argparse.ArgumentParser(description="Make the shipped stories again.")
    parser.add_argument("folder", type=Path)
    for entry in make_shipped(parser.parse_args().folder):
        sys.stdout.write(f"{entry['name']} {entry['md5']} max {entry['max_score']}\n")


if __name__ == "__main__":
    main()

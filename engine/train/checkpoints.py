"""Checkpoints of a run."""

from __future__ import annotations

import shutil
from pathlib import Path

CHECKPOINTS = "checkpoints"
"""Folder of a run that they are in."""
STATE = "trainer_state.json"
"""File that the trainer writes last."""


def latest(folder: Path, also: str = STATE) -> Path | None:
    """Return the last whole checkpoint, None if there is none.

    Unfinished ones after it, which a kill leaves, are removed.

    Args:
        folder: Their folder.
        also: Name of another file that a whole one has.
    """
    found = sorted(
        (path for path in folder.glob("checkpoint-*") if path.name.rpartition("-")[2].isdigit()),
        key=lambda path: int(path.name.rpartition("-")[2]),
        reverse=True,
    )
    for path in found:
        if (path / STATE).is_file() and (path / also).is_file():
            return path
        shutil.rmtree(path, ignore_errors=True)
    return None

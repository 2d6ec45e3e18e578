"""What training does with recordings of sessions."""

from __future__ import annotations

import os
from pathlib import Path

from engine.disk import read_bytes, write_private
from engine.errors import StorageError


def cut(path: Path, episodes: int) -> None:
    """Remove from a recording all that comes after its first finished episodes.

    Args:
        path: The file; nothing happens if it is not there.
        episodes: Number of finished episodes that stay.

    Raises:
        StorageError: It cannot be written.
    """
    if not path.is_file():
        return
    kept = at = ended = 0
    data = read_bytes(path, limit=os.stat(path).st_size + 1)
    for line in data.splitlines(keepends=True):
        at += len(line)
        if line.startswith(b'{"event":"SessionStarted"') and kept == 0:
            kept = at
        if line.startswith(b'{"event":"EpisodeEnded"') and line.endswith(b"\n"):
            ended += 1
            if ended <= episodes:
                kept = at
    if kept == len(data):
        return
    try:
        write_private(path, data[:kept])
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror}") from None

"""Reports of internal errors: a traceback in a file, and a sentence that names the file.

Tracebacks have no local variables, because an API key could be among them.
"""

from __future__ import annotations

import tempfile
import time
import traceback
from pathlib import Path


def named(error: BaseException | None) -> str:
    """Return the type and message of an exception in one line."""
    return f"{type(error).__name__}: {error}" if error is not None else "no reason given"


def written_down(error: BaseException | None, saves: Path | None) -> str:
    """Write a traceback to the folder `log` of the saves folder, or to a temporary file; return a sentence about it."""
    folder = saves / "log" if saves is not None else Path(tempfile.gettempdir())
    where = folder / f"jitrl-crash-{time.strftime('%Y%m%d-%H%M%S')}.txt"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        where.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
    except OSError:
        return "The details could not be written down."
    return f"The details are in {where}."

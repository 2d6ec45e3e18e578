"""Reports of internal errors: a traceback in a file, and a sentence that names the file.

Tracebacks have no local variables, because an API key could be among them. Keys in messages are removed.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
import traceback
from pathlib import Path

from engine.disk import printable
from engine.errors import StorageError
from engine.paths import ensure_folder, saves_folder
from engine.redaction import hide, secrets_of, without_credentials
from jitrl_tui.system.output import escape

DETAILS = "The details are in"
"""Begins the sentence that names the report."""
_LOG = logging.getLogger("jitrl")
_LOG.addHandler(logging.NullHandler())


def error_text(error: BaseException | None) -> str:
    """Return the type and message of an exception in one line."""
    return _clean(f"{type(error).__name__}: {error}") if error is not None else "no reason given"


def written_down(error: BaseException | None, saves: Path | None) -> str:
    """Write a traceback to a new private file in the saves folder's `log`; return a sentence about it.

    Args:
        error: What was raised.
        saves: The saves folder, None for the usual one.
    """
    _LOG.error("internal error", exc_info=error)
    text = _clean("".join(traceback.format_exception(error)))
    try:
        folder = ensure_folder((saves if saves is not None else saves_folder()) / "log")
        # Made with O_EXCL and O_NOFOLLOW, mode 0600, under a name that nobody can foresee.
        fd, where = tempfile.mkstemp(".txt", f"jitrl-crash-{time.strftime('%Y%m%d-%H%M%S')}-", folder)
        with os.fdopen(fd, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(escape(text))
    except (OSError, StorageError):
        return "The details could not be written down."
    return f"{DETAILS} {printable(where)}."


def _clean(text: str) -> str:
    return without_credentials(hide(text, secrets_of(os.environ)))

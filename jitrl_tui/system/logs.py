"""The log file: what was started, what was warned of, and which errors there were, with tracebacks.

It is `log/jitrl.log` in the saves folder, private, and rotates. Secrets are hidden in it. Nothing of it reaches
stderr, unless `--verbose` is given. If it cannot be written, jitrl goes on without it. It is written only where the
saves folder exists.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from engine.disk import printable, private_file, private_folder
from engine.redaction import hide, secrets_of, without_credentials
from jitrl_tui.system.output import escape

LARGEST = 1 << 20
"""Bytes after which a new file is begun."""
KEPT = 3
"""Number of older files that are kept."""
_LOGGER = logging.getLogger("jitrl")
_FORM = "%(asctime)s %(levelname)s [%(process)d] %(message)s"


def file_in(saves: Path) -> Path:
    """Return the path of the log file of a saves folder."""
    return saves / "log" / "jitrl.log"


def where() -> str:
    """Return the path of the log file that is written now, "" if nothing was written."""
    file = next((handler for handler in _LOGGER.handlers if isinstance(handler, LogFile)), None)
    return printable(file.baseFilename) if file is not None and os.path.exists(file.baseFilename) else ""


def start(saves: Path, words: Sequence[str], version: str, *, verbose: bool = False) -> None:
    """Write records of this process to the log file. What other packages warn of is written there too.

    Args:
        saves: The saves folder.
        words: The arguments of the command, for the line that says what was started.
        version: Version of jitrl.
        verbose: Whether the records are told on stderr, too.
    """
    stop()
    handler = LogFile(file_in(saves), f"started: jitrl {' '.join(words)} (version {version})")
    _LOGGER.setLevel(logging.INFO)
    _LOGGER.propagate = False
    for one in (handler, StderrHandler()) if verbose else (handler,):
        one.setFormatter(_Form(_FORM, "%Y-%m-%d %H:%M:%S"))
        _LOGGER.addHandler(one)
        logging.getLogger().addHandler(one)


def stop() -> None:
    """Close the log file, and tell nothing more on stderr."""
    for logger in (_LOGGER, logging.getLogger()):
        for handler in [handler for handler in logger.handlers if isinstance(handler, (LogFile, StderrHandler))]:
            logger.removeHandler(handler)
            with contextlib.suppress(OSError):
                handler.close()


class LogFile(RotatingFileHandler):
    """The handler of the file. It opens the file with its first record, and writes what was started before it.

    Args:
        path: The file.
        first: What was started.
    """

    def __init__(self, path: Path, first: str) -> None:
        super().__init__(
            path, maxBytes=LARGEST, backupCount=KEPT, encoding="utf-8", errors="backslashreplace", delay=True
        )
        self._first = first

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record."""
        if self._first:
            first, self._first = self._first, ""
            super().emit(logging.LogRecord(record.name, logging.INFO, record.pathname, 0, first, (), None))
        super().emit(record)

    def _open(self) -> TextIOWrapper:
        path = Path(self.baseFilename)
        if not path.parent.parent.is_dir():
            raise FileNotFoundError(path.parent.parent)
        private_folder(path.parent)
        private_file(path)
        return super()._open()

    def handleError(self, record: logging.LogRecord) -> None:
        """Go on without this record: the disk is full, or the file cannot be opened. A later record tries again."""
        stream, self.stream = self.stream, None
        with contextlib.suppress(OSError, ValueError):
            if stream is not None:
                stream.close()


class StderrHandler(logging.Handler):
    """Tells records on stderr, whatever that is at the time: a screen takes it from here."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record."""
        with contextlib.suppress(OSError, ValueError):
            sys.stderr.write(f"{self.format(record)}\n")


class _Form(logging.Formatter):
    """One line for each record. Further lines, such as a traceback, are indented."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the text of a record, without secrets and without characters that a terminal obeys."""
        text = without_credentials(hide(super().format(record), secrets_of(os.environ)))
        return escape(text).replace("\n", "\n  ")

"""Runs the commands that install packages into an environment apart from this one, with what they print in a log."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from engine.errors import MissingError
from engine.texts import clipped

_LONGEST = 300
"""Most characters of the reason that a failed command gave."""


def run_logged(argv: Sequence[str], output: IO[str], log: Path, timeout_s: float) -> None:
    """Run a command that installs something.

    Args:
        output: The log, open for writing.
        log: Its path.
        timeout_s: Seconds after which it is ended.

    Raises:
        MissingError: It cannot be run, failed, or took too long.
    """
    try:
        done = subprocess.run(
            argv, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=timeout_s, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise MissingError(f"installing failed ({error}); the whole log is {log}") from None
    if done.returncode:
        lines = log.read_text(errors="replace").strip().splitlines()
        reason = clipped(lines[-1], _LONGEST) if lines else "no reason given"
        raise MissingError(f"installing failed ({reason}); the whole log is {log}; is the package index reachable?")

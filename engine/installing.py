"""Runs the commands that install packages into an environment apart from this one, with what they print in a log."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from engine import children
from engine.errors import GameError, MissingError
from engine.texts import clipped

_FURTHER = (
    "PIP_", "UV_", "XDG_", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NETRC", "CUDA_HOME",
    *(variant for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for variant in (name, name.lower())),
)  # fmt: skip
"""Variables that say how packages are fetched here. uv would also read a configuration of the folder it runs in."""
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
        done = children.run(
            "the installer", argv, children.environment(further=_FURTHER), stdout=output, stderr=subprocess.STDOUT,
            timeout=timeout_s, cwd=log.parent,
        )  # fmt: skip
    except GameError as error:
        raise MissingError(f"installing failed ({error}); the whole log is {log}") from None
    if done.returncode:
        lines = log.read_text(errors="replace").strip().splitlines()
        reason = clipped(lines[-1], _LONGEST) if lines else "no reason given"
        raise MissingError(f"installing failed ({reason}); the whole log is {log}; is the package index reachable?")

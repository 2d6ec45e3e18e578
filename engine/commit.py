"""Tells the commit that the code is from: a checkout asks git, an installed package has it in a file.

`hatch_build.py` writes that file when a package is built. This module needs nothing but the standard library, because
the build runs it, too.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FILE = "commit.txt"
"""The file beside this one that a built package has."""
_SECONDS = 10
"""Longest time that git may take."""


def commit(root: Path | None = None) -> str:
    """Return the short name of the commit, with " and changes" if files differ from it; "" if it is not known.

    Args:
        root: The folder with `engine`; that of this module if None.
    """
    root = root or Path(__file__).resolve().parents[1]
    written = root / "engine" / FILE
    if written.is_file():
        return written.read_text(encoding="utf-8").strip()
    if not (root / ".git").exists():
        return ""
    name = _git(root, "rev-parse", "--short=10", "HEAD")
    return f"{name} and changes" if name and _git(root, "status", "--porcelain", "--untracked-files=no") else name


def _git(root: Path, *words: str) -> str:
    """Return what git prints, or "" if there is no git or it fails."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *words],
            capture_output=True, text=True, timeout=_SECONDS, check=True, env={"PATH": os.environ.get("PATH", "")},
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.strip()

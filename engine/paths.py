"""Finds the saves folder: `--saves DIR`, else `JITRL_SAVES`, else `saves/` in the checkout, else the platform's
user data folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from engine.errors import StorageError, UsageError


def saves_folder(given: str | Path | None = None) -> Path:
    """Return the saves folder as an absolute path; it is created with mode 0700 if missing.

    Raises:
        StorageError: It cannot be created, or is not a folder.
    """
    chosen = given or os.environ.get("JITRL_SAVES")
    if chosen:
        folder = Path(chosen).expanduser()
    else:
        checkout = Path(__file__).resolve().parent.parent
        if (checkout / "pyproject.toml").is_file() and (checkout / "saves").is_dir():
            folder = checkout / "saves"
        else:
            from platformdirs import user_data_path

            folder = user_data_path("jitrl")
    # Absolute, because local sites and workers run in folders of their own.
    return ensure_folder(folder).absolute()


def ensure_folder(folder: Path) -> Path:
    """Create `folder` with mode 0700 if missing, and return it.

    Raises:
        StorageError: It cannot be created, or is not a folder.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot use {folder} to save in ({error.strerror}); choose another folder with --saves DIR"
        ) from None
    return folder


def slug(name: str) -> str:
    """Return a file name for `name`: readable, different for different names, and safe as part of a path.

    Raises:
        UsageError: `name` is empty, "." or "..", or contains a null character.
    """
    if not name or name in {".", ".."} or "\0" in name:
        raise UsageError(f"{name!r} cannot be used as a name in the saves folder")
    readable = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:55] or "x"
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{readable}-{digest[:8]}"

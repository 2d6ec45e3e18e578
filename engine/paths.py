"""Finds the saves folder: `--saves DIR`, else `JITRL_SAVES`, else `saves/` in the checkout, else the platform's
user data folder.
"""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from engine.disk import printable, private_folder
from engine.errors import StorageError, UsageError

CACHE = "JITRL_CACHE"
"""Variable with the folder of caches, if it is not that in the saves folder."""


NOWHERE = "/nonexistent"
"""The home of somebody who has none, as system accounts have it."""


def settle_home() -> None:
    """Make sure that `~` is an absolute path in this process and in those that it starts.

    Without HOME and without an entry in the list of users, as in some containers, nobody's home is known, and libraries
    raise errors of their own. Then it is a folder that does not exist: nothing is read from it, and who would write
    to it is told to choose a folder.
    """
    if not os.path.isabs(os.environ.get("HOME", "")):
        os.environ.pop("HOME", None)
        home = os.path.expanduser("~")
        os.environ["HOME"] = home if os.path.isabs(home) else NOWHERE


def cache_folder(saves: Path) -> Path:
    """Return the folder of what can be made anew: `JITRL_CACHE`, else `cache` in the saves folder."""
    chosen = os.environ.get(CACHE)
    return Path(chosen).expanduser().absolute() if chosen else saves / "cache"


def saves_place(given: str | Path | None = None) -> Path:
    """Return where the saves folder is, or would be, as an absolute path. Nothing is created."""
    chosen = given or os.environ.get("JITRL_SAVES")
    # Absolute, because local sites and workers run in folders of their own.
    return (Path(chosen).expanduser() if chosen else usual_saves()).absolute()


def saves_folder(given: str | Path | None = None) -> Path:
    """Return the saves folder as an absolute path; it is created with mode 0700 if missing.

    A folder that the user names and that exists keeps its rights, because it may be shared. Files and folders that
    are made in it are private.

    Raises:
        StorageError: It cannot be created, or is not a folder.
    """
    folder = saves_place(given)
    if (given or os.environ.get("JITRL_SAVES")) and folder.is_dir():
        return folder
    return ensure_folder(folder)


def usual_saves() -> Path:
    """Return the saves folder where none is chosen: in the checkout, else the platform's user data folder."""
    checkout = Path(__file__).resolve().parent.parent
    if (checkout / "pyproject.toml").is_file() and (checkout / "saves").is_dir():
        return checkout / "saves"
    from platformdirs import user_data_path

    return user_data_path("jitrl")


def ensure_folder(folder: Path, *, private: bool = True) -> Path:
    """Create `folder` if missing, and return it.

    Args:
        folder: The folder.
        private: Only its owner may use it: its mode is 0700, also where it was there before. Otherwise it has the
            user's usual rights, or those that it has.

    Raises:
        StorageError: It cannot be created, or is not a folder.
    """
    try:
        if private:
            private_folder(folder)
        else:
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(
            f"cannot use {printable(folder)} to save in ({error.strerror}); choose another folder with --saves DIR"
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
    return f"{readable}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def code_digest(place: Path) -> str:
    """Return the SHA-256 of a Python file, or of all that are in a folder with their names; "" if there is none."""
    files = [place] if place.is_file() else sorted(place.rglob("*.py"))
    whole = hashlib.sha256()
    for file in files:
        whole.update(f"{file.relative_to(place)}\0".encode() + file.read_bytes())
    return whole.hexdigest() if files else ""

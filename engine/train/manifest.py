"""The manifest of a run: what is needed to repeat it, and what came out."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import read_bytes, write_json
from engine.errors import BadFile
from engine.train.install import PACKAGES

MANIFEST = "manifest.json"


def read(folder: Path) -> dict[str, Any]:
    """Return the manifest of a run, {} if there is none yet.

    Raises:
        BadFile: It is damaged.
    """
    path = folder / MANIFEST
    try:
        found = limits.parsed(read_bytes(path)) if path.is_file() else {}
    except (OSError, ValueError) as error:
        raise BadFile(f"the manifest {path} is damaged: {error}") from None
    return dict(found) if isinstance(found, Mapping) else {}


def add(folder: Path, **more: Any) -> None:
    """Write more into the manifest of a run.

    Raises:
        StorageError: It cannot be written.
        BadFile: It is damaged.
    """
    write_json(folder / MANIFEST, {**read(folder), **more})


def versions() -> dict[str, str]:
    """Return the versions of the packages that train, in the training environment."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found

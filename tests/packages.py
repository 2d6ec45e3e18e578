"""Packages of others: built as a wheel, without a network, and unpacked into a folder as an installer does."""

from __future__ import annotations

import zipfile
from pathlib import Path

from hatchling.builders.wheel import WheelBuilder


def installed(source: Path, folder: Path) -> Path:
    """Build the wheel of a package's source, and unpack it into a new folder in `folder`; return that folder."""
    (wheel,) = WheelBuilder(str(source)).build(directory=str(folder / "dist"))
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(folder / "site")
    return folder / "site"

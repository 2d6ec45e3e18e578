"""Where the training environment and the runs are."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

PYTHON = "JITRL_TRAIN"
"""Variable with the Python of a training environment, if it is not that in the saves folder."""


def train_folder(saves: Path) -> Path:
    """Return the folder of all that training keeps."""
    return saves / "train"


def runs_folder(saves: Path) -> Path:
    """Return the folder of the runs."""
    return train_folder(saves) / "runs"


def python_of(saves: Path, variables: Mapping[str, str] = os.environ) -> Path:
    """Return the Python of the training environment, whether or not it is there."""
    chosen = variables.get(PYTHON)
    return Path(chosen).expanduser().absolute() if chosen else train_folder(saves) / "venv" / "bin" / "python"

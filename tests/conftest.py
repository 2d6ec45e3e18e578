"""Fixtures every room may use."""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
import pytest

# The same examples in every run. `make soak` tries others.
hypothesis.settings.register_profile("same", derandomize=True)
hypothesis.settings.load_profile("same")


def _games_folder() -> Path | None:
    here = Path(__file__).resolve().parent.parent
    given = os.environ.get("JITRL_TEST_GAMES")
    for folder in ([Path(given)] if given else []) + [here.parent / "shared" / "games"]:
        if (folder / "zork1.z5").is_file():
            return folder
    return None


@pytest.fixture(scope="session")
def games_folder() -> Path:
    """The folder with zork1.z5, zork3.z5 and library.z5, which are never part of this project."""
    folder = _games_folder()
    if folder is None:
        pytest.skip("zork1.z5 is not here; point JITRL_TEST_GAMES at a folder that holds it")
    return folder

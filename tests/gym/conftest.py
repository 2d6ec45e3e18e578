"""Environments of `tinyworlds`, in the real child process."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from engine.gym import open_gym


@pytest.fixture(scope="session")
def with_gymnasium() -> dict[str, str]:
    """Environment variables with which `tinyworlds` can be imported."""
    if importlib.util.find_spec("gymnasium") is None:
        pytest.skip("gymnasium is not installed: pip install 'gymnasium>=1.0'")
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}


@pytest.fixture
def opened(with_gymnasium, tmp_path):
    """A function from an id in `tinyworlds` to its environment; all are closed at the end."""
    made = []

    def open_one(env_id: str):
        made.append(open_gym(f"gym:tinyworlds/tiny/{env_id}", tmp_path, with_gymnasium))
        return made[-1]

    yield open_one
    for environment in made:
        environment.close()

"""The training environment, where it is installed, and what the checks in it found."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from engine.llm.local import weights
from engine.paths import usual_saves
from engine.train import install, trainers

TIMEOUT_S = 900


@pytest.fixture(scope="session")
def training_python() -> Path:
    """The Python of the training environment: that of JITRL_TRAIN, or the one in the usual saves folder."""
    found = install.look(usual_saves())
    if found.problem:
        pytest.skip(f"{found.problem}; or point JITRL_TRAIN at its Python")
    return found.python


@pytest.fixture(scope="session")
def weights_file() -> Path:
    return weights.find("local/smollm2", None)


@pytest.fixture(scope="session")
def inside(training_python: Path, weights_file: Path, tmp_path_factory: pytest.TempPathFactory) -> dict:
    """What inside.py found."""
    folder = tmp_path_factory.mktemp("inside")
    done = subprocess.run(
        [str(training_python), str(Path(__file__).with_name("inside.py")), str(folder), str(weights_file)],
        env=trainers.environment(os.environ), capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    return {**json.loads(done.stdout.splitlines()[-1]), "folder": str(folder)}


@pytest.fixture(scope="session")
def tiny(inside: dict) -> Path:
    """A folder of transformers with a tiny random model."""
    return Path(inside["folder"]) / "tiny"

"""The embedded model, loaded once, and a server on loopback."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.llm import model_factory, open_model
from engine.llm.local import weights
from engine.llm.local.engine import LocalEngine
from engine.settings import Settings
from tests.llm.server import Server


@pytest.fixture(scope="session")
def weights_file() -> Path:
    return weights.find("local/smollm2", None)


@pytest.fixture(scope="session")
def prefixes(tmp_path_factory: pytest.TempPathFactory, weights_file: Path) -> Path:
    """A cache folder of no replies (`keep=False`) that keeps what makes models open at once, for all workers."""
    every = tmp_path_factory.getbasetemp()
    folder = (every.parent if "PYTEST_XDIST_WORKER" in os.environ else every) / "prefixes"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "prefixes").exists():
            model_factory.for_speed(weights_file, folder)
            open_model("local/smollm2", settings=Settings(threads=1), cache=folder, keep=False).close()
    return folder


@pytest.fixture(scope="session")
def engine(weights_file: Path, prefixes: Path) -> Iterator[LocalEngine]:
    """The embedded model as it runs where there is a cache folder."""
    loaded = LocalEngine(model_factory.for_speed(weights_file, prefixes), threads=1)
    yield loaded
    loaded.close()


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running

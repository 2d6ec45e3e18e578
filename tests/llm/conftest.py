"""The embedded model, loaded once, and a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.llm import model_factory
from engine.llm.local import weights
from engine.llm.local.engine import LocalEngine
from tests.llm.server import Server


@pytest.fixture(scope="session")
def weights_file() -> Path:
    return weights.find("local/smollm2", None)


@pytest.fixture(scope="session")
def prefixes(tmp_path_factory: pytest.TempPathFactory, weights_file: Path) -> Path:
    """A cache folder of no replies (`keep=False`) that keeps what makes models open at once."""
    folder = tmp_path_factory.mktemp("prefixes")
    model_factory.for_speed(weights_file, folder)
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

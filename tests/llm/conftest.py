"""The embedded model, loaded once, and a server on loopback."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.llm import weights
from engine.llm.local import LocalEngine
from tests.llm.server import Server


@pytest.fixture(scope="session")
def weights_file() -> Path:
    return weights.find("local/smollm2", None)


@pytest.fixture(scope="session")
def engine(weights_file: Path) -> Iterator[LocalEngine]:
    loaded = LocalEngine(weights_file, threads=1)
    yield loaded
    loaded.close()


@pytest.fixture(scope="session")
def prefixes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache folder of no replies (`keep=False`) that keeps what all prompts begin with: models open at once."""
    return tmp_path_factory.mktemp("prefixes")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server().running() as running:
        yield running

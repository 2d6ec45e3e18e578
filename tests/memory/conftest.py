"""A PostgreSQL server for all tests of this folder; they are skipped where there is none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.memory.postgres import Cluster, missing


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    if problem := missing():
        pytest.skip(problem)
    with Cluster("fsync=off") as running:
        yield running


@pytest.fixture
def address(cluster: Cluster) -> str:
    """The address of an empty database."""
    return cluster.database()

"""A PostgreSQL server for all tests of this folder; they are skipped where there is none."""

from __future__ import annotations

import uuid
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
def own_database(cluster: Cluster) -> str:
    """The address of an empty database."""
    return cluster.database()


@pytest.fixture(scope="session")
def common_database(cluster: Cluster) -> str:
    """The address of a database for many tests: each one that is made costs a tenth of a second."""
    return cluster.database()


@pytest.fixture
def address(common_database: str) -> str:
    """The address of an empty space in a database that other tests use, too."""
    return f"{common_database}#{uuid.uuid4().hex}"

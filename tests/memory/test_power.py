"""A disk that fails, runs full, loses its power or lies about fsync: what was acknowledged is there (`faulty.py`)."""

from __future__ import annotations

import shutil

import pytest

from tests.memory import faulty


@pytest.mark.skipif(shutil.which("gcc") is None, reason="the library that makes a disk fail is compiled with gcc")
def test_what_was_acknowledged_survives_a_failing_disk_and_a_power_cut():
    found = faulty.run(stride=10)
    assert found["operations"] > 30  # the library counts: else nothing was tried
    assert found["trials"] > 20
    assert found["problems"] == []

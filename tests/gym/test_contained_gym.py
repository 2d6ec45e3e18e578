"""The process of an environment: what it is given, and what it cannot gain."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from engine.gym import open_gym

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="processes are looked up in /proc")
GIVEN = {"OPENAI_API_KEY": "sk-not-for-packages", "ALFWORLD_DATA": "/data/alfworld", "OTHER_DATA": "x",
         "JAVA_HOME": "/opt/java"}  # fmt: skip


def process(with_gymnasium, tmp_path, **further):
    environment = open_gym("gym:tinyworlds/tiny/Corridor-v0", tmp_path, {**with_gymnasium, **GIVEN, **further})
    try:
        folder = Path(f"/proc/{environment.worker.pid}")
        lines = filter(None, (folder / "environ").read_text().split("\0"))
        return dict(line.split("=", 1) for line in lines), (folder / "status").read_text()
    finally:
        environment.close()


def test_an_environments_process_has_the_variables_that_are_named_for_it_no_keys_and_gains_no_privileges(
    with_gymnasium, tmp_path
):
    variables, status = process(with_gymnasium, tmp_path, JITRL_GYM_PASS="ALFWORLD_DATA, NOT_SET")
    assert {name: variables.get(name) for name in GIVEN} == {
        "OPENAI_API_KEY": None, "ALFWORLD_DATA": "/data/alfworld", "OTHER_DATA": None, "JAVA_HOME": "/opt/java",
    }  # fmt: skip
    assert "NoNewPrivs:\t1" in status

"""A run does not go on with what it knows while something better is left to find, nor with steps that nothing needs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.games import proving_ground

pytestmark = pytest.mark.skipif(bool(proving_ground.missing()), reason=proving_ground.missing())


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return what nine episodes come to whose steps a long way of small gains takes up."""
    folder = tmp_path_factory.mktemp("longway")
    story = proving_ground.compiled("longway", folder)
    job = {"story": str(story), "games": str(folder), "cache": str(folder), "seed": 1, "episodes": 9, "steps": 12}
    # In a process of its own, as it changes classes to listen.
    command = [sys.executable, "-m", "tests.bench.gate", "--play", json.dumps({**job, "changes": {}})]
    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout.splitlines()[-1])


def test_a_run_leaves_a_way_that_takes_all_steps_and_finds_what_lies_beside_it(played):
    assert played["scores"][0] == 12, "one point for each step: such a way was kept to the end"
    assert played["best"] > 30, "the treasure behind the curtain was not found"
    assert played["alike"] <= 3


def test_steps_that_no_gain_needs_are_left_out_once_that_was_tried(played):
    assert played["way"][:4] == ["east", "pull curtain", "south", "take all"]

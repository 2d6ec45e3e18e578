"""A run does not go on with what it knows while something better is left to find, nor with steps that nothing needs."""

from __future__ import annotations

import json
import sys

import pytest

from tests.commands import run
from tests.games import proving_ground

pytestmark = pytest.mark.skipif(bool(proving_ground.missing()), reason=proving_ground.missing())


RUNS = {"longway": (9, 12, 100), "waking": (6, 16, 100), "bells": (10, 10, 100), "switch": (4, 16, 0)}
"""Episodes, steps, and commands tried in each situation (0 for all) of a run of each proving story."""
PLAY = """
import json, sys
from tests.bench import gate
for job in json.loads(sys.argv[1]):
    print(json.dumps(gate.play(job)))
"""


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return what the runs come to, by the names of their stories."""
    folder, jobs = tmp_path_factory.mktemp("stories"), []
    for name, (episodes, steps, tried) in RUNS.items():
        story = proving_ground.compiled(name, folder)
        jobs.append({"story": str(story), "games": str(folder), "cache": str(folder), "seed": 1,
                     "episodes": episodes, "steps": steps, "changes": {"valid_commands": tried}})  # fmt: skip
    # In a process of its own, as it changes classes to listen.
    done = run([sys.executable, "-c", PLAY, json.dumps(jobs)], capture_output=True, check=True)
    return dict(zip(RUNS, map(json.loads, done.stdout.splitlines()), strict=True))


def test_a_run_leaves_a_way_that_takes_all_steps_and_finds_what_lies_beside_it(played):
    played = played["longway"]
    assert played["scores"][0] == 12, "one point for each step: such a way was kept to the end"
    assert played["best"] > 30, "the treasure behind the curtain was not found"
    assert not played["frozen"]


def test_steps_that_no_gain_needs_are_left_out_once_that_was_tried(played):
    assert played["longway"]["way"][:4] == ["east", "pull curtain", "south", "take all"]


def test_a_move_that_led_back_is_not_repeated_but_given_what_it_needs_to_lead_on(played):
    """Who walks into the dark dies, wakes up where that was, and did it again and again: the score was 0."""
    found = played["waking"]
    assert found["scores"][-1] == 30
    assert found["turns"] < 5, "it goes back and forth between the same few situations"


def test_no_episode_is_played_as_an_earlier_one_where_nothing_is_left_to_leave_out(played):
    """Two gains end the story after two steps, and that was all that was ever done."""
    found = played["bells"]
    assert found["best"] > 10, "the bells were not rung by turns"
    assert not found["frozen"]


def test_what_can_be_switched_for_ever_is_left_alone_once_it_brought_nothing(played):
    """A lamp and a dial change with each step that is spent on them."""
    found = played["switch"]
    assert found["scores"][-1] == 12
    assert found["turns"] < 5, "it goes back and forth between the same few situations"

"""NetHack by the adapter, beside what its own arrays say."""

from __future__ import annotations

import importlib.util
import os
import random

import pytest

from engine.gym import open_gym

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("nle") is None, reason="NetHack is not installed: pip install 'nle>=1.3'"
)


@pytest.fixture
def staircase(tmp_path):
    """A task of it."""
    environment = open_gym("gym:nle/NetHackStaircase-v0", tmp_path, dict(os.environ))
    yield environment
    environment.close()


def lived(environment, seed):
    draw = random.Random(1)
    seen = [environment.reset(seed)]
    while len(seen) < 60 and not seen[-1].over:
        seen.append(environment.step(draw.choice(environment.valid_actions())))
    return seen


def test_the_same_seed_and_actions_give_the_same_game(staircase):
    assert staircase.info.repeatable
    one = lived(staircase, 5)
    assert lived(staircase, 6) != one
    assert lived(staircase, 5) == one
    assert len({seen.place for seen in one}) > 3


def test_the_map_is_the_state_and_the_turn_is_not(staircase):
    seen = staircase.reset(5)
    assert seen.text.splitlines()[-1].endswith("T:1")
    assert "T:1" not in seen.description
    assert "@" in seen.description
    level, x, y = seen.place.replace(",", "").removeprefix("level ").split()
    assert level == "1"
    assert seen.description.split("\n")[int(y)][int(x)] == "@"
    later = staircase.step("search")
    assert later.text.splitlines()[-1].endswith("T:2")
    names = staircase.valid_actions()
    assert names[:4] == ("more", "n", "e", "s")
    assert len(set(names)) == 23

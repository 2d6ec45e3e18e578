"""Games of jitrl as environments of Gymnasium, by its own checks, and read back here as those of another package."""

from __future__ import annotations

import os
import warnings

import pytest

from engine.games.kind import GAMES
from engine.gym import open_gym
from engine.kinds import EnvironmentContext

gymnasium = pytest.importorskip("gymnasium")


def pantry(saves):
    return GAMES.open("pantry", EnvironmentContext(saves, None))


@pytest.fixture(scope="module", autouse=True)
def registered():
    import engine.for_gymnasium  # noqa: F401


def test_gymnasiums_own_checks_pass_without_a_warning():
    from gymnasium.utils.env_checker import check_env

    env = gymnasium.make("jitrl/pantry", render_mode="ansi")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped)
    env.close()


def test_an_episode_is_that_of_the_game(tmp_path):
    env = gymnasium.make("jitrl/any", name="pantry", steps=4, saves=str(tmp_path))
    own = pantry(tmp_path)
    text, info = env.reset(seed=3)
    seen = own.reset(3)
    total = 0.0
    for number in range(1, 5):
        assert (text, info["score"], info["location"]) == (seen.text, seen.score, seen.place)
        assert info["admissible_commands"] == list(own.valid_actions())
        action = info["admissible_commands"][0]
        text, reward, terminated, truncated, info = env.step(action)
        seen, total = own.step(action), total + reward
        assert (terminated, truncated) == (False, number == 4)
    assert total == seen.score > 0
    env.close()
    own.close()


def test_it_is_read_back_as_an_environment_of_another_package(tmp_path):
    env = open_gym("gym:engine.for_gymnasium/jitrl/pantry", tmp_path, dict(os.environ))
    own = pantry(tmp_path)
    mine, other = own.reset(1), env.reset(1)
    for _ in range(3):
        for name in ("text", "score", "place", "inventory"):
            assert getattr(other, name) == getattr(mine, name)
        assert set(env.valid_actions()) == set(own.valid_actions())
        action = own.valid_actions()[0]
        mine, other = own.step(action), env.step(action)
    env.close()
    own.close()


def test_a_step_before_the_beginning_and_a_name_that_is_none_are_refused(tmp_path):
    from engine.errors import UsageError

    env = gymnasium.make("jitrl/pantry", disable_env_checker=True).unwrapped
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("look")
    env.close()
    with pytest.raises(UsageError, match="there is no game"):
        gymnasium.make("jitrl/any", name="no-such-game", saves=str(tmp_path))

"""TextWorld's own games by the adapter, beside what TextWorld itself says of them."""

from __future__ import annotations

import importlib.util
import os

import pytest

from engine.errors import UsageError
from engine.gym import open_gym

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("textworld") is None, reason="textworld is not installed: jitrl up make"
)


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    """A folder in which a game is compiled once."""
    return tmp_path_factory.mktemp("saves")


def opened(saves, env_id):
    return open_gym(f"gym:textworld/{env_id}", saves, dict(os.environ))


def test_a_challenge_is_made_played_to_its_end_and_kept(saves):
    game = opened(saves, "tw-simple?rewards=dense&goal=none")
    try:
        (story,) = (saves / "cache" / "gym").glob("*.z8")
        assert game.info.max_score == 8.0
        assert str(story) in game.info.source
        seen = game.reset(1)
        assert seen.place == "Bedroom"
        assert seen.text == seen.description  # no drawing, no prompt, no status line
        assert seen.inventory == "You are carrying nothing."
        assert game.valid_actions() == _listed_by_textworld(story)
        still = game.step("examine antique trunk")
        assert not still.changed
        assert "[" not in game.step("sing a song").text
        assert "is not in the action space" in game.step("quit").text
        way = (
            "open antique trunk", "take old key from antique trunk", "unlock wooden door with old key",
            "open wooden door", "go east", "go south", "take milk from couch", "go north", "put milk on stove",
        )  # fmt: skip
        assert [game.step(command).score for command in way] == [1, 2, 3, 4, 5, 6, 7, 7, 8]
        last = game._last
        assert (last.terminated, last.outcome) == (True, "won")
    finally:
        game.close()
    by_path = opened(saves, str(story))
    try:
        assert by_path.reset(1) == seen
        assert by_path.info.scope.endswith(by_path.info.digest[:8])
    finally:
        by_path.close()


def _listed_by_textworld(story):
    import textworld.gym

    infos = textworld.EnvInfos(admissible_commands=True)
    game = textworld.gym.make(textworld.gym.register_game(str(story), infos))
    try:
        return tuple(game.reset()[1]["admissible_commands"])
    finally:
        game.close()


@pytest.mark.parametrize(
    ("env_id", "said"),
    [
        ("tw-simple?rewards=dense", "the following arguments are required: --goal"),
        ("tw-simple?rewards=dense&goal=all", "invalid choice: 'all'"),
        ("tw-coin", "it has tw-coin_collector"),
        ("nowhere/game.z8", "has no environment 'nowhere/game.z8'"),
        ("game.json", "name the story beside it, game.z8"),
    ],
)
def test_what_textworld_does_not_have_is_refused_in_a_sentence(saves, env_id, said):
    with pytest.raises(UsageError, match=said):
        opened(saves, env_id)

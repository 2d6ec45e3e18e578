"""`jitrl games verify`: play beside Jericho's own environment, and the first step at which the two part."""

import json

import pytest

from engine.games.alongside import JerichoState, difference
from engine.games.catalogue import find_game, known_solution
from engine.records import Observation
from jitrl_tui.cli import main


def test_a_story_of_ours_is_in_step(tmp_path, capsys):
    assert main(["games", "verify", "pantry", "--saves", str(tmp_path)]) == 0
    assert capsys.readouterr().out == (
        "pantry: in step with Jericho's environment for 34 steps\npantry: 14 of 14 points in 34 moves, won\n"
    )


@pytest.mark.parametrize("written", [json.dumps, "\n".join])
def test_the_first_step_that_differs_is_named(tmp_path, capsys, written):
    # Jericho's environment saves and restores files in the middle of an episode; ours never lets a story do that.
    _, commands = known_solution(find_game("pantry"))
    file = tmp_path / "solution"
    file.write_text(written(["save", *commands[:20], "restore", *commands[20:]]))

    assert main(["games", "verify", "pantry", "--solution", str(file), "--saves", str(tmp_path)]) == 1
    assert capsys.readouterr().out == (
        "pantry: parts from Jericho's environment at step 22, restore: the score is 5, and 0 in Jericho\n"
    )
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("text", ["", "[1, 2]", "{}"])
def test_a_file_without_commands_is_refused(tmp_path, capsys, text):
    file = tmp_path / "solution"
    file.write_text(text)
    assert main(["games", "verify", "pantry", "--solution", str(file), "--saves", str(tmp_path)]) == 2
    assert "holds no commands" in capsys.readouterr().err


def test_places_and_ends_are_compared_in_a_story_that_jericho_lists(games_folder, tmp_path, capsys):
    assert main(["games", "verify", "zork3", "--games", str(games_folder), "--saves", str(tmp_path)]) == 0
    assert "in step with Jericho's environment for 273 steps" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (JerichoState(3.0, 7, "Hall", False, False), ""),
        (JerichoState(3.0, 0, "", False, False), ""),
        (JerichoState(4.0, 7, "Hall", False, False), "the score is 3, and 4 in Jericho"),
        (JerichoState(3.0, 8, "Cellar", False, False), "the place is 'Hall', and 'Cellar' in Jericho"),
        (JerichoState(3.0, 7, "Hall", True, False), "the story goes on, and ends in Jericho"),
    ],
)
def test_each_difference_is_told(theirs, told):
    assert difference(Observation("", place="Hall", room=7, score=3.0), theirs) == told

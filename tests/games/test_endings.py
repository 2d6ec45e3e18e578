"""How stories end: won, lost, or as neither; and what the learner makes of an ending in words of the story's own."""

import json

import pytest

from engine.games.zmachine.printed import last_words, outcome
from jitrl_tui.cli import main
from tests.games.proving_ground import compiled, missing, opened, solution

needs_inform = pytest.mark.skipif(bool(missing()), reason=missing())


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("You have won", "won"),
        ("CONGRATULATIONS!", "won"),
        ("You win", "won"),
        ("You have died", "lost"),
        ("You are dead", "lost"),
        ("You've been killed", "lost"),
        ("You lost!", "lost"),
        ("You have failed", "lost"),
        ("Death", "lost"),
        ("You have escaped", ""),
        ("You have escaped death", ""),
        ("You have not won", ""),
        ("You lose your fear of the dead", ""),
        ("The End", ""),
        ("", ""),
    ],
)
def test_last_words_tell_of_a_victory_or_a_loss_and_all_others_of_neither(words, told):
    assert outcome(words, 3, 10) == told
    assert outcome(words, 3, None) == told


def test_all_points_are_a_victory_unless_the_story_says_that_it_is_lost():
    assert outcome("You have escaped", 10, 10) == "won"
    assert outcome("You have died", 10, 10) == "lost"
    assert outcome("You have escaped", 0, 0) == ""
    assert outcome("You have escaped", 1, 10, won=True) == "won"
    assert outcome("You have escaped", 1, 10, lost=True) == "lost"


def test_last_words_stand_between_asterisks():
    assert last_words("\n\n    *** You have escaped ***\n\nYou scored 15.") == "You have escaped"
    assert last_words("*****  You have died  *****") == "You have died"
    assert last_words("A sign says * Keep out *.") is None
    assert last_words("*** Chapter Two ***\n\nYou fall.\n\n*** You have died ***") == "You have died"


@needs_inform
def test_each_end_of_a_story_is_offered_and_told_for_what_it_is(tmp_path):
    game = opened(compiled("escape", tmp_path))
    game.reset(1)
    offered = game.valid_actions()
    ends = {}
    for way in (["east"], ["enter bench"], solution("escape")):
        game.reset(1)
        for command in way:
            seen = game.step(command)
        assert seen.terminated
        ends[way[-1]] = (seen.outcome, seen.score)
    game.close()
    assert ends == {"east": ("lost", 0), "enter bench": ("", 0), "unlock gate with key": ("won", 15)}
    assert {"east", "enter bench"} <= set(offered)


@needs_inform
def test_the_learner_goes_on_winning_with_an_ending_in_the_storys_own_words(tmp_path, capsys):
    story = compiled("escape", tmp_path)
    arguments = ["run", str(story), "--saves", str(tmp_path / "saves"), "--model", "prior/verbs", "--quiet"]
    assert main([*arguments, "--episodes", "16", "--steps", "12", "--json", "-"]) == 0
    episodes = json.loads(capsys.readouterr().out)["episodes"]
    first = next(n for n, episode in enumerate(episodes) if episode["outcome"] == "won")
    assert first < 10
    assert [(episode["score"], episode["outcome"]) for episode in episodes[first:]] == [(15, "won")] * (16 - first)

"""A search leaves out what it need not try, in a story with many things, verbs and topics."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.games.actions import limits
from engine.games.actions.alike import Alike
from engine.games.actions.looks import Looks
from engine.games.actions.names import NO_WORD
from engine.games.actions.templates import TemplateFinder, command_words
from engine.games.catalogue import read_story
from engine.games.zmachine.interpreter import Interpreter
from tests.conftest import _games_folder
from tests.games import crowded, proving_ground

pytestmark = [
    pytest.mark.skipif(bool(proving_ground.missing()), reason=proving_ground.missing()),
    pytest.mark.usefixtures("analysed_once"),
]


def _runs(game, **how):
    """Return how many commands a search runs, and what it finds."""
    machine, count = game.machine, 0
    run = machine.run

    def counted(command):
        nonlocal count
        count += 1
        return run(command)

    machine.run = counted
    try:
        found, done = game.valid_actions(**how)
    finally:
        machine.run = run
    assert done
    return count, found


@pytest.fixture(scope="module")
def opened(tmp_path_factory, analysed_once):
    """Return an interpreter of a small crowded story, at its beginning."""
    path = crowded.compiled(tmp_path_factory.mktemp("crowded"), things=13, verbs=92, words=60)

    def start():
        game = Interpreter(str(path), None, read_story(path).digest, None)
        game.reset(1)
        return game

    return start


def test_earlier_states_change_nothing(opened):
    game, fresh = opened(), opened()
    game.valid_actions()
    for each in (game, fresh):
        each.step("take kettle")
    assert _runs(game) == _runs(fresh)


def test_a_topic_that_is_read_is_offered_where_there_are_too_many_to_try_all(opened):
    game = opened()
    assert "ask tinker about coraber" in game.valid_actions()[0]


def test_a_thing_that_a_routine_names_is_tried_though_it_looks_like_others(opened):
    game = opened()
    commands = crowded.SOLUTION.split("; ")
    named = {
        "hook lens to tripod": "hook lens to tripod",  # the verb's routine names the second thing
        "give feather to tinker": "give tinker feather",  # the tinker's routine names the first thing
        "unlock chest with brass key": "open chest with key",  # the chest has the key as a property
    }
    for command in commands:
        if command in named:
            assert named[command] in game.valid_actions()[0]
        last = game.step(command)
    assert last.over


def test_what_a_verb_would_take_first_is_offered_with_it_once_it_is_taken(opened):
    game = opened()
    game.step("take ledger")
    first, _ = game.valid_actions()
    game.step("take kettle")
    then, _ = game.valid_actions()
    assert "take kettle" in first
    assert "put kettle on table" not in first
    assert "put kettle on table" in then


def test_a_pair_is_not_tried_where_others_showed_that_each_thing_is_refused(opened, monkeypatch):
    runs = []
    for plain in (Alike.is_plain, lambda self, key: False):
        monkeypatch.setattr(Alike, "is_plain", plain)
        game = opened()
        for name in ("kettle", "ledger"):
            game.step(f"take {name}")
        runs.append(_runs(game)[0])
    assert runs[0] < 0.9 * runs[1]


def test_properties_that_no_routine_of_a_verb_reads_make_no_difference(games_folder, monkeypatch):
    path, runs = games_folder / "zork1.z5", []
    looks = Looks.__call__

    def everything(self, number, tested=None):
        return looks(self, number, tested and (tested[0], None))

    for seen in (looks, everything):
        monkeypatch.setattr(Looks, "__call__", seen)
        game = Interpreter(str(path), None, read_story(path).digest, None)
        game.reset(12)
        for command in ("south", "east", "open window", "enter window", "take all", "west", "take all"):
            game.step(command)
        count, found = _runs(game)
        runs.append((count, found))
    assert runs[0][0] < runs[1][0]
    assert runs[0][1] == runs[1][1]


def test_templates_that_the_story_cannot_understand_are_given_up(opened):
    game = opened()
    templates = ["take OBJ", "frobnicate OBJ", "open OBJ OBJ", "smell OBJ"]
    game.finder = TemplateFinder(game.analysis.story, templates, player=game.analysis.player)
    tried, run = [], game.machine.run
    game.machine.run = lambda command: (tried.append(command), run(command))[1]
    found, done = game.valid_actions()
    assert done
    assert {"take kettle", "take ledger", "east"} <= set(found)
    assert not any(command.startswith("frobnicate") for command in tried)
    opened = [command for command in tried if command.startswith("open ")]
    assert sum(NO_WORD not in command for command in opened) == limits.REFUSED
    assert len(opened) == len(set(opened))  # what is told without the second thing is asked once
    assert "take all" in tried  # some things can be taken
    assert "smell all" not in tried  # and nothing comes of smelling one


def test_verbs_that_no_template_has_are_found_in_the_dictionary(tmp_path):
    path = proving_ground.compiled("bare", tmp_path)
    game = Interpreter(str(path), None, read_story(path).digest, None)
    game.reset(1)
    story = game.analysis.story
    words = command_words(game.machine, story)
    game.finder = TemplateFinder(story, ["smell OBJ"], words, player=game.analysis.player)
    before, _ = game.valid_actions()
    assert {"take", "south"} <= set(before)  # "take" asks which
    game.step("take feather")
    assert ("hum" in before, "hum" in game.valid_actions()[0]) == (False, True)


def test_a_plural_in_the_text_names_a_thing_whose_word_is_singular(tmp_path):
    path = proving_ground.compiled("bare", tmp_path)
    game = Interpreter(str(path), None, read_story(path).digest, None)
    shown = game.reset(1).text.replace("feather", "feathers")
    finder = TemplateFinder(game.analysis.story, ["take OBJ"], player=0)
    named, step = [], game.machine.step
    game.machine.step = lambda command: (named.append(command), step(command))[1]
    finder.hand(game.machine, game._world, shown, game.machine.take())
    assert "examine feathers" in named


def test_one_of_two_things_of_one_name_is_tried_again_once_the_other_was_taken():
    path = (_games_folder() or Path()) / "acorncourt.z5"
    if not path.is_file():
        pytest.skip("acorncourt.z5 is not here; point JITRL_TEST_GAMES at a folder that holds it")
    game = Interpreter(str(path), None, read_story(path).digest, None)
    game.reset(1)
    assert "point machine at tree" in game.valid_actions()[0]  # its routine writes a property
    for command in ("point machine at tree", "get ball"):
        assert "put ball in machine" not in game.valid_actions()[0]  # it must be held
        game.step(command)
    assert "put ball in machine" in game.valid_actions()[0]


def test_what_is_nobody_is_not_tried_with_each_verb_for_somebody():
    path = (_games_folder() or Path()) / "snacktime.z8"
    if not path.is_file():
        pytest.skip("snacktime.z8 is not here; point JITRL_TEST_GAMES at a folder that holds it")
    game = Interpreter(str(path), None, read_story(path).digest, None)
    game.reset(1)
    game.step("w")
    tried, run = [], game.machine.run
    game.machine.run = lambda command: (tried.append(command), run(command))[1]
    game.valid_actions()
    assert len({"talk to box", "kiss box", "wake box"} & set(tried)) == 1
    assert {"push box", "pull box"} <= set(tried)  # one that anything may take
    assert not any(command.startswith("push box to ") for command in tried)  # no thing is a direction

"""The valid actions cover the solutions of small stories of our own, one for each family of puzzles."""

import functools

import pytest

from engine.games.catalogue import read_story
from engine.games.zmachine.interpreter import Interpreter
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.world import SupportedWorld
from tests.games import proving_ground
from tests.games.proving_ground import NAMES, compiled, covered, opened, played, solution

pytestmark = pytest.mark.skipif(bool(proving_ground.missing()), reason=proving_ground.missing())


@pytest.fixture(scope="module")
def proved(tmp_path_factory):
    """Return a function: the coverage of a story's solution, and what the actions offered in its place reach."""

    @functools.cache
    def prove(name):
        game = opened(compiled(name, tmp_path_factory.mktemp(name)))
        try:
            found = covered(game, solution(name))
            return found, played(game, found.instead)
        finally:
            game.close()

    return prove


@pytest.mark.parametrize("name", NAMES)
def test_the_valid_actions_cover_every_step_of_the_solution(proved, name):
    found, again = proved(name)
    assert (found.won, found.score) == (True, found.max_score), "the solution does not solve the story"
    assert found.steps >= 5
    assert not found.missed
    assert again == (found.score, True)


def test_a_command_that_hangs_the_story_is_left_out_of_its_valid_actions(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.games.env.COMMAND_SECONDS", 0.5)
    game = opened(compiled("vehicles", tmp_path))
    game.reset(1)
    game.step("enter boat")
    offered = game.valid_actions()
    seen = game.step("drop boat")  # the library puts the boat into itself and looks for its room for ever
    game.close()
    assert "push boat off" in offered
    assert "drop boat" not in offered
    assert "brought back" in seen.text


def before(found, name, command):
    """Return the actions that were offered before a step of the solution."""
    return found.offered[solution(name).index(command)]


def test_a_spell_is_offered_as_a_verb_once_it_was_learnt(proved):
    found, _ = proved("magic")
    unlearnt = before(found, "magic", "learn glimmer")
    assert "learn glimmer" in unlearnt
    assert not any(action.startswith("glimmer") for action in unlearnt)
    assert any(action.startswith("glimmer") for action in before(found, "magic", "glimmer urn"))


def test_nothing_is_done_to_directions(proved):
    offered = proved("orders")[0].offered[0]
    assert "robot, east" in offered
    assert "drop east" not in offered


def test_a_step_that_only_scores_is_found_and_offered_once(proved):
    found, _ = proved("tasks")
    assert solution("tasks")[0] == "examine painting"
    assert found.effects[0]
    assert "examine painting" in found.offered[0]
    assert "examine painting" not in found.offered[1]


def test_coverage_counts_a_missed_step(tmp_path, monkeypatch):
    game = opened(compiled("dark", tmp_path))
    monkeypatch.setattr(proving_ground.GameEnvironment, "valid_actions", lambda self: ("down", "up"))
    found = covered(game, solution("dark"))
    game.close()
    assert found.missed[:2] == ["1: open cupboard", "2: take lantern"]
    assert found.steps == 8
    assert "4: down" not in found.missed


def test_a_thing_is_handled_though_the_address_of_its_routine_is_that_of_a_word(tmp_path, proved):
    path = compiled("seals", tmp_path)
    story = StoryFile(path.read_bytes())
    words = {at for at, _ in story.dictionary.values()}
    seals = [number for number in range(1, story.object_count + 1) if story.name(number).endswith(" seal")]
    spelt = set()
    for number in seals:
        for which, (at, size) in story.properties(number).items():
            if which > 1 and any(story.word(at + offset) in words for offset in range(0, size - 1, 2)):
                spelt.add(story.name(number))
    assert spelt, "the story has no such thing: change the lengths of its routines"
    offered = proved("seals")[0].offered[0]
    assert {name.removesuffix(" seal") for name in spelt} <= {action.removeprefix("smash ") for action in offered}


def test_objects_that_jericho_does_not_read_belong_to_the_world(tmp_path):
    path = compiled("beyond", tmp_path)
    game = Interpreter(str(path), None, read_story(path).digest, None)
    game.reset(1)
    story = game.analysis.story
    world = SupportedWorld(game.machine, story)
    before, opal = world.things(), next(n for n in range(256, story.object_count + 1) if story.name(n) == "opal")
    game.step("open hatch")
    opened_ = world.things()
    game.step("take opal")
    assert opal > 255
    assert len({before, opened_, world.things()}) == 3


def test_a_flag_that_only_an_action_sets_belongs_to_the_world(proved):
    found, _ = proved("bare")
    tap = solution("bare").index("tap")
    assert found.effects[tap]
    assert "tap" in found.offered[tap]

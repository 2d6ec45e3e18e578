"""The shipped stories play in Jericho as the index says, can be won, and can be made again."""

from __future__ import annotations

import hashlib
import json
import random
import re
import warnings
from importlib.util import find_spec
from pathlib import Path

import pytest

from engine.errors import MissingError, UsageError
from engine.games.generated import GeneratedStory, WorldKey
from engine.games.stories import cooking, house
from engine.games.stories.layout import grow
from engine.games.stories.recipe import SHIPPED, Recipe, make_shipped, make_story

STORIES = Path(__file__).parents[2] / "engine" / "games" / "stories"
INDEX = {item["name"]: item for item in json.loads((STORIES / "index.json").read_text())}
SOLUTIONS = json.loads((STORIES / "walkthroughs.json").read_text())
STEP_LIMIT = 60


def open_story(name):
    from jericho import FrotzEnv

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Jericho warns of stories it cannot keep score for
        env = FrotzEnv(str(STORIES / INDEX[name]["file"]), seed=1)
    env.reset()
    return env


def play(env, commands):
    scores = []
    for command in commands:
        _, _, done, info = env.step(command)
        scores.append(info["score"])
        if done:
            break
    return scores


def valid(env, story, key, score):
    """Commands that change the world, by trying every candidate."""
    saved = env.get_state()
    look = env.step("look")[0]
    env.set_state(saved)
    inventory = env.step("inventory")[0]
    env.set_state(saved)
    before = key(saved[0], score)
    found = []
    for command in story.candidates(look, inventory):
        _, _, done, info = env.step(command)
        if done or key(env.get_state()[0], info["score"]) != before:
            found.append(command)
        env.set_state(saved)
    return found


def test_there_are_an_easy_and_a_hard_one_and_one_of_cooking():
    assert {"easy", "hard"} <= {item["difficulty"] for item in INDEX.values()}
    assert any(item["kind"] == "cooking" for item in INDEX.values())
    assert [recipe.name for recipe in SHIPPED] == list(INDEX)


@pytest.mark.parametrize("name", INDEX)
def test_files_are_those_of_the_index(name):
    item = INDEX[name]
    data = (STORIES / item["file"]).read_bytes()
    assert hashlib.md5(data).hexdigest() == item["md5"]
    assert GeneratedStory.load(STORIES / item["metadata"]).max_score == item["max_score"]
    assert item["rooms"] >= 10
    assert item["max_score"] >= 8


@pytest.mark.parametrize("name", INDEX)
def test_the_known_solution_wins_well_within_the_step_limit(name):
    env = open_story(name)
    assert env.get_max_score() == INDEX[name]["max_score"]
    scores = play(env, SOLUTIONS[name])
    assert env.victory()
    assert not env.game_over()
    assert scores[-1] == INDEX[name]["max_score"]
    assert len(SOLUTIONS[name]) == INDEX[name]["walkthrough_steps"] <= 0.75 * STEP_LIMIT
    gains = sum(later > earlier for earlier, later in zip([0, *scores], scores, strict=False))
    assert gains >= 8  # many small points, not one large one


@pytest.mark.parametrize("name", INDEX)
def test_a_random_player_scores_little_but_not_nothing(name):
    env = open_story(name)
    story = GeneratedStory.load(STORIES / INDEX[name]["metadata"])
    key = WorldKey(env.get_state()[0].tobytes())
    rng = random.Random(11)
    known: dict[str, list[str]] = {}
    total = 0
    episodes = 2
    for _ in range(episodes):
        env.reset()
        score = 0
        for _ in range(STEP_LIMIT):
            world = key(env.get_state()[0], score)
            if world not in known:
                known[world] = valid(env, story, key, score)
            assert known[world], "a place from which nothing can be done"
            _, _, done, info = env.step(rng.choice(known[world]))
            score = info["score"]
            if done:
                break
        total += score
    assert 0 < total / episodes <= 0.4 * INDEX[name]["max_score"]


def test_losing_ends_the_game_without_victory():
    env = open_story("manor")
    plan = house.plan_house(next(r.seed for r in SHIPPED if r.name == "manor"), "medium")
    play(env, plan.layout.routes("hall", set())[plan.room_of(house.CURSED)])
    holder = plan.things[house.CURSED]
    play(env, ([f"open {holder}"] if holder in plan.furniture else []) + [f"take {house.CURSED}"])
    assert env.game_over()
    assert not env.victory()


@pytest.mark.parametrize("name", INDEX)
def test_what_is_read_during_play_does_not_tell_how_to_win(name):
    text = (STORIES / INDEX[name]["metadata"]).read_text()
    assert not re.search(r"ingredient_\d|walkthrough|quest|recipe/[1-9]\"", text.replace("make/recipe", ""))
    assert len(text) < 20_000


@pytest.mark.parametrize("size", house.SIZES)
def test_every_house_can_be_won(size):
    for seed in range(200):
        plan = house.plan_house(seed, size)
        commands = house.walkthrough(plan)
        assert len(plan.treasures) == house.SIZES[size][1]
        assert f"take {house.CURSED}" not in commands
        for command in commands:  # no lock is opened without its key in hand
            if key := re.match(r"unlock .* with (.*)", command):
                assert commands.index(f"take {key[1]}") < commands.index(command)


@pytest.mark.parametrize("size", cooking.SIZES)
def test_every_recipe_can_be_cooked(size):
    for seed in range(200):
        plan = cooking.plan_cooking(seed, size)
        commands = cooking.walkthrough(plan)
        assert commands[-2:] == ["prepare meal", "eat meal"]
        assert all(f"take {food}" in commands for food in plan.recipe)
        assert set(plan.recipe) <= set(plan.things)


def test_layouts_are_connected_and_flat():
    for seed in range(50):
        layout = grow([f"room {number}" for number in range(12)], random.Random(seed))
        assert set(layout.distances()) == set(layout.rooms)
        assert all(len({way for way, _ in layout.neighbours(room)}) == len(layout.neighbours(room))
                   for room in layout.rooms)  # fmt: skip


@pytest.mark.parametrize(
    "change", [{"kind": "maze"}, {"size": "huge"}, {"seed": -1}, {"name": "../up"}, {"name": ""}]
)
def test_a_recipe_that_cannot_be_is_refused(tmp_path, change):
    recipe = {"name": "x", "title": "X", "kind": "house", "size": "small", "seed": 1,
              "difficulty": "easy", "description": "", **change}  # fmt: skip
    with pytest.raises(UsageError):
        make_story(Recipe(**recipe), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(find_spec("textworld") is not None, reason="TextWorld is installed here")
def test_without_textworld_the_message_says_what_to_install(tmp_path):
    with pytest.raises(MissingError, match="jitrl up make"):
        make_story(SHIPPED[0], tmp_path)


@pytest.mark.soak
@pytest.mark.skipif(find_spec("textworld") is None, reason="TextWorld is not installed")
def test_the_shipped_stories_are_made_again_byte_for_byte(tmp_path):
    make_shipped(tmp_path)
    made = sorted(path.name for path in tmp_path.iterdir())
    assert len(made) == 2 + 2 * len(SHIPPED)
    for name in made:
        assert (tmp_path / name).read_bytes() == (STORIES / name).read_bytes(), name

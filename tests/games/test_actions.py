"""Valid actions of real games, judged by Jericho's own idea of when a world has changed."""

from __future__ import annotations

import contextlib
import sqlite3
import subprocess
import sys
import warnings

import pytest

from engine.games.actions.cache import ActionCache
from engine.games.actions.search import SCHEME
from engine.games.catalogue import read_story
from engine.games.env import GameEnvironment
from engine.games.zmachine.interpreter import Interpreter
from engine.settings import Settings
from tests.bench.bench_games import tag, worlds

pytestmark = pytest.mark.usefixtures("analysed_once")

GAMES = ("zork1", "zork3", "library")


class Pair:
    """Our interpreter and Jericho's, side by side along the walkthrough Jericho knows."""

    def __init__(self, path, cache=None) -> None:
        import jericho

        warnings.simplefilter("ignore")
        self.walkthrough = jericho.FrotzEnv(str(path), seed=1).get_walkthrough()
        seed = jericho.FrotzEnv(str(path), seed=1).bindings["seed"]
        self.peer = jericho.FrotzEnv(str(path), seed=seed)
        self.peer.reset()
        self.ours = Interpreter(str(path), None, read_story(path).digest, cache)
        self.ours.reset(seed)
        self.at = 0

    def go(self, step: int) -> Pair:
        for command in self.walkthrough[self.at : step]:
            self.peer.step(command)
            self.ours.step(command.lower())
        self.at = step
        return self


@pytest.fixture(scope="module")
def zork1(games_folder, analysed_once) -> Pair:
    return Pair(games_folder / "zork1.z5")


@pytest.mark.parametrize(
    ("game", "every"),
    [("zork1", 80), ("zork3", 24), ("library", 3)]
    + [pytest.param(game, 1, marks=pytest.mark.soak) for game in GAMES],
)
def test_the_walkthroughs_actions_are_among_the_valid_ones_most_of_them_soon(games_folder, game, every):
    pair = Pair(games_folder / f"{game}.z5")
    changing, missed, soon, all_found = 0, [], 0, 0
    for step in range(every // 2, len(pair.walkthrough), every):
        command = pair.go(step).walkthrough[step].lower()
        wanted = worlds(pair.peer, [command])
        if not wanted:
            continue
        changing += 1
        soon += len(pair.ours.valid_actions(Settings().valid_commands)[0])
        found, done = pair.ours.valid_actions()
        assert done
        all_found += len(found)
        if command not in found and not any(worlds(pair.peer, [other]) == wanted for other in found):
            missed.append((step, command))
    assert changing >= 4
    assert len(missed) <= max(1, 0.03 * changing), missed
    assert soon >= 0.9 * all_found


def test_what_jericho_finds_is_found(games_folder):
    import jericho

    # The module that this class uses: its tagger, spaCy, is not installed.
    jericho.FrotzEnv.get_valid_actions.__globals__["utl"].spacy_nlp = tag
    pair = Pair(games_folder / "zork1.z5").go(200)
    theirs = worlds(pair.peer, pair.peer.get_valid_actions(use_parallel=False))
    ours = worlds(pair.peer, pair.ours.valid_actions()[0])
    assert len(theirs) >= 7
    assert len(theirs & ours) >= 0.95 * len(theirs)  # over many states .98; this is one


@pytest.mark.parametrize(
    ("game", "command", "expected"),
    [
        ("zork3", "TURN DIAL TO 4", "4"),
        ("zork3", "PRESS SOUTH WALL", "wall"),
        ("zork3", "DUNGEON MASTER, WAIT", ", wait"),
        ("library", "Ask technician about security gates", "technician about"),
    ],
)
def test_numbers_topics_orders_and_unmentioned_scenery_are_tried(games_folder, game, command, expected):
    pair = Pair(games_folder / f"{game}.z5")
    pair.go(pair.walkthrough.index(command))
    wanted = worlds(pair.peer, [command.lower()])
    assert wanted
    found = [action for action in pair.ours.valid_actions()[0] if expected in action]
    assert any(worlds(pair.peer, [action]) == wanted for action in found)


def test_every_way_to_die_is_told_apart_and_nothing_that_only_looks_is_proposed(zork1):
    zork1.go(109)  # a torch in hand, and things that burn the one who holds them
    found, _ = zork1.ours.valid_actions()
    ends = [world for action in found for world in worlds(zork1.peer, [action]) if world[2]]
    assert len(set(ends)) == len(ends) > 0
    assert not {"look", "inventory"} & set(found)
    unchanged = [action for action in found if not worlds(zork1.peer, [action])]
    assert len(unchanged) <= 0.1 * len(found), unchanged


def test_a_fight_is_found_though_time_goes_on_and_luck_decides(games_folder):
    troll = Pair(games_folder / "zork1.z5").go(27)
    found, _ = troll.ours.valid_actions()
    assert "wait" in found
    assert [action for action in found if action.endswith("troll") and len(action.split()) == 2], found


def test_no_command_names_a_thing_by_a_pronoun(games_folder):
    found, _ = Pair(games_folder / "zork3.z5").ours.valid_actions()  # "its" stands in what is shown
    assert "take all" in found
    assert not [action for action in found if {"it", "them"} & set(action.split())]


def test_a_search_leaves_the_game_where_it_was(games_folder):
    path = games_folder / "zork1.z5"
    searched, plain = Pair(path), Pair(path)
    for step in range(0, 24, 6):
        searched.go(step).ours.valid_actions()
        plain.go(step)
    command = searched.walkthrough[21].lower()
    assert searched.ours.step(command) == plain.ours.step(command)


def test_the_same_situation_has_the_same_actions_whatever_the_luck(games_folder):
    path = games_folder / "zork1.z5"
    first, second = (Interpreter(str(path), None, read_story(path).digest, None) for _ in range(2))
    first.reset(1)
    second.reset(2)
    for command in ("south", "east", "open window"):
        first.step(command)
        second.step(command)
    found = first.valid_actions()
    assert len(found[0]) > 3
    assert second.valid_actions() == found


def test_a_search_with_a_limit_finds_the_same_each_time_however_it_is_cut_into_parts(games_folder):
    path = games_folder / "zork1.z5"
    found = {}
    for part in (3, 7, None):
        game = Interpreter(str(path), None, read_story(path).digest, None)
        game.reset(1)
        done = False
        while not done:
            found[part], done = game.valid_actions(part, limit=20)
        assert game.valid_actions(part, limit=20) == (found[part], True)
        assert set(found[part]) < set(game.valid_actions()[0])
    assert found[3] == found[7] == found[None]


def test_a_search_that_is_over_before_its_limit_finds_all(games_folder):
    story = read_story(games_folder / "zork1.z5")
    found = []
    for limit in (None, Settings().valid_commands):
        with contextlib.closing(GameEnvironment(story, None, limit=limit)) as game:
            game.reset(1)
            found.append(game.valid_actions())
    assert found[0] == found[1]


def test_what_one_process_found_another_looks_up(games_folder, tmp_path):
    story = read_story(games_folder / "zork1.z5")
    env = GameEnvironment(story, tmp_path)
    env.reset(1)
    found = env.valid_actions()
    env.close()
    with sqlite3.connect(tmp_path / f"actions-{SCHEME}.sqlite") as disk:
        rows = disk.execute("SELECT found FROM actions").fetchall()
        assert rows == [("\n".join(found),)]
        disk.execute("UPDATE actions SET found = 'north\nxyzzy'")
    disk.close()
    other = GameEnvironment(story, tmp_path)
    try:
        other.reset(1)
        assert other.valid_actions() == ("north", "xyzzy")
    finally:
        other.close()


def test_the_cache_is_bounded_and_shared_while_open(tmp_path):
    mine = ActionCache(tmp_path, limit=50)
    put = (
        "import sys; from pathlib import Path; from engine.games.actions.cache import ActionCache\n"
        "cache = ActionCache(Path(sys.argv[1]), limit=50)\n"
        "[cache.put(f'theirs{i}', (f'go {i}', 'wait')) for i in range(500)]; cache.close()"
    )
    subprocess.run([sys.executable, "-c", put, str(tmp_path)], check=True, timeout=60)
    assert mine.get("theirs499") == ("go 499", "wait")
    assert mine.get("theirs0") is None
    mine.put("mine", ())
    assert mine.get("mine") == ()
    mine.close()
    with sqlite3.connect(tmp_path / f"actions-{SCHEME}.sqlite") as disk:
        assert 0 < disk.execute("SELECT count(*) FROM actions").fetchone()[0] <= 50
    disk.close()


def test_a_damaged_or_forbidden_cache_costs_only_time(tmp_path):
    (tmp_path / f"actions-{SCHEME}.sqlite").write_bytes(b"no database at all " * 400)
    cache = ActionCache(tmp_path)
    cache.put("here", ("north",))
    assert cache.get("here") == ("north",)
    cache.close()
    nowhere = ActionCache(tmp_path / "missing")
    nowhere.put("here", ("south",))
    assert nowhere.get("here") == ("south",)
    nowhere.close()

"""The map learnt from play, against walks whose outcome is known."""

from __future__ import annotations

import json
import random

import pytest

from engine.errors import BadFile
from engine.games.catalogue import find_game
from engine.games.map import GameMap, direction, map_of
from engine.games.stories.layout import OPPOSITE, grow
from engine.memory import Memory
from engine.records import Episode, State, Step
from jitrl_tui.cli import main


def state(place):
    return State(f"[State: {place}]", (f"place:{place}",), place=place)


def episode(start, *moves):
    """An episode from (action, place reached, score) moves."""
    steps, place, score = [], start, 0.0
    for action, then, now in moves:
        steps.append(Step(state(place), action, now - score, now - score, now))
        place, score = then, now
    return Episode("uid", "game/x", tuple(steps), state(place))


def walked(layout, rng, steps):
    found = GameMap()
    here = layout.rooms[0]
    found.arrive(here, 0)
    for _ in range(steps):
        way, then = rng.choice(layout.neighbours(here))
        found.step(here, f"go {way}", then, 0, 0)
        here = then
    return found


def test_places_ways_and_first_scores():
    found = map_of([episode("Hall", ("go west", "Study", 0), ("take key", "Study", 2), ("go east", "Hall", 2),
                            ("go north", "Attic", 3))])  # fmt: skip
    assert found.ways == {"Hall": {"go west": "Study", "go north": "Attic"}, "Study": {"go east": "Hall"}}
    assert {place.name: place.first_score for place in found.places.values()} == {
        "Hall": 0,
        "Study": 0,
        "Attic": 3,
    }
    assert found.places["Study"].gained == 2
    assert found.places["Hall"].gained == 1
    assert found.places["Hall"].visits == 2


def test_unknown_places_are_left_out():
    found = map_of([episode("", ("n", "Hall", 0), ("d", "", 0), ("u", "Hall", 0))])
    assert set(found.places) == {"Hall"}
    assert found.ways == {}


def test_a_route_is_shortest_and_leads_there():
    for seed in range(20):
        rng = random.Random(seed)
        layout = grow([f"room {number}" for number in range(10)], rng)
        found = walked(layout, rng, 3000)
        assert set(found.places) == set(layout.rooms)
        for end, commands in layout.routes(layout.rooms[0], None).items():
            route = found.route(layout.rooms[0], end)
            assert len(route) == len(commands)
            here = layout.rooms[0]
            for action in route:
                here = dict(layout.neighbours(here))[action.removeprefix("go ")]
            assert here == end


def test_no_route_is_none_and_to_itself_is_empty():
    found = map_of([episode("A", ("n", "B", 0))])
    assert found.route("B", "A") is None
    assert found.route("A", "A") == []
    assert found.route("A", "Z") is None


def test_maps_merge():
    one = map_of([episode("A", ("n", "B", 5))])
    one.merge(map_of([episode("A", ("n", "B", 1), ("e", "C", 1))]))
    assert one.places["B"].first_score == 1
    assert one.places["A"].visits == 2
    assert one.places["A"].gained == 5
    assert one.route("A", "C") == ["n", "e"]


def test_round_trip_through_json():
    found = walked(grow([str(number) for number in range(8)], random.Random(1)), random.Random(2), 100)
    again = GameMap.from_plain(json.loads(json.dumps(found.to_plain())))
    assert again.to_plain() == found.to_plain()
    assert again.draw("3") == found.draw("3")


@pytest.mark.parametrize("data", [{}, {"places": 3, "ways": []}, {"places": [{"name": "A"}], "ways": []},
                                  {"places": [], "ways": [{"from": "A"}]}, []])  # fmt: skip
def test_a_damaged_map_is_refused(data):
    with pytest.raises(BadFile):
        GameMap.from_plain(data)


@pytest.mark.parametrize(
    ("action", "step"),
    [("north", (0, -1)), ("go se", (1, 1)), ("W", (-1, 0)), ("climb tree", None), ("up", None), ("", None),
     ("go", None), ("take east wing", None)],
)  # fmt: skip
def test_directions(action, step):
    assert direction(action) == step


def test_a_drawing_shows_places_where_they_lie():
    found = map_of([episode("Hall", ("go north", "Attic", 0), ("go south", "Hall", 0), ("go east", "Study", 0),
                            ("go up", "Tower", 0))])  # fmt: skip
    lines = found.draw("Hall", 60).splitlines()
    assert "Attic" in lines[0]
    assert "|" in lines[1]
    assert "[Hall]" in lines[2]
    assert lines[2].index("Study") > lines[2].index("---") > lines[2].index("[Hall]")
    assert lines[1].index("|") in range(lines[2].index("[Hall]"), lines[2].index("[Hall]") + 6)
    assert "Study: go up to Tower" in lines


@pytest.mark.parametrize("width", [10, 20, 40, 80, 140])
def test_drawings_keep_their_width_and_lose_no_near_place(width):
    for seed in range(15):
        rng = random.Random(seed)
        layout = grow([f"r{number:02d}" for number in range(12)], rng)
        found = walked(layout, rng, 2000)
        here = layout.rooms[5]
        drawn = found.draw(here, width)
        assert all(len(line) <= width for line in drawn.splitlines())
        assert here in drawn
        if width >= 140:
            assert all(room in drawn for room in layout.rooms)


def test_ways_that_contradict_each_other_still_draw():
    found = GameMap()
    found.arrive("A", 0)
    for place, then in (("A", "B"), ("B", "C"), ("C", "A"), ("A", "D"), ("D", "B")):
        found.step(place, "north", then, 0, 0)
    drawn = found.draw("A")
    assert all(place in drawn for place in "ABCD")
    assert GameMap().draw() == "No place is known yet."


def test_opposites():
    assert all(OPPOSITE[OPPOSITE[way]] == way for way in OPPOSITE)


def test_the_command_draws_what_memory_holds_and_tells_the_way(tmp_path, capsys):
    options = ["pantry", "--saves", str(tmp_path)]
    assert main(["games", "map", *options]) == 2
    assert "no episode of pantry" in capsys.readouterr().err
    with Memory(tmp_path / "memory") as memory:
        memory.scope(find_game("pantry").scope).append(
            episode("Hall", ("go west", "Study", 0), ("take key", "Study", 2), ("go north", "Attic", 2))
        )
    assert main(["games", "map", *options, "--here", "study"]) == 0
    drawn = capsys.readouterr().out
    assert "[Study]" in drawn
    assert ["Attic", "2", "1"] in [line.split() for line in drawn.splitlines()]
    assert main(["games", "map", *options, "--to", "Attic"]) == 0
    assert capsys.readouterr().out == "go west, go north\n"
    assert main(["games", "map", *options, "--here", "attic", "--to", "hall"]) == 1
    assert main(["games", "map", *options, "--to", "Cellar"]) == 2
    assert "Attic" in capsys.readouterr().err
    assert main(["games", "map", *options, "--json"]) == 0
    assert GameMap.from_plain(json.loads(capsys.readouterr().out)).route("Hall", "Attic") is not None

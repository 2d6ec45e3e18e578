"""Dangers are told anew only where something about them changed: against telling all of them for the first time."""

from __future__ import annotations

import math

import pytest

from engine.values.paths import ImaginedSituation, Ways
from engine.values.plans import Route
from engine.values.text import Situation, union
from tests.values.planning import explorer, new_model, standing
from tests.values.test_memos import Wanderer


def told(x, met):
    """Return all that is told of danger, at places met and with other things in hand."""
    found = {}
    for place, situations in met.items():
        latest = list(situations)[-3:]
        for context in {union(have, see) for have, _ in latest for _, see in latest}:
            for moving in (True, False):
                found[(place, context, moving)] = x.hazards.hazard(place, context, moving=moving)
    return found, x.hazards.light


@pytest.mark.parametrize("seed", range(4))
def test_dangers_asked_for_all_along_are_those_asked_for_the_first_time(seed):
    wanderer, asked, fresh = Wanderer(seed), new_model(), new_model()
    for _ in range(24):
        wanderer.walk(asked, fresh)
        told(asked, wanderer.met)
    wanderer.walk(asked, fresh, steps=15)
    found = told(asked, wanderer.met)
    assert found == told(fresh, wanderer.met)
    assert sum(hazard > 0.0 for hazard in found[0].values()) > 2
    assert asked.hazards.deadly


@pytest.mark.parametrize("seed", [0, 2, 6, 10])  # where somebody came through what others died of
def test_what_may_go_wrong_on_a_way_is_never_out_of_date(seed):
    wanderer, x = Wanderer(seed), new_model()
    ways, perilous = Ways(x), 0
    for _ in range(8):
        wanderer.walk(x)
        died = {place for place, action in x.fatal if action in x.moves}
        for place, situations in wanderer.met.items():
            have, see = list(situations)[-1]
            here = ImaginedSituation(place, have, {place: see})
            along, look = explorer(x, here)[0](Route(here, 20.0)), standing(x, here).look
            for way in ways.of(place).values():
                deadly = [move for move in way if move[0] in died]
                deaths = (x.death(move, union(have, look(here, move[0]))) for move in deadly)
                alive = math.prod(1.0 - death for death in deaths)
                assert along._survival(along._anchors[0], way) == pytest.approx(alive)
                perilous += alive < 1.0
    assert perilous > 4


def test_a_step_at_a_deadly_place_is_counted_at_once():
    x = new_model()
    cliff, shore = Situation("cliff", frozenset(), frozenset()), Situation("shore", frozenset(), frozenset())
    rope = Situation("cliff", frozenset({"have:rope"}), frozenset())
    x.moves.add("down")
    shares = []
    for died in (True, False, False, True):
        x.learn(cliff, "down", 0.0, cliff if died else shore, terminated=died, died=died)
        shares.append(x.hazards.hazard("cliff", moving=True))
    assert shares == [1 / 3, 1 / 4, 1 / 5, 2 / 6]
    assert x.hazards.deadly == {"cliff"}
    assert x.hazards.hazard("shore", moving=True) == 0.0
    for _ in range(12):
        x.learn(rope, "down", 0.0, shore, terminated=False, died=False)
    assert x.hazards.hazard("cliff", rope.have, moving=True) < 0.02 < x.hazards.hazard("cliff", moving=True)
    for _ in range(30):
        x.learn(cliff, "down", 0.0, shore, terminated=False, died=False)
    assert x.hazards.hazard("cliff", moving=True) == pytest.approx(2 / 48)


def test_a_way_is_deadly_as_soon_as_somebody_died_on_it():
    x = new_model()
    cliff, shore = Situation("cliff", frozenset(), frozenset()), Situation("shore", frozenset(), frozenset())
    x.see(cliff, ("down",))
    x.learn(cliff, "down", 0.0, shore, terminated=False, died=False)
    ways, here = Ways(x), ImaginedSituation("cliff", frozenset(), {})

    def alive():
        along = explorer(x, here)[0](Route(here, 20.0))
        return along._survival(along._anchors[0], ways.of("cliff")["shore"])

    assert alive() == 1.0
    x.learn(cliff, "down", 0.0, cliff, terminated=True, died=True)
    assert alive() == 1.0 - x.death(("cliff", "down"), frozenset()) < 0.6


def test_the_dark_is_as_deadly_everywhere_as_it_was_found_to_be_just_now():
    x = new_model()
    dark = [Situation(f"room {n}", frozenset(), frozenset({f"place:dark#{n}"})) for n in range(3)]
    x.moves.add("north")
    for room in dark:
        x.see(room, ("north",))
        x.learn(room, "north", 0.0, dark[0], terminated=False, died=False)
    before = x.hazards.hazard("room 2", dark[2].see, moving=True)
    x.learn(dark[1], "north", 0.0, dark[1], terminated=True, died=True)
    once = x.hazards.hazard("room 2", dark[2].see, moving=True)
    x.learn(dark[1], "north", 0.0, dark[0], terminated=False, died=False)
    assert before == 0.0 < x.hazards.hazard("room 2", dark[2].see, moving=True) < once

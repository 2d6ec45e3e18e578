"""Ways that are shut, and what lies behind them."""

from __future__ import annotations

import pytest

from engine.records import State
from engine.values.experience import Experience
from engine.values.legs import Route
from engine.values.openings import Openings
from engine.values.planner import Imagined, Planner, PlannerSettings, Progress
from engine.values.promises import Promises
from engine.values.routes import Router
from engine.values.ways import Ways

PULL = "pull lever"


def state(place, *tokens):
    return State(place, (f"place:{place}", *tokens), place=place)


def lived(*, deaths=0):
    """Return the experience of opening a gate once and leaving what is behind it untried."""
    x = Experience()
    yard, shut, ajar = state("yard"), state("hall", "see:gate"), state("hall", "see:gate=open")
    den = state("den", "see:lever")

    def did(now, possible, action, then, died=False):
        x.see(x.read(now), possible)
        x.learn(x.read(now), action, 0.0, x.read(then), terminated=died, died=died)

    for _ in range(3):  # what else there is was tried
        did(yard, ("north",), "north", shut)
        did(shut, ("south", "open gate"), "open gate", ajar)
        did(ajar, ("south", "east", "close gate"), "close gate", shut)
        did(shut, ("south", "open gate"), "south", yard)
    did(yard, ("north",), "north", shut)
    did(shut, ("south", "open gate"), "open gate", ajar)
    did(ajar, ("south", "east", "close gate"), "east", den)
    did(den, ("west", PULL), "west", ajar)
    did(ajar, ("south", "east", "close gate"), "close gate", shut)
    for _ in range(deaths):
        x.begin_episode()
        did(yard, ("north",), "north", shut)
        did(shut, ("south", "open gate"), "open gate", shut, died=True)
    x.begin_episode()
    for come in (yard, shut, den):
        x.arrive(x.read(come))
    return x, x.read(yard), x.read(shut)


def planned(x, now, valid, steps, world):
    """Return the plan of who saw the gate shut in this episode."""
    planner = Planner(x, PlannerSettings(curiosity=3.0))
    progress = Progress(world={at.place: at.see for at in world}, barred={("place:hall", "east")})
    here = Imagined(now.place, now.have, progress.world)
    return planner.plan(here, steps, progress, {}, valid=valid)


def test_a_way_is_opened_for_what_lies_behind_it():
    x, yard, hall = lived()
    plan = planned(x, yard, ("north",), 9, (yard, hall))
    assert plan.actions == ("north", "open gate", "east", PULL)
    assert plan.goal == ("place:den", PULL)
    plan = planned(x, hall, ("south", "open gate"), 9, (hall,))
    assert plan.actions == ("open gate", "east", PULL)
    assert plan.route == ("open gate", "east")


def test_it_is_not_where_too_few_steps_are_left_to_try_anything_there():
    x, _, hall = lived()
    assert PULL in planned(x, hall, ("south", "open gate"), 3, (hall,)).actions
    assert PULL not in planned(x, hall, ("south", "open gate"), 2, (hall,)).actions


@pytest.mark.parametrize("deaths", [0, 9])
def test_opening_it_is_as_dangerous_as_it_was(deaths):
    x, _, hall = lived(deaths=deaths)
    plan = planned(x, hall, ("south", "open gate"), 9, (hall,))
    assert (PULL in plan.actions) == (not deaths)


def through(x, now, valid, steps, world=()):
    """Return the routes through shut ways from here."""
    router = Router(x, PlannerSettings())
    promises = Promises(x, PlannerSettings(), router)
    progress = Progress(world={at.place: at.see for at in (now, *world)})
    here = Imagined(now.place, now.have, progress.world)
    router.stand(here, valid)
    promises.think(progress, {})
    start = Route(here, float(steps), marks=((0, now.place, now.have),))
    return Openings(x, router, promises, Ways(x)).routes(here, [start], progress)


def test_a_route_through_a_shut_way_counts_its_steps_and_ends_behind_it():
    x, yard, hall = lived()
    (route,) = through(x, yard, ("north",), 9, (hall,))
    assert route.actions == ("north", "open gate", "east")
    assert (route.left, route.value, route.alive) == (6.0, 0.0, 1.0)
    assert (route.at.place, route.at.world["place:hall"]) == ("place:den", {"see:gate=open"})
    places = [(steps, place) for steps, place, _ in route.marks]
    assert places == [(0, "place:yard"), (1, "place:hall"), (3, "place:den")]
    assert through(x, yard, ("north",), 4, (hall,))
    assert not through(x, yard, ("north",), 3, (hall,))  # nothing could be tried there


def test_there_is_none_through_a_way_that_is_open_or_leads_nowhere_any_more():
    x, _, hall = lived()
    ajar = x.read(state("hall", "see:gate=open"))
    assert not through(x, ajar, ("south", "east", "close gate"), 9)
    for _ in range(30):
        x.see(ajar, ("south", "east", "close gate"))
        x.learn(ajar, "east", 0.0, ajar, terminated=False, died=False)
    assert not through(x, hall, ("south", "open gate"), 9)

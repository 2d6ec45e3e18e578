"""What the rest of a way needs stays in hand."""

from __future__ import annotations

import pytest

from engine.records import State
from engine.values.paths import EpisodeProgress, ImaginedSituation
from engine.values.text import situation
from engine.values.trails import TrailStep
from tests.values.planning import Planning, WholeTrails, new_model, router


def state(place, *tokens):
    return State(place, (f"place:{place}", *tokens), place=place)


@pytest.mark.parametrize(("needed", "dropped"), [("unlock chest with key", False), ("unlock chest", True)])
def test_what_the_rest_of_the_way_needs_is_not_dropped_to_see_what_comes_of_it(needed, dropped):
    x = new_model()
    pack = ("have:key", "have:rope", "have:leaf", "have:sack")
    hall, den = state("hall", *pack), state("den", *pack)
    x.see(situation(hall), ("east", "drop key"))
    x.learn(situation(hall), "east", 0.0, situation(den), terminated=False, died=False)
    x.see(situation(den), (needed,))
    x.learn(situation(den), needed, 5.0, situation(den), terminated=False, died=False)
    for number in range(9):  # dropping costs the thing, as far as is known
        other = state(f"room {number}", f"have:thing{number}")
        x.see(situation(other), (f"drop thing{number}",))
        x.learn(
            situation(other),
            f"drop thing{number}",
            0.0,
            situation(state(f"room {number}")),
            terminated=False,
            died=False,
        )
    planner = Planning(x, 9.0)
    now = situation(hall)
    plan = planner.plan(ImaginedSituation(now.place, now.have, {}), 9, EpisodeProgress(), valid=("east", "drop key"))
    assert (plan.actions[0] == "drop key") == dropped


def test_a_route_that_follows_a_trail_has_a_mark_at_its_end():
    x = new_model()
    hall, den, rich = (situation(one) for one in (state("hall"), state("den"), state("den", "have:gold")))
    trails = WholeTrails(x)
    for now, action, reward, then in ((hall, "east", 0.0, den), (den, "take gold", 5.0, rich)):
        x.see(now, (action,))
        x.learn(now, action, reward, then, terminated=False, died=False)
        trails.add(TrailStep(now, action, reward, then, False, False))
    trails.close()
    lamp = frozenset({"have:lamp"})
    told = trails.from_here(hall._replace(have=lamp), 9, ("east",))
    # What is in hand beyond what was in hand then stays in hand.
    route = router(x, ImaginedSituation(hall.place, lamp, {}), ("east",), steps=9).follow(told[0])
    assert route.actions == ("east", "take gold")
    assert route.marks == ((0, hall.place, lamp), (1, den.place, lamp), (2, den.place, lamp | rich.have))

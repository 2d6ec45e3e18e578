"""How likely it is that what a plan counts on is possible when it comes to it."""

from __future__ import annotations

import pytest

from engine.records import State
from engine.values.paths import ImaginedSituation
from engine.values.plans import Route
from engine.values.text import situation
from tests.values.planning import explorer, new_model, router


def state(place, *tokens):
    return State(place, (f"place:{place}", *tokens), place=place)


def vault(open_times, shut_times):
    """Return what is known of a hall whose door to a vault was open and shut so often, and no token tells which.

    What is in hand differs each time: coins when it was open, buttons when it was shut.
    """
    x = new_model()

    def did(now, possible, action, then, reward=0.0):
        x.arrive(situation(now))
        x.see(situation(now), possible)
        x.learn(situation(now), action, reward, situation(then), terminated=False, died=False, fresh=True)

    for thing in (f"have:coin{number}" for number in range(open_times)):
        did(state("yard", thing), ("north",), "north", state("hall", thing))
        did(state("hall", thing), ("south", "east"), "east", state("vault", thing))
        did(state("vault", thing), ("west", "turn wheel", "dig"), "turn wheel", state("vault", thing), 5.0)
        x.begin_episode()
    for thing in (f"have:button{number}" for number in range(shut_times)):
        did(state("yard", thing), ("north",), "north", state("hall", thing))
        did(state("hall", thing), ("south",), "south", state("yard", thing))
        x.begin_episode()
    return x


def beside(x, *have):
    """Return the situation of who stands in the yard with this in hand."""
    now, hall = situation(state("yard", *have)), situation(state("hall", *have))
    return ImaginedSituation(now.place, now.have, {now.place: now.see, hall.place: hall.see})


def best(x, *have):
    return router(x, beside(x, *have), ("north",), steps=12).best(()).value


def test_a_gain_behind_a_door_that_is_open_at_times_is_worth_as_much_of_it():
    """Nothing that shows tells when the door is open: it is as likely open as it was."""
    assert best(vault(4, 0), "have:key") == pytest.approx(5.0)
    # Four of eight and four of sixteen times, with half an occasion added to both.
    assert best(vault(4, 4), "have:key") == pytest.approx(5.0 * 4.5 / 8.5)
    assert best(vault(4, 12), "have:key") == pytest.approx(5.0 * 4.5 / 16.5)


def test_nothing_is_gained_behind_a_door_in_the_very_situation_in_which_it_was_always_shut():
    x = vault(4, 4)
    assert best(x, "have:button1") == 0.0
    assert best(x, "have:coin1") == pytest.approx(5.0)


def visit(x, *have):
    """Return how the vault can be visited from the yard with this in hand, and the rates of the detours to it."""
    here = beside(x, *have)
    finder, promises = explorer(x, here, ("north",), steps=12, curiosity=9.0)
    along = finder(Route(here, 12.0, marks=((0, here.place, here.have),)))
    (promised,) = (promised for promised in promises.promises if promised.place == "place:vault")
    return along._visit(promised), [found.rate for found in along.detours() if found.goal[0] == "place:vault"]


def test_who_makes_a_detour_through_a_door_arrives_as_likely_as_it_is_open():
    always, (rate,) = visit(vault(4, 0), "have:key")
    assert always.arrives == 1.0
    at_times, (less,) = visit(vault(4, 4), "have:key")
    assert at_times.arrives == pytest.approx(4.5 / 8.5)
    assert 0.0 < less <= rate * at_times.arrives + 1e-9
    assert visit(vault(4, 4), "have:button1") == (None, [])

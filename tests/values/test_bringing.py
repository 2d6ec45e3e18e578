"""Things brought to where they never were, and things that are gone."""

from __future__ import annotations

import pytest

from engine.records import State
from engine.values.novelty import Bringing
from engine.values.paths import EpisodeProgress, Imagined
from engine.values.trails import TrailStep
from tests.values.planning import NUMBERS, Planning, WholeTrails, explorer, new_model, router


def state(place, *tokens):
    return State(place, (f"place:{place}", *tokens), place=place)


@pytest.mark.parametrize("brought", [False, True])
def test_where_all_was_tried_one_goes_to_where_what_is_in_hand_never_was(brought):
    x, key = new_model(), ("have:key",) * brought

    def did(now, action, then):
        x.see(x.read(now), ("east", "take key", "drop key") if now.place == "hall" else ("west",))
        x.learn(x.read(now), action, 0.0, x.read(then), terminated=False, died=False)

    for _ in range(9):
        did(state("hall"), "take key", state("hall", "have:key"))
        did(state("hall", *key), "east", state("den", *key))
        did(state("den", *key), "west", state("hall", *key))
        did(state("hall", "have:key"), "drop key", state("hall"))
    planner = Planning(x, 3.0)
    now = x.read(state("hall", "have:key"))
    plan = planner.plan(Imagined(now.place, now.have, {}), 9, EpisodeProgress(), valid=("east", "drop key"))
    assert (plan.goal == ("place:den", "")) == (not brought)


def test_what_opened_something_elsewhere_promises_more_than_what_never_did():
    bringing = Bringing(NUMBERS)
    key, rope = frozenset({"have:key"}), frozenset({"have:rope"})
    bringing.see("hall", key | rope, ("drop key", "drop rope"), known=True, new=False)
    for place in ("attic", "den", "mill"):
        unlock = f"unlock {place} with key"
        bringing.see(place, key, ("drop key", unlock), known=True, new=False)
        bringing.see(place, rope, ("drop rope", unlock), known=True, new=False)
    assert bringing.opens("have:key") > 0.6 > 0.3 > bringing.opens("have:rope")
    assert bringing.chances("den", key | rope) == []
    assert bringing.chances("cave", key) == [bringing.opens("have:key")]
    assert not bringing.all_were_at("cave")
    assert bringing.all_were_at("den")
    assert (bringing.places["have:key"], bringing.places["have:lamp"]) == (4, 0)


def test_where_other_things_opened_something_one_more_promises_more():
    bringing = Bringing(NUMBERS)
    pack = frozenset({"have:key", "have:rope", "have:bone"})
    bringing.see("hall", pack, (), known=True, new=False)
    for thing in ("key", "rope"):
        give = f"give {thing} to dog"
        bringing.see("yard", frozenset({f"have:{thing}"}), (give,), known=True, new=False)
        bringing.see("mill", frozenset({f"have:{thing}"}), (), known=True, new=False)
    yard, cave, mill = (bringing.chances(place, frozenset({"have:bone"}))[0] for place in ("yard", "cave", "mill"))
    assert 1.0 > yard > cave == bringing.opens("have:bone") > mill > 0.0
    before = bringing.opens("have:bone")
    bringing.see("barn", frozenset({"have:bone"}), ("give bone to cat",), known=True, new=False)
    assert bringing.opens("have:bone") > before


def test_things_are_brought_first_to_where_others_opened_something():
    x = new_model()

    def at(place, *things):
        return x.read(state(place, *(f"have:{thing}" for thing in things)))

    for thing in ("key", "rope", "coin"):
        for place in ("yard", "mill", "barn", "pier", "loft", "moor", "well"):
            for _ in range(2):
                give = (f"give {thing} to dog",) * (place == "yard")
                x.see(at(place), ("east",))
                x.see(at("hall", thing, "bone"), ("west",))
                x.see(at(place, thing), ("east", *give))
    hall = at("hall", "bone", "bell", "book", "cup", "pipe")
    for _ in range(2):
        x.see(hall, ("east",))
    _, offers = explorer(x, Imagined(hall.place, hall.have, {}))
    yard, mill = (offers.brings(f"place:{place}", hall.have) for place in ("yard", "mill"))
    assert yard > 2 * mill > 0.0


def test_where_a_thing_is_new_and_where_a_place_is_new_nothing_is_ascribed_to_bringing_it():
    bringing = Bringing(NUMBERS)
    before = bringing.opens("have:key")
    bringing.see("hall", frozenset({"have:key"}), ("lock door with key",), known=True, new=True)
    bringing.see("den", frozenset({"have:key"}), ("lock gate with key",), known=False, new=True)
    assert bringing.opens("have:key") == before


@pytest.mark.parametrize(("needed", "dropped"), [("unlock chest with key", False), ("unlock chest", True)])
def test_what_the_rest_of_the_way_needs_is_not_dropped_to_see_what_comes_of_it(needed, dropped):
    x = new_model()
    pack = ("have:key", "have:rope", "have:leaf", "have:sack")
    hall, den = state("hall", *pack), state("den", *pack)
    x.see(x.read(hall), ("east", "drop key"))
    x.learn(x.read(hall), "east", 0.0, x.read(den), terminated=False, died=False)
    x.see(x.read(den), (needed,))
    x.learn(x.read(den), needed, 5.0, x.read(den), terminated=False, died=False)
    for number in range(9):  # dropping costs the thing, as far as is known
        other = state(f"room {number}", f"have:thing{number}")
        x.see(x.read(other), (f"drop thing{number}",))
        x.learn(
            x.read(other),
            f"drop thing{number}",
            0.0,
            x.read(state(f"room {number}")),
            terminated=False,
            died=False,
        )
    planner = Planning(x, 9.0)
    now = x.read(hall)
    plan = planner.plan(Imagined(now.place, now.have, {}), 9, EpisodeProgress(), valid=("east", "drop key"))
    assert (plan.actions[0] == "drop key") == dropped


def test_a_route_that_follows_a_trail_has_a_mark_at_its_end():
    x = new_model()
    hall, den, rich = (x.read(one) for one in (state("hall"), state("den"), state("den", "have:gold")))
    trails = WholeTrails(x)
    for now, action, reward, then in ((hall, "east", 0.0, den), (den, "take gold", 5.0, rich)):
        x.see(now, (action,))
        x.learn(now, action, reward, then, terminated=False, died=False)
        trails.add(TrailStep(now, action, reward, then, False, False))
    trails.close()
    lamp = frozenset({"have:lamp"})
    told = trails.from_here(hall._replace(have=lamp), 9, ("east",))
    # What is in hand beyond what was in hand then stays in hand.
    route = router(x, Imagined(hall.place, lamp, {}), ("east",), steps=9).follow(told[0])
    assert route.actions == ("east", "take gold")
    assert route.marks == ((0, hall.place, lamp), (1, den.place, lamp), (2, den.place, lamp | rich.have))


def test_a_trail_is_not_followed_that_begins_elsewhere_with_what_was_done_there_already():
    """The chest in the den is open in this episode: a way that opens it there is none."""
    x = new_model()
    shut, opened = state("den", "see:chest"), state("den", "see:chest=open")
    hall = state("hall")
    x.see(x.read(hall), ("east",))
    x.see(x.read(shut), ("open chest", "west"))
    x.see(x.read(opened), ("west",))
    trails = WholeTrails(x)
    for now, action, reward, then in ((hall, "east", 0.0, shut), (shut, "open chest", 5.0, opened)):
        x.learn(x.read(now), action, reward, x.read(then), terminated=False, died=False)
        trails.add(TrailStep(x.read(now), action, reward, x.read(then), False, False))
    trails.close()
    # The history is another one by now, so that nothing is said to fall as before.
    trails.add(TrailStep(x.read(hall), "look", 0.0, x.read(hall), False, False))
    at = x.read(hall)
    told = trails.from_here(at, 9, ("east",))
    assert told

    def values(den):
        now = Imagined(at.place, at.have, {at.place: at.see, **den})
        return router(x, now, ("east",), steps=9).best(told).value

    assert values({}) == pytest.approx(5.0)
    assert values({x.read(opened).place: x.read(opened).see}) < 5.0

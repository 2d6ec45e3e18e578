"""What is tried where, against small worlds in which the answer is known or can be counted out."""

from __future__ import annotations

import dataclasses
import random
from collections import Counter

import pytest

from engine.values.paths import EpisodeProgress, ImaginedSituation, Ways
from engine.values.plans import Route
from engine.values.text import Situation
from tests.values.planning import NUMBERS, Planning, explorer, new_model


def at(place, have=(), see=()):
    return Situation(place, frozenset(f"have:{x}" for x in have), frozenset(f"see:{x}" for x in see))


def walk(x, *steps):
    """Live through (situation, action, situation after it) one after the other."""
    for now, action, then in steps:
        x.see(now, (action,))
        x.learn(now, action, 0.0, then, terminated=False, died=False)


def test_what_an_episode_ended_on_is_not_tried_until_it_was_seen_what_can_be_done_then():
    x, closed, opened = new_model(), at("hall", see=("trap",)), at("hall", see=("hole",))
    x.begin_episode()
    walk(x, (closed, "lift trap", opened))
    x.begin_episode()  # the steps were used up
    assert x.tried[("hall", "lift trap")] == 0
    walk(x, (closed, "lift trap", opened), (opened, "down", at("cellar")))
    assert x.tried[("hall", "lift trap")] == 1
    walk(x, (closed, "look", closed))
    assert x.tried[("hall", "look")] == 1  # nothing came of it, so nothing is left to be seen


def test_what_killed_is_tried():
    x, edge = new_model(), at("edge")
    x.learn(edge, "jump", 0.0, edge, terminated=True, died=True)
    assert x.tried[("edge", "jump")] == 1


def test_ways_from_here_begin_with_what_can_be_gone_now():
    x = new_model()
    walk(x, (at("a"), "east", at("b")), (at("b"), "west", at("a")), (at("a"), "south", at("c")))
    walk(x, (at("c"), "east", at("d")), (at("d"), "north", at("b")))
    ways = Ways(x)
    assert ways.of("a")["b"] == (("a", "east"),)
    assert ways.of("a", frozenset({"south"}))["b"] == (("a", "south"), ("c", "east"), ("d", "north"))
    assert ways.of("a", frozenset()) == {"a": ()}


def wandered(seed, side=5, steps=120, danger=0.0):
    """Return what a random walk through a square of rooms tells, where it began, and what is possible there.

    From every third room one leaves at the risk of one's life, in others one stays at it.
    """
    dice = random.Random(seed)
    shift = {"north": -side, "south": side, "east": 1, "west": -1}
    exits = {
        room: {
            way: room + by
            for way, by in shift.items()
            if 0 <= room + by < side**2 and (abs(by) > 1 or (room + by) // side == room // side)
        }
        for room in range(side**2)
    }
    things = {number: [f"pull knob{number}{k}" for k in range(dice.randrange(5))] for number in exits}
    x, here, have = new_model(), 0, ()
    for _ in range(steps):
        now = at(f"room {here}", have)
        possible = (*exits[here], *things[here], *(f"drop {thing}" for thing in have), "take cup")
        x.see(now, possible)
        action = dice.choice(possible)
        there = exits[here].get(action, here)
        have = ("cup",) if action == "take cup" else () if action == "drop cup" else have
        died = action.startswith("pull") and dice.random() < 0.01
        died = died or (there != here and here % 3 == 1 and dice.random() < danger)
        died = died or (action.startswith("pull") and here % 3 == 2 and dice.random() < danger)
        x.learn(now, action, 0.0, at(f"room {there}", have), terminated=died, died=died)
        here = 0 if died else there
    possible = (*exits[0], *things[0], "take cup")
    x.see(at("room 0"), possible)
    return x, ImaginedSituation("room 0", frozenset(), {}), possible


def every(promises, goal, have, see):
    """All that can be tried at a place."""
    (draw,) = (draw for draw in promises.promises if draw.place == goal)
    asked = promises.stay(draw, have)
    found = (
        promises.of(Situation(goal, have, see), action, promise, sought=sought)
        for promise, action, sought in asked
    )
    return [offer for offer in found if offer is not None]


def far(x, now):
    """Return the route to 6 points at the farthest place known, with a cup in hand from halfway, and 400 steps left."""
    goal, way = max(Ways(x).of(now.place).items(), key=lambda item: len(item[1]))
    marks, place, cup = [(0, now.place, now.have)], now.place, frozenset({"have:cup"})
    actions = tuple(action for _, action in way)
    for number, action in enumerate(actions, 1):
        place = dict(x.exits(place))[action]
        marks.append((number, place, cup if number > len(way) / 2 else now.have))
    earned = ((len(way), 6.0),)
    return Route(ImaginedSituation(goal, cup, {}), 400.0, 6.0, 1.0, actions, marks=tuple(marks), earned=earned)


@pytest.mark.parametrize("danger", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(6))
def test_detours_come_best_first_at_most_one_to_a_place_and_within_the_steps_left(seed, danger):
    x, now, possible = wandered(seed, danger=danger)
    finder, *_ = explorer(x, now, possible)
    route = far(x, now)
    taken = finder(route).detours()
    assert len(taken) > 3
    assert [d.rate for d in taken] == sorted((d.rate for d in taken), reverse=True)
    assert taken[-1].rate >= NUMBERS.worthwhile * taken[0].rate
    assert sum(detour.cost for detour in taken) <= route.left
    assert len({detour.goal[0] for detour in taken}) == len(taken)
    short = dataclasses.replace(route, left=6.0)
    assert sum(detour.cost for detour in finder(short).detours()) <= 6.0


def test_a_thing_that_goes_by_its_state_only_is_known_by_its_name():
    x = new_model()
    x.see(at("hall", ("lamp=lit",)), ("throw lamp",))
    now = ImaginedSituation("hall", frozenset({"have:lamp=lit"}), {})
    _, promises = explorer(x, now, ("throw lamp",))
    assert "lamp" in every(promises, "hall", now.have, frozenset())[0].handles


def test_what_may_cost_the_light_in_hand_may_kill():
    x = new_model()
    lit, broken = frozenset({"have:lamp=lit"}), frozenset({"have:shards"})
    attic, hall = (
        Situation(f"room {n}", lit, frozenset({f"place:{name}#{n}"}))
        for n, name in ((2, "attic"), (1, "hall"))
    )
    x.moves.add("north")
    for number in (1, 2):  # rooms are dark without it, and one dies of leaving them then
        dark = Situation(f"room {number}", frozenset(), frozenset({f"place:dark#{number}"}))
        x.see(dark, ("north",))
        for _ in range(3):
            x.learn(dark, "north", 0.0, dark, terminated=True, died=True)
    x.see(attic, ("throw lamp at wall", "polish lamp", "north"))
    x.learn(attic, "polish lamp", 0.0, attic, terminated=False, died=False)
    x.learn(attic, "throw lamp at wall", 0.0, Situation("room 2", broken, attic.see), terminated=False, died=False)
    x.see(hall, ("throw lamp at tree", "polish lamp", "throw shards at tree", "north"))
    assert x.hazards.light == lit
    thrown = x.darkening(lit, "throw lamp at tree")
    assert thrown == NUMBERS.unmet * x.loss_rate("throw lamp at tree") > 0.0
    assert thrown == x.darkening(lit, "throw all")  # the lamp is among all
    assert x.darkening(lit, "polish lamp") < 0.1
    assert x.darkening(lit, "throw shards at tree") == x.darkening(frozenset(), "throw lamp at tree") == 0.0
    now = ImaginedSituation(hall.place, lit, {hall.place: hall.see})
    _, promises = explorer(x, now, ("throw lamp at tree",))
    tried = every(promises, hall.place, lit, hall.see)
    assert next(offer.death for offer in tried if offer.actions == ("throw lamp at tree",)) == thrown


def test_who_stands_in_the_dark_lights_the_lamp_that_was_lit_elsewhere_before():
    x = new_model()
    out, lit = frozenset({"have:lamp"}), frozenset({"have:lamp=lit"})

    def room(number, name, have):
        return Situation(f"room {number}", have, frozenset({f"place:{name}#{number}"}))

    x.moves.add("north")
    for number in (1, 2):
        dark = room(number, "dark", out)
        x.see(dark, ("north",))
        for _ in range(3):
            x.learn(dark, "north", 0.0, dark, terminated=True, died=True)
    x.see(room(1, "hall", out), ("light lamp", "north"))
    x.learn(room(1, "hall", out), "light lamp", 0.0, room(1, "hall", lit), terminated=False, died=False)
    x.see(room(1, "hall", lit), ("north",))
    x.learn(room(1, "hall", lit), "north", 0.0, room(2, "attic", lit), terminated=False, died=False)
    x.see(room(2, "attic", lit), ("north",))
    x.learn(room(2, "attic", lit), "north", 0.0, room(1, "hall", lit), terminated=False, died=False)
    now, valid = room(9, "dark", out), ("north", "light lamp", "throw lamp", "wait")
    x.see(now, valid)  # never here before
    here = ImaginedSituation(now.place, now.have, {now.place: now.see})
    planner = Planning(x, 3.0)

    def first(valid):
        return planner.plan(here, 30, EpisodeProgress(), valid=valid).actions[:1]

    assert first(valid) == ("light lamp",)
    assert first(("north", "throw lamp", "wait")) != ("light lamp",)
    tried = EpisodeProgress(tried=Counter({("room 9", "light lamp"): 1}))
    assert planner.plan(here, 30, tried, valid=valid).actions[:1] != ("light lamp",)
    failed = EpisodeProgress(failed={("room 9", "light lamp")})
    assert planner.plan(here, 30, failed, valid=valid).actions[:1] != ("light lamp",)


def test_a_detour_ends_before_what_would_make_its_rate_lower():
    """A way from the den was never tried. To hum there promises points, too, but fewer for a step."""
    x = new_model()
    walk(x, (at("yard"), "north", at("hall")), (at("hall"), "east", at("den")))
    for _ in range(20):
        x.yields.add("hum", 0.0, lost=False, share=1.0)
    x.see(at("den"), ("north", "hum"))
    x.see(at("hall"), ("east",))
    here = ImaginedSituation("hall", at("hall").have, {})
    finder, promises = explorer(x, here, ("east",))
    offered = [(promise, action) for promised in promises.promises if promised.place == "den"
               for promise, action, _ in promises.stay(promised, at("hall").have)]  # fmt: skip
    (way, first), (little, second) = offered
    assert (first, second) == ("north", "hum")
    cost = 1 + 1 + NUMBERS.look_around
    assert way / cost > (way + little) / (cost + 1) > 0.0
    found = [detour for detour in finder(Route(here, 20.0)).detours() if detour.goal[0] == "den"]
    assert [(detour.actions, detour.goal) for detour in found] == [(("east", "north"), ("den", "north"))]
    assert found[0].cost == cost


def test_a_detour_before_the_lamp_is_taken_does_not_count_on_its_light():
    x = new_model()
    none, lamp = frozenset[str](), frozenset({"have:lamp"})

    def room(number, name, have, *see):
        return Situation(f"room {number}", have, frozenset({f"place:{name}#{number}", *see}))

    hall, dark, cellar = room(1, "hall", none, "see:lamp"), room(2, "dark", none), room(2, "cellar", lamp)
    vault, laden = room(3, "vault", lamp), room(1, "hall", lamp)
    x.moves.update(("down", "up", "north", "south"))
    other = room(4, "dark", none)  # as dark as the cellar, and the same danger
    for place in (dark, other):
        x.see(place, ("north", "up"))
        x.arrive(place)
        for _ in range(3):
            x.learn(place, "north", 0.0, place, terminated=True, died=True)
    walk(
        x, (hall, "down", dark), (hall, "take lamp", laden), (laden, "down", cellar), (cellar, "north", vault)
    )
    x.arrive(cellar)
    x.see(vault, ("south", "open chest"))
    x.learn(vault, "south", 0.0, cellar, terminated=False, died=False)
    now = ImaginedSituation(hall.place, none, {hall.place: hall.see})
    finder, *_ = explorer(x, now, ("take lamp", "down"))
    world = {hall.place: laden.see, cellar.place: cellar.see, vault.place: vault.see}
    route = Route(
        ImaginedSituation(vault.place, lamp, world),
        20.0,
        value=5.0,
        actions=("take lamp", "down", "north"),
        marks=((0, hall.place, none), (1, hall.place, lamp), (2, cellar.place, lamp)),
        earned=((3, 5.0),),
    )
    along = finder(route)
    start, end = along._anchors[0], along._anchors[-1]
    assert (start.at.have, end.at.have) == (none, lamp)
    assert along._survival(start, ((cellar.place, "north"),)) < 0.7
    assert along._survival(end, ((cellar.place, "north"),)) > 0.9
    taken = along.detours()
    chest = [detour for detour in taken if detour.actions[-1] == "open chest"]
    assert chest
    assert all(detour.start > 0 for detour in chest)


def test_what_was_not_possible_just_now_is_offered_no_more():
    x = new_model()
    walk(x, (at("yard"), "north", at("hall", (), ("box",))))
    x.see(at("hall", (), ("box",)), ("open box", "south"))
    dusty = at("hall", (), ("box", "dust"))

    def offered():
        _, promises = explorer(x, ImaginedSituation("yard", frozenset(), {}), ("north",))
        return {offer.actions[-1] for offer in every(promises, "hall", dusty.have, dusty.see)}

    assert "open box" in offered()
    x.see(dusty, ("south",))
    assert "open box" not in offered()
    assert "south" in offered()

"""What is done and does not show, but in what can be done then."""

from __future__ import annotations

import pytest

from engine.records import State, Step
from engine.values.graph import GraphEstimator
from engine.values.novelty import Bringing
from engine.values.paths import Imagined, Progress
from engine.values.plans import Route
from engine.values.text import Reader, Situation
from tests.values.gridworld import live
from tests.values.planning import NUMBERS, Planning, explorer, new_model
from tests.values.test_graph import SETTLED, Remembered, play

OPEN, CLOSE, PUT = "open case", "close case", "put egg in case"
HALL = Situation("hall", frozenset({"have:egg"}), frozenset({"see:case"}))


class Hall:
    """A hall with a case, and a nest with an egg. Nobody says whether the case is open."""

    died = False

    def reset(self):
        self.at, self.open, self.egg, self.score, self.done = "hall", False, "nest", 0.0, False
        return self.state()

    def state(self):
        tokens = [f"place:{self.at}", *(["see:case"] if self.at == "hall" else [])]
        tokens += ["have:egg"] * (self.egg == "hand") + [f"see:egg@{self.egg}"] * (self.egg == self.at)
        return State(" ".join(tokens), tuple(sorted(tokens)), place=self.at)

    def valid(self):
        if self.at == "nest":
            return ("down", *["take egg"] * (self.egg == "nest"))
        return ("up", CLOSE if self.open else OPEN, *[PUT] * (self.open and self.egg == "hand"))

    def step(self, action):
        before = self.score
        if action in ("up", "down"):
            self.at = {"up": "nest", "down": "hall"}[action]
        elif action in (OPEN, CLOSE):
            self.open = action == OPEN
        elif action == "take egg":
            self.egg = "hand"
        elif action == PUT:
            self.egg, self.done = "case", True
            self.score += 5.0
        return self.state(), self.score - before


def test_what_was_opened_and_does_not_show_is_opened_for_what_needs_it():
    """The egg was put in with the case opened before it was fetched: now it is in hand already, and the case shut."""
    lived = live(Hall(), [OPEN, CLOSE, OPEN, "up", "take egg", "down", PUT])
    other = live(Hall(), ["up", "take egg", "down", "up", "down"])
    world = Hall()
    estimator = GraphEstimator(Remembered(lived, other), SETTLED)
    actions, score = play(estimator, world, 5, settings=SETTLED)
    assert (score, sorted(actions)) == (5.0, sorted([OPEN, "up", "take egg", "down", PUT]))
    world.reset()  # whoever stands there with the egg in hand opens it first
    world.egg = "hand"
    world.reset = world.state
    world.score, world.done = 0.0, False
    assert play(estimator, world, 2, settings=SETTLED) == ([OPEN, PUT], 5.0)


def test_what_does_not_show_is_told_by_what_is_done_to_what_stands_there():
    unseen = Reader()
    unseen.learn(HALL, OPEN, ("up", OPEN), HALL, ("up", CLOSE, PUT))
    assert unseen.add(HALL, ("up", CLOSE, PUT)).see == {"see:case", "can:close case"}
    assert unseen.add(HALL, ("up", OPEN)) == HALL
    unseen.learn(HALL, CLOSE, ("up", CLOSE, PUT), HALL, ("up", OPEN))  # told by the same
    assert unseen.add(HALL, ("up", OPEN)) == HALL


@pytest.mark.parametrize(
    ("action", "after"),
    [
        (
            "wait",
            ("up", OPEN, "wait", "give egg to thief", "greet thief"),
        ),  # somebody came who is not described
        (OPEN, ("up",)),  # it cannot be done twice: nothing else is known of it
        ("wait", ("up", OPEN, "wait")),
        ("wait", ("up", OPEN, "jump")),  # time passes
        (OPEN, ("up", "close box")),  # and carries the box away some day
        (OPEN, ("up", "polish egg")),  # the egg is in hand
    ],
)
def test_what_tells_nothing_of_a_place_is_no_part_of_it(action, after):
    unseen = Reader({"box"}, {"up"})
    hall = Situation(HALL.place, HALL.have, HALL.see | {"see:box", "see:egg cup"})
    before = ("up", OPEN, "wait")
    unseen.learn(hall, action, before, hall, after)
    assert unseen.add(hall, after) == unseen.add(hall, before) == hall


def test_a_way_that_opens_without_a_word_tells_of_it():
    unseen = Reader(moves={"north", "up"})
    before, after = ("up", "pull lever"), ("up", "pull lever", "north", "wait")
    unseen.learn(HALL, "pull lever", before, HALL, after)
    assert unseen.add(HALL, after).see == {"see:case", "can:north"}


def test_what_shows_is_no_secret():
    unseen = Reader()
    opened = Situation("hall", HALL.have, frozenset({"see:case=open"}))
    unseen.learn(HALL, OPEN, ("up", OPEN), opened, ("up", CLOSE, PUT))
    assert unseen.add(opened, ("up", CLOSE, PUT)) == opened


def state(place, *tokens):
    return State(place, (f"place:{place}", *tokens), place=place)


@pytest.mark.parametrize("brought", [False, True])
def test_what_can_be_opened_is_opened_again_with_something_new_in_hand(brought):
    x = new_model()
    shut, ajar = state("hall", "see:case"), state("hall", "see:case=open")

    def did(now, possible, action, then):
        x.see(x.read(now), possible)
        x.learn(x.read(now), action, 0.0, x.read(then), terminated=False, died=False)

    def have(now, *things):
        return State(now.text, (*now.tokens, *(f"have:{thing}" for thing in things)), place=now.place)

    for _ in range(9):  # all of this is known
        for things in ((), ("egg",)):
            now = have(shut, *things)
            did(now, (OPEN, "east"), "east", have(state("den"), *things))
            did(have(state("den"), *things), ("west",), "west", now)
            if brought or not things:
                did(now, (OPEN, "east"), OPEN, have(ajar, *things))
                did(have(ajar, *things), (CLOSE, "east"), CLOSE, now)
    x.see(x.read(have(shut, "egg")), (OPEN, "east"))
    now = x.read(have(shut, "egg"))
    plan = Planning(x, 3.0).plan(
        Imagined(now.place, now.have, {now.place: now.see}), 6, Progress(), valid=(OPEN, "east")
    )
    assert (plan.goal == ("place:hall", OPEN)) == (not brought)


def test_the_dark_is_no_news_in_the_next_room():
    x = new_model()
    for number in range(9):
        lit = State("", (f"place:room {number}#{number}", "have:lamp=lit"))
        dark = State("", (f"place:darkness#{number}", "have:lamp"))
        x.see(x.read(lit), ("extinguish lamp",))
        x.learn(x.read(lit), "extinguish lamp", 0.0, x.read(dark), terminated=False, died=False)
        x.see(x.read(dark), ("light lamp",))
    assert (
        x.yields.rate("extinguish") / x.staleness("extinguish lamp") < 0.15
    )  # new in the first room alone


def test_ways_never_gone_in_the_dark_are_more_dangerous_than_those_that_are_known():
    x = new_model()
    x.moves.update(("north", "south"))
    dark = [x.read(State("", (f"place:darkness#{number}",))) for number in range(9)]
    for number in range(8):
        x.learn(dark[number], "south", 0.0, dark[number + 1], terminated=False, died=False)
        for _ in range(4):  # gone again
            x.learn(dark[number], "south", 0.0, dark[number + 1], terminated=False, died=False)
        x.learn(dark[number], "north", -10.0, dark[number], terminated=True, died=True)
    known, untried = (
        x.hazards.hazard("room 8", dark[8].see, moving=True, first=first) for first in (False, True)
    )
    assert known < 0.2
    assert untried > 0.4
    x.see(dark[8], ("north", "south"))
    here = Imagined(dark[8].place, dark[8].have, {dark[8].place: dark[8].see})
    finder, *_ = explorer(x, here, ("north", "south"))
    assert finder(Route(here, 9.0))._hazards(dark[8])[0] == untried


def test_what_does_not_show_is_learnt_of_steps_that_a_person_takes():
    """Nobody asks the estimator between two of them: what could be done after the first comes with the second."""
    estimator, lived = GraphEstimator(Remembered(), SETTLED), live(Hall(), [OPEN, CLOSE])
    estimator.begin_episode(lived.steps[0].state)
    for step, then in zip(lived.steps, (lived.steps[1].state, lived.final), strict=True):
        estimator.observe(step, then, terminated=False, lost=False)
    now = estimator.model.read(lived.final, ("up", CLOSE))
    assert now.see == {"see:case", "can:close case"}


def test_what_does_not_show_is_taken_to_stay_where_nobody_knows_what_can_be_done():
    reader, hall, nest = Reader(set(), {"up"}), state("hall", "see:case"), state("nest")
    shut, ajar = ("up", OPEN), ("up", CLOSE)

    def step(action, possible):
        return Step(hall, action, 0.0, 0.0, 0.0, valid_actions=possible)

    reader.read_step(step(OPEN, shut), hall, ajar)
    now, after = reader.read_step(step("dance", ajar), hall, None)
    assert "can:close case" in now.see
    assert after == now
    assert reader.read_step(step("up", ajar), nest, None)[1].see == frozenset()


@pytest.mark.parametrize("carried", [False, True])
def test_what_was_carried_here_is_nothing_that_is_opened_here(carried):
    bringing = Bringing(NUMBERS)
    bringing.see("den", frozenset({"have:case"} if carried else ()), (), known=False, new=True)
    shut, ajar = (
        Situation("hall", frozenset(), frozenset({token})) for token in ("see:case", "see:case=open")
    )
    bringing.open(shut, OPEN, ajar)
    assert bringing.openers == ({} if carried else {"hall": {"see:case=open": OPEN}})
    bringing.open(
        shut, "put out lamp", Situation("hall", frozenset(), frozenset({"place:dark#1", "see:grue=near"}))
    )
    assert len(bringing.openers.get("hall", ())) == (not carried)  # that is the dark


@pytest.mark.parametrize("brought", [False, True])
def test_something_new_is_brought_to_what_stands_open(brought):
    x = new_model()
    hall, den = "place:hall", "place:den"
    egg = frozenset({"have:egg"})
    shut, ajar = frozenset({"see:case"}), frozenset({"see:case=open"})

    def did(now, possible, action, then):
        x.see(now, possible)
        x.learn(now, action, 0.0, then, terminated=False, died=False)

    for _ in range(9):  # all of this is known
        for have in (frozenset[str](), egg):
            at = Situation(hall, have, shut)
            did(at, (OPEN, "east"), "east", Situation(den, have, frozenset()))
            did(Situation(den, have, frozenset()), ("west",), "west", at)
            if brought or not have:
                did(at, (OPEN, "east"), OPEN, Situation(hall, have, ajar))
                did(Situation(hall, have, ajar), (CLOSE, "east"), CLOSE, at)
    now = Situation(den, egg, frozenset())
    x.see(now, ("west",))
    world = {hall: ajar, den: frozenset[str]()}  # it was left open in this episode
    planner = Planning(x, 3.0)
    plan = planner.plan(Imagined(den, egg, world), 6, Progress(world=dict(world)), valid=("west",))
    assert (plan.goal == (hall, "")) == (not brought)
    if not brought:
        _, offers = explorer(x, Imagined(den, egg, world), ("west",), steps=6)
        draw = next(draw for draw in offers.promises if draw.place == hall)
        asked = offers.stay(draw, egg, ajar, False)
        assert all(action != OPEN for _, action, sought in asked if sought)  # it is open

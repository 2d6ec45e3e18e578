"""What is done and does not show, but in what can be done then."""

from __future__ import annotations

import pytest

from engine.records import State, Step
from engine.values.graph import GraphEstimator
from engine.values.text import Situation, StateReader
from tests.values.gridworld import live
from tests.values.planning import new_model
from tests.values.test_graph import SETTLED, play, remembered

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
    estimator = GraphEstimator(remembered(lived, other), SETTLED)
    actions, score = play(estimator, world, 5, settings=SETTLED)
    assert (score, sorted(actions)) == (5.0, sorted([OPEN, "up", "take egg", "down", PUT]))
    world.reset()  # whoever stands there with the egg in hand opens it first
    world.egg = "hand"
    world.reset = world.state
    world.score, world.done = 0.0, False
    assert play(estimator, world, 2, settings=SETTLED) == ([OPEN, PUT], 5.0)


def test_what_does_not_show_is_told_by_what_is_done_to_what_stands_there():
    unseen = StateReader()
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
    unseen = StateReader({"box"}, {"up"})
    hall = Situation(HALL.place, HALL.have, HALL.see | {"see:box", "see:egg cup"})
    before = ("up", OPEN, "wait")
    unseen.learn(hall, action, before, hall, after)
    assert unseen.add(hall, after) == unseen.add(hall, before) == hall


def test_a_way_that_opens_without_a_word_tells_of_it():
    unseen = StateReader(moves={"north", "up"})
    before, after = ("up", "pull lever"), ("up", "pull lever", "north", "wait")
    unseen.learn(HALL, "pull lever", before, HALL, after)
    assert unseen.add(HALL, after).see == {"see:case", "can:north"}


def test_what_shows_is_no_secret():
    unseen = StateReader()
    opened = Situation("hall", HALL.have, frozenset({"see:case=open"}))
    unseen.learn(HALL, OPEN, ("up", OPEN), opened, ("up", CLOSE, PUT))
    assert unseen.add(opened, ("up", CLOSE, PUT)) == opened


def state(place, *tokens):
    return State(place, (f"place:{place}", *tokens), place=place)


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


def test_what_does_not_show_is_learnt_of_steps_that_a_person_takes():
    """Nobody asks the estimator between two of them: what could be done after the first comes with the second."""
    estimator, lived = GraphEstimator(remembered(), SETTLED), live(Hall(), [OPEN, CLOSE])
    estimator.begin_episode(lived.steps[0].state)
    for step, then in zip(lived.steps, (lived.steps[1].state, lived.final), strict=True):
        estimator.observe(step, then, terminated=False, lost=False)
    now = estimator.model.read(lived.final, ("up", CLOSE))
    assert now.see == {"see:case", "can:close case"}


def test_what_does_not_show_is_taken_to_stay_where_nobody_knows_what_can_be_done():
    reader, hall, nest = StateReader(set(), {"up"}), state("hall", "see:case"), state("nest")
    shut, ajar = ("up", OPEN), ("up", CLOSE)

    def step(action, possible):
        return Step(hall, action, 0.0, 0.0, 0.0, valid_actions=possible)

    reader.read_step(step(OPEN, shut), hall, ajar)
    now, after = reader.read_step(step("dance", ajar), hall, None)
    assert "can:close case" in now.see
    assert after == now
    assert reader.read_step(step("up", ajar), nest, None)[1].see == frozenset()

"""Luck: what it is worth to do all again as it was done, and to try again what was deadly."""

from __future__ import annotations

import numpy as np
import pytest

from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.agents.random import UniformPrior
from engine.environments import profile
from engine.records import Episode, Observation, State, Step
from engine.settings import Settings
from engine.values.graph import GraphEstimator
from engine.values.text import Situation
from engine.values.trails import Histories, TrailStep
from tests.values.planning import NUMBERS, WholeTrails
from tests.values.test_graph import Remembered

NONE = frozenset()
HALL = Situation("hall", NONE, frozenset({"see:troll"}))
FREE = Situation("hall", NONE, NONE)
CAVE = Situation("cave", NONE, NONE)


def fight(wins, trails):
    """Live an episode of two blows at a troll, of which the one with this number slays it, and the gold behind it."""
    for blow in (1, 2):
        trails.add(TrailStep(HALL, "attack troll", 0.0, FREE if blow == wins else HALL, False, False))
        if blow == wins:
            trails.add(TrailStep(FREE, "north", 0.0, CAVE, False, False))
            trails.add(TrailStep(CAVE, "take gold", 5.0, CAVE, False, False))
            break
    trails.close()


def best(trails, faithful):
    """Return how sure the best trail from the beginning is, of those that count on the same luck, or of the others."""
    found = trails.from_here(HALL, 20, ("attack troll",))
    return max((trail.sure for trail in found if bool(trail.repeat_probability) == faithful), default=0.0)


def test_a_fight_won_by_luck_is_sure_only_if_all_before_it_is_done_again():
    trails = WholeTrails(NUMBERS)
    fight(2, trails)
    assert best(trails, True) >= 0.8
    assert best(trails, False) < 0.7  # the first blow of the two did nothing: the second was lucky
    trails.add(TrailStep(HALL, "look", 0.0, HALL, False, False))
    assert best(trails, True) == 0.0  # luck falls otherwise now


def test_a_fight_won_at_the_first_blow_is_not_sure_where_blows_are_known_to_differ():
    trails, rope = WholeTrails(NUMBERS), frozenset({"have:rope"})
    fight(2, trails)
    laden, free = Situation("hall", rope, HALL.see), Situation("hall", rope, NONE)
    trails.add(TrailStep(laden, "attack troll", 5.0, free, False, False))
    trails.close()
    trails.add(TrailStep(laden, "wait", 0.0, laden, False, False))
    (trail,) = trails.from_here(laden, 9, ("attack troll",))[:1]
    assert trail.sure < 0.5


def test_luck_that_falls_otherwise_each_time_is_counted_on_less_and_less():
    same, other = WholeTrails(NUMBERS), WholeTrails(NUMBERS)
    for episode in range(6):
        fight(2, same)
        fight(2 if episode % 2 else 3, other)
    assert best(same, True) > 0.85 > 0.6 > best(other, True)


def test_the_best_continuations_of_a_history_are_told_first_and_what_is_not_known_has_none():
    histories = Histories(NUMBERS)
    for number, points in enumerate((1.0, 7.0, 3.0, 0.0)):
        histories.add("go", CAVE, 0.0, by_luck=False)
        histories.add(f"dig {number}", CAVE, points, by_luck=False)
        assert histories.close([0.0, points], number) == points
    assert list(histories.continued()) == [(1, 0), (2, 0), (0, 0)]
    histories.add("go", CAVE, 0.0, by_luck=False)
    assert list(histories.continued()) == [(1, 1), (2, 1), (0, 1)]
    histories.lose()
    assert list(histories.continued()) == []


def test_what_cost_more_than_it_gained_later_is_continued_as_it_was_lived():
    trails = WholeTrails(NUMBERS)
    for action, reward in (("pay", -5.0), ("wait", 0.0), ("dig", 3.0)):
        trails.add(TrailStep(HALL, action, reward, HALL, died=False, terminated=False))
    trails.close(lambda lived: [lived[2:]])  # told without what was in vain
    trails.add(TrailStep(HALL, "pay", -5.0, HALL, died=False, terminated=False))
    found = trails.from_here(HALL, 9, ("wait",))
    assert [trail.actions for trail in found] == [("wait", "dig")]


def test_what_killed_after_all_the_same_is_known_and_forgotten_where_luck_falls_otherwise():
    histories = Histories(NUMBERS)

    def live(last, died, told=CAVE):
        histories.add("go", told, 0.0, by_luck=True)
        deadly = histories.deadly
        histories.add(last, CAVE, 0.0, by_luck=False, died=died)
        histories.close([0.0, 0.0], 0)
        return deadly

    assert live("strike", True) == set()
    assert live("wait", False) == {"strike"}
    assert live("flee", True) == {"strike"}
    assert live("strike", False) == {"strike", "flee"}
    assert live("wait", False) == {"flee"}  # struck again, and lived
    for number in range(20):
        deadly = live("wait", False, told=number)
    assert deadly == set()  # nothing falls as before here


def test_what_killed_at_the_beginning_of_an_episode_is_not_done_then_though_it_pays_otherwise():
    """A blow kills who strikes at once, and pays for who shouts before; no state shows whether one did."""
    hall = State("hall", ("place:hall", "see:troll"), place="hall")
    possible = ("shout", "strike")

    def lived(uid, *steps):
        taken = [Step(hall, a, r, r, 0.0, valid_actions=possible) for a, r in steps]
        died = steps[-1][1] < 0
        return Episode(uid, "game/hall", tuple(taken), hall, terminated=died, outcome="lost" if died else "")

    episodes = [lived("0", ("strike", -1.0))]
    episodes += [lived(str(n), *[("shout", 0.0)] * n, ("strike", 3.0)) for n in range(1, 9)]
    settings = Settings(estimator="graph", selection="greedy", beta=10.0, curiosity=0.0)
    agent, done = JitrlAgent(UniformPrior(), GraphEstimator(Remembered(*episodes), settings), settings), []
    agent.begin_episode(hall)
    for number in range(2):
        turn = Turn(number, 2 - number, Observation(""), hall, possible)
        decision = agent.decide(turn, np.random.default_rng(number))
        done.append(decision.action)
        if not number:
            risk = dict(
                zip((c.action for c in decision.candidates), decision.update.valuation.terms["risk"], strict=True)
            )
            assert risk["strike"] < -0.5 < risk["shout"]
        struck = decision.action == "strike"
        reward = 3.0 if struck else 0.0
        step = Step(hall, decision.action, reward, reward, reward, valid_actions=possible)
        agent.observe(step, hall, observation=Observation(""), terminated=False, lost=False)
    assert done == ["shout", "strike"]


def test_an_episode_that_only_repeated_another_is_known_from_one_that_departed_from_it():
    histories = Histories(NUMBERS)

    def live(*actions, told=CAVE):
        for action in actions:
            histories.add(action, told, 0.0, by_luck=False)
        histories.close([0.0] * len(actions), 0)
        return histories.repeated

    assert not live("go", "dig")
    assert live("go", "dig")
    histories.close([], 0)  # what was never begun tells nothing
    assert histories.repeated
    assert live("go")  # a part of it, too
    assert not live("go", "wait")
    assert not live("go", "wait", told=HALL)  # something else came of it
    histories.lose()
    assert not live("go", "wait", told=HALL)


@pytest.mark.parametrize(
    ("times", "episode", "to_gain", "faithful"),
    [(1, 5, None, True), (2, 5, None, False), (2, 50, None, True), (2, 5, 5.0, True), (2, 5, 9.0, False)],
)
def test_who_only_repeats_looks_for_another_way_unless_the_run_ends_or_nothing_is_left_to_gain(
    times, episode, to_gain, faithful, monkeypatch
):
    hall = State("hall", ("place:hall", "see:troll"), place="hall")
    free = State("hall", ("place:hall",), place="hall")

    def step(at, action, reward, valid):
        return Step(at, action, reward, reward, reward, valid_actions=valid)

    steps = (
        step(hall, "attack troll", 0.0, ("attack troll",)),
        step(hall, "attack troll", 0.0, ("attack troll",)),
        step(free, "take gold", 5.0, ("take gold",)),
    )
    episodes = [Episode(str(n), "game/hall", steps, free, score=5.0) for n in range(times)]
    settings = profile("default")
    estimator = GraphEstimator(Remembered(*episodes), settings)
    agent = JitrlAgent(UniformPrior(), estimator, settings)
    agent.begin_episode(hall)
    seen = Observation("", max_score=to_gain)
    turn = Turn(0, 20, seen, hall, ("attack troll",), episode=episode, episodes=50)
    offered = []

    def from_here(*args, from_here=estimator._trails.from_here, **options):
        offered.append(any(trail.repeat_probability for trail in from_here(*args, **options)))
        return from_here(*args, **options)

    monkeypatch.setattr(estimator._trails, "from_here", from_here)
    agent.decide(turn, np.random.default_rng(0))
    assert offered[0] == faithful

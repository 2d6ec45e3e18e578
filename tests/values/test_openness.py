"""Needs that explain nearly all failures, and how luck is told."""

from __future__ import annotations

from engine.environments import profile
from engine.records import State, Step
from engine.values.conditions import Conditions
from engine.values.graph import GraphEstimator
from engine.values.situations import Situation
from engine.values.trails import Trails, TrailStep
from tests.values.test_graph import Remembered

NONE = frozenset()
AWAKE = frozenset({"see:troll"})
WAYS = ("east", "south")
HALL, FREE = Situation("hall", NONE, AWAKE), Situation("hall", NONE, NONE)


def test_what_explains_nearly_all_is_needed_though_it_was_in_vain_once():
    conditions = Conditions()
    gone, babbling = "gone:see:troll", "see:babbling troll"
    for number in range(6):
        conditions.see(frozenset({"see:troll", "see:wall", f"have:{number}"}), ("south",))
    for number in range(3):
        conditions.see(frozenset({gone, "see:wall", f"have:{number}"}), WAYS)
    assert conditions.needs("east") == (frozenset({gone}),)
    conditions.see(frozenset({gone, babbling, "see:wall"}), ("south",))
    assert conditions.needs("east") == (frozenset({gone}),)
    assert 0.5 < conditions.chance("east", frozenset({gone, "see:wall", "have:key"})) < 1.0
    assert conditions.chance("east", frozenset({"see:troll", "see:wall", "have:key"})) == 0.0


def test_what_was_in_vain_half_of_the_time_is_no_need():
    conditions = Conditions()
    for number in range(6):
        conditions.see(frozenset({"see:wall", f"have:{number}", *(["see:fly"] * (number % 2))}), ("south",))
    conditions.see(frozenset({"see:fly", "see:wall"}), WAYS)
    conditions.see(frozenset({"see:fly", "see:wall", "have:key"}), WAYS)
    assert conditions.needs("east") == (NONE,)


def test_luck_is_told_by_what_the_game_said_not_by_how_it_was_read():
    start, missed = Situation("hall", NONE, AWAKE), Situation("hall", NONE, AWAKE | {"gone:see:rug"})
    for read_alike, same in ((True, True), (False, True), (True, False)):
        trails = Trails()
        for episode in range(6):
            then = start if read_alike or not episode % 2 else missed
            trails.add(TrailStep(start, "hit", 0.0, then, False, False), told=1 if same else episode)
            trails.add(TrailStep(start, "dig", 5.0, start, False, False), told=2)
            trails.close()
            # Something else came of it once more, in another episode: it is a matter of luck.
            trails.add(TrailStep(start, "wait", 0.0, start, False, False), told=3)
            trails.add(TrailStep(start, "hit", -3.0, start, False, False), told=4)
            trails.close()
        found = trails.from_here(start, 9, 9, ("hit",))
        sure = max(trail.faithful for trail in found)
        assert sure > 0.85 if same else sure < 0.7, (read_alike, same)


def test_doing_all_the_same_again_proves_nothing_about_doing_a_part_of_it():
    trails = Trails()
    trails.add(TrailStep(HALL, "wait", 0.0, HALL, False, False))
    trails.add(TrailStep(HALL, "hit troll", 0.0, HALL, False, False))  # in vain
    trails.close()
    for _ in range(8):
        trails.add(TrailStep(HALL, "hit troll", 0.0, FREE, False, False))
        trails.add(TrailStep(FREE, "take gold", 5.0, FREE, False, False))
        trails.close()
    trails.add(TrailStep(FREE, "wait", 0.0, HALL, False, False))
    (trail,) = trails.from_here(HALL, 9, 9, ("hit troll",))
    assert trail.sure < 0.6


def test_what_is_missed_by_who_saw_it_elsewise_is_no_other_outcome():
    trails = Trails()
    for number in range(6):
        then = Situation("hall", NONE, frozenset({"gone:see:rug"} if number % 2 else ()))
        trails.add(TrailStep(FREE, f"say {number}", 0.0, FREE, False, False))
        trails.add(TrailStep(FREE, "dig", 0.0, then, False, False))
        trails.add(TrailStep(then, "take gold", 5.0, FREE, False, False))
        trails.close()
    trails.add(TrailStep(FREE, "wait", 0.0, FREE, False, False))
    assert max(trail.sure for trail in trails.from_here(FREE, 9, 9, ("dig",))) > 0.95


def test_an_outcome_is_the_same_to_who_reads_it_otherwise_by_now(monkeypatch):
    said, read = [], []

    def add(self, step, told):
        said.append(told)
        read.append(step.then)

    monkeypatch.setattr(Trails, "add", add)
    estimator = GraphEstimator(Remembered(), profile("default"))
    hall, rug = (State(text, ("place:hall", text), place="hall") for text in ("see:wall", "see:rug"))
    for then in (hall, rug, hall):
        estimator.begin_episode(hall)
        step = Step(hall, "look", 0.0, 0.0, 0.0, valid_actions=("look",))
        estimator.observe(step, then, terminated=False, lost=False)
        estimator.observe(
            Step(then, "look", 0.0, 0.0, 0.0, valid_actions=("look",)), then, terminated=False, lost=False
        )
    estimator.begin_episode(hall)
    assert read[0] != read[4]  # the rug that was seen meanwhile is missed
    assert said[0] == said[4] != said[2]

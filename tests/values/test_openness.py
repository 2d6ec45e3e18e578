"""Ways that do not stay open, needs that explain nearly all, and how luck is told."""

from __future__ import annotations

import pytest

from engine.environments import profile
from engine.records import State, Step
from engine.values.conditions import Conditions
from engine.values.experience import Experience
from engine.values.graph import GraphEstimator
from engine.values.openness import Openness
from engine.values.planner import Imagined, Planner, PlannerSettings, Progress
from engine.values.situations import Situation
from engine.values.trails import Trails, TrailStep
from tests.values.test_graph import Remembered

NONE = frozenset()
AWAKE, OUT = frozenset({"see:troll"}), frozenset({"see:stunned troll"})
WAYS = ("east", "south")
HALL, FREE = Situation("hall", NONE, AWAKE), Situation("hall", NONE, NONE)


def told(openness, *turns):
    """See the ways that are open in the hall, turn by turn, doing other things meanwhile."""
    for ways in turns:
        openness.see("hall", ways, {"east", "south"})
        openness.stay("hall", "hall", False)


def test_a_way_that_was_shut_when_something_else_was_done_is_fleeting_until_it_mostly_stays_open():
    openness = Openness()
    assert not openness.is_fleeting("hall", "east")
    told(openness, WAYS, ("south",))
    assert openness.is_fleeting("hall", "east")
    assert not openness.is_fleeting("hall", "south")
    assert not openness.is_fleeting("cellar", "east")
    told(openness, *[WAYS] * 3)
    assert not openness.is_fleeting("hall", "east")


@pytest.mark.parametrize("between", ["left", "ended", "anew"])
def test_a_way_is_compared_only_by_who_stayed(between):
    openness = Openness()
    openness.see("hall", WAYS, {"east", "south"})
    openness.stay("hall", "cellar" if between == "left" else "hall", between == "ended")
    if between == "anew":
        openness.leave()
    openness.see("hall", ("south",), {"east", "south"})
    assert not openness.is_fleeting("hall", "east")


def hall(woke, dug):
    """Return an experience of a hall and a vault east of it.

    Args:
        woke: Whether the troll in the hall woke up once.
        dug: Whether it is known what digging in the vault is worth.
    """
    x = Experience()
    stunned, awake = Situation("hall", NONE, OUT), Situation("hall", NONE, AWAKE)
    vault = Situation("vault", NONE, frozenset({"see:gold"}))
    x.see(stunned, ("east", "sing", "south"))
    x.learn(stunned, "east", 0.0, vault, terminated=False, died=False)
    x.see(vault, ("dig", "west"))
    if dug:
        x.learn(vault, "dig", 5.0, vault, terminated=False, died=False)
        x.see(vault, ("dig", "west"))
    x.learn(vault, "west", 0.0, stunned, terminated=False, died=False)
    x.see(stunned, ("east", "sing", "south"))
    if woke:
        x.learn(stunned, "look", 0.0, awake, terminated=False, died=False)
        x.see(awake, ("sing", "south"))
    x.begin_episode()
    return x


@pytest.mark.parametrize("dug", [False, True])
@pytest.mark.parametrize("woke", [False, True])
def test_what_may_shut_meanwhile_is_gone_through_before_anything_is_tried(woke, dug):
    planner = Planner(hall(woke, dug), PlannerSettings(curiosity=3.0))
    here = Imagined("hall", NONE, {"hall": OUT})
    plan = planner.plan(here, 20, Progress(), {}, valid=("east", "sing"))
    assert plan.actions[0] == ("east" if woke else "sing")


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


@pytest.mark.parametrize(("kept", "first"), [(1.0, "hit troll"), (0.5, "look")])
def test_what_counts_on_luck_is_a_choice_beside_the_same_without_it(kept, first):
    x, trails = Experience(), Trails()
    for now, actions in ((HALL, ("hit troll", "look")), (FREE, ("take gold",))):
        x.see(now, actions)
    for now, action, reward, then in (
        (HALL, "look", 0.0, HALL),
        (HALL, "hit troll", 0.0, FREE),
        (FREE, "take gold", 5.0, FREE),
    ):
        x.learn(now, action, reward, then, terminated=False, died=False)
        trails.add(TrailStep(now, action, reward, then, False, False))
    trails.close()
    planner = Planner(x, PlannerSettings(curiosity=0.0))
    here = Imagined("hall", NONE, {"hall": HALL.see})
    told = trails.from_here(HALL, 9, 9, ("hit troll", "look"))
    assert planner.plan(here, 9, Progress(), {}, told, ("hit troll", "look"), kept=kept).actions[0] == first


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

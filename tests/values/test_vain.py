"""What showed nothing yet, and what was to be made possible by it."""

from __future__ import annotations

from engine.records import State
from engine.values.model import Model
from engine.values.novelty import Vain
from engine.values.paths import Imagined, Progress
from tests.values.planning import NUMBERS, Planning, new_model

BLOW = ("place:cave", "attack troll")


def test_only_what_never_showed_anything_is_in_vain():
    vain = Vain(NUMBERS)
    assert not vain.holds(BLOW)
    vain.add("attack", BLOW, showed=False, died=True)  # dying of it tells nothing of what else may come of it
    assert not vain.holds(BLOW)
    vain.add("attack", BLOW, showed=False, died=False)
    vain.add("attack", BLOW, showed=True, died=True)
    assert vain.holds(BLOW)
    vain.add("attack", BLOW, showed=True, died=False)
    assert not vain.holds(BLOW)


def test_hope_falls_with_each_try_in_vain_and_rises_where_others_of_its_class_came_to_something():
    vain, other = Vain(NUMBERS), ("place:hall", "attack orc")
    for key in (BLOW, other):
        vain.add("attack", key, showed=False, died=False)
    hopes = [vain.hope("attack", BLOW)]
    for died in (False, True, False):
        vain.add("attack", BLOW, showed=died, died=died)  # the end of the episode shows, but is not hoped for
        hopes.append(vain.hope("attack", BLOW))
    assert hopes == sorted(set(hopes), reverse=True)
    before = vain.hope("attack", BLOW)
    vain.add("attack", other, showed=True, died=False)
    assert vain.hope("attack", BLOW) > before
    assert vain.hope("wave", BLOW) == vain.hope("dig", BLOW)  # classes of which nothing is known


def fought(times: int) -> tuple[Model, State, tuple[str, ...]]:
    """Return what is known after so many blows in vain where all else showed at once what comes of it."""
    x, valid = new_model(), ("attack troll", "drop cup", "eat bun")
    cave = State("cave", ("place:cave", "have:cup", "have:bun", "see:troll"), place="cave")
    results = {
        "drop cup": State("cave", ("place:cave", "see:cup", "have:bun", "see:troll"), place="cave"),
        "eat bun": State("cave", ("place:cave", "have:cup", "see:troll"), place="cave"),
    }
    for action, then in [*results.items()] * 3 + [("attack troll", cave)] * times:
        x.begin_episode()
        x.see(x.read(cave), valid)
        x.learn(x.read(cave), action, 0.0, x.read(then), terminated=False, died=False)
        x.see(x.read(then), ("attack troll",))
    x.begin_episode()
    return x, cave, valid


def test_a_blow_that_showed_nothing_is_struck_again_also_in_the_same_episode():
    for tried in (0, 1):
        x, cave, valid = fought(2)
        now = x.read(cave)
        progress = Progress(world={now.place: now.see})
        if tried:
            progress.tried[(now.place, "attack troll")] += 1
        planner = Planning(x, 3.0)
        plan = planner.plan(Imagined(now.place, now.have, progress.world), 9, progress, valid=valid)
        assert plan.actions == ("attack troll",)


def test_it_is_given_up_after_enough_of_them():
    x, cave, valid = fought(40)
    now = x.read(cave)
    progress = Progress(world={now.place: now.see})
    planner = Planning(x, 3.0)
    plan = planner.plan(Imagined(now.place, now.have, progress.world), 9, progress, valid=valid)
    assert plan.actions != ("attack troll",)

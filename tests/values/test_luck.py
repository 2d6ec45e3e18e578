"""Luck: what it is worth to do all again as it was done."""

from __future__ import annotations

import pytest

from engine.values.histories import Histories
from engine.values.text import Situation
from engine.values.trails import TrailStep
from tests.values.planning import NUMBERS, WholeTrails, new_model

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
    trails = WholeTrails()
    fight(2, trails)
    assert best(trails, True) >= 0.8
    assert best(trails, False) < 0.7  # the first blow of the two did nothing: the second was lucky
    trails.add(TrailStep(HALL, "look", 0.0, HALL, False, False))
    assert best(trails, True) == 0.0  # luck falls otherwise now


def won_at_the_first_blow(fights):
    """Return how sure a fight is that was won at the first blow, after others were won at the second."""
    trails, rope = WholeTrails(), frozenset({"have:rope"})
    for number in range(fights):
        trails.add(TrailStep(HALL, f"wait {number}", 0.0, HALL, False, False))  # so that luck falls anew
        fight(2, trails)
    laden, free = Situation("hall", rope, HALL.see), Situation("hall", rope, NONE)
    trails.add(TrailStep(laden, "attack troll", 5.0, free, False, False))
    trails.close()
    trails.add(TrailStep(laden, "wait", 0.0, laden, False, False))
    (trail,) = trails.from_here(laden, 9, ("attack troll",))[:1]
    return trail.sure


def test_a_fight_won_at_the_first_blow_is_the_less_sure_the_more_blows_are_known_to_differ():
    assert won_at_the_first_blow(0) == 1.0
    # One blow had another result than the blow before it. The prior adds `strength` blows that did not differ.
    differ = 1.0 / (1.0 + NUMBERS.doubt)
    once = (1.0 + (1.0 - differ) * NUMBERS.doubt) / (1.0 + NUMBERS.doubt)
    assert won_at_the_first_blow(1) == pytest.approx(once)
    assert once > won_at_the_first_blow(2) > won_at_the_first_blow(4) > won_at_the_first_blow(8)
    assert won_at_the_first_blow(8) < 0.5


@pytest.mark.parametrize(("moves", "counted"), [((), True), (("climb",), False), (("climb up",), False)])
def test_the_luck_of_a_verb_is_neither_counted_nor_used_for_moves(moves, counted):
    """Who climbs a wall tears off some ivy at times. Elsewhere there is a ladder."""
    x = new_model()
    x.moves.update(moves)
    trails, wall, torn = WholeTrails(x), Situation("wall", NONE, NONE), Situation("wall", frozenset({"have:ivy"}), NONE)
    for number, then in enumerate((wall, torn, wall)):
        trails.add(TrailStep(wall, f"wait {number}", 0.0, wall, False, False))  # so that luck falls anew
        trails.add(TrailStep(wall, "climb", 0.0, then, False, False))
        trails.close()
    ladder, loft = Situation("ladder", NONE, NONE), Situation("loft", NONE, NONE)
    trails.add(TrailStep(ladder, "climb up", 5.0, loft, False, False))
    trails.close()
    trails.add(TrailStep(ladder, "wait", 0.0, ladder, False, False))
    (trail,) = trails.from_here(ladder, 9, ("climb up",))
    assert (trail.sure < 1.0) == counted


def test_luck_that_falls_otherwise_each_time_is_counted_on_less_and_less():
    same, other = WholeTrails(), WholeTrails()
    for episode in range(6):
        fight(2, same)
        fight(2 if episode % 2 else 3, other)
    assert best(same, True) > 0.85 > 0.6 > best(other, True)


def test_the_best_continuations_of_a_history_are_told_first_and_what_is_not_known_has_none():
    histories = Histories(NUMBERS)
    for number, points in enumerate((1.0, 7.0, 3.0, 0.0)):
        histories.add("go", CAVE, 0.0, by_luck=False, ended=False)
        histories.add(f"dig {number}", CAVE, points, by_luck=False, ended=False)
        histories.close([0.0, points], number)
    assert list(histories.continued()) == [(1, 0), (2, 0), (0, 0)]
    histories.add("go", CAVE, 0.0, by_luck=False, ended=False)
    assert list(histories.continued()) == [(1, 1), (2, 1), (0, 1)]
    histories.lose()
    assert list(histories.continued()) == []


def test_a_way_on_which_the_game_ended_or_that_was_gone_twice_in_vain_is_a_repetition():
    histories = Histories(NUMBERS)
    for number in range(2):
        histories.add("go", CAVE, 0.0, by_luck=False, ended=False)
        histories.add("jump", CAVE, 0.0, by_luck=False, ended=True)
        histories.close([], number)
        for way in (("go", "jump"), ("go", "jump", "dig")):
            assert histories.repeats(way, to_the_end=False)
        assert not histories.repeats(("dig",), to_the_end=True)
        assert histories.repeats(("go",), to_the_end=True)
        assert histories.repeats(("go",), to_the_end=False) == bool(number)


def test_a_way_into_a_situation_in_which_whatever_is_done_ends_the_game_is_a_repetition():
    histories = Histories(NUMBERS)
    fatal = ("north", "west")
    for number, last in enumerate(fatal):
        assert not histories.repeats(("dive",), to_the_end=False)
        histories.add("dive", CAVE, 0.0, by_luck=False, ended=False, possible=("dive", "wait"))
        histories.add(last, CAVE, 0.0, by_luck=False, ended=True, possible=fatal)
        histories.close([], number)
    assert histories.repeats(("dive", "swim"), to_the_end=False)
    assert histories.is_closed("dive")
    assert not histories.is_closed("wait")
    histories.add("dive", CAVE, 0.0, by_luck=False, ended=False, possible=("dive", "wait"))
    histories.add("west", CAVE, 0.0, by_luck=False, ended=False, possible=fatal)  # by luck one lives this time
    histories.close([], 2)
    assert not histories.is_closed("dive")


def test_what_cost_more_than_it_gained_later_is_continued_as_it_was_lived():
    trails = WholeTrails()
    for action, reward in (("pay", -5.0), ("wait", 0.0), ("dig", 3.0)):
        trails.add(TrailStep(HALL, action, reward, HALL, died=False, terminated=False))
    trails.close(lambda lived: lived[2:])  # told without what was in vain
    trails.add(TrailStep(HALL, "pay", -5.0, HALL, died=False, terminated=False))
    found = trails.from_here(HALL, 9, ("wait",))
    assert [trail.actions for trail in found] == [("wait", "dig")]

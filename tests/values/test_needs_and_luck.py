"""Needs that explain nearly all failures, and how luck is told."""

from __future__ import annotations

import pytest

from engine.values.preconditions import Preconditions
from engine.values.text import Situation
from engine.values.trails import TrailStep
from tests.values.planning import NUMBERS, WholeTrails

NONE = frozenset()
AWAKE = frozenset({"see:troll"})
WAYS = ("east", "south")
HALL, FREE = Situation("hall", NONE, AWAKE), Situation("hall", NONE, NONE)
CAVE = Situation("cave", NONE, NONE)
REST = ("north", "take gold")


def test_what_explains_nearly_all_is_needed_though_it_was_in_vain_once():
    conditions = Preconditions(NUMBERS)
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
    conditions = Preconditions(NUMBERS)
    for number in range(6):
        conditions.see(frozenset({"see:wall", f"have:{number}", *(["see:fly"] * (number % 2))}), ("south",))
    conditions.see(frozenset({"see:fly", "see:wall"}), WAYS)
    conditions.see(frozenset({"see:fly", "see:wall", "have:key"}), WAYS)
    assert conditions.needs("east") == (NONE,)


def fight(wins, trails):
    """Live an episode of two blows at a troll, of which the one with this number slays it, and the gold behind it."""
    for blow in (1, 2):
        trails.add(TrailStep(HALL, "hit troll", 0.0, FREE if blow == wins else HALL, False, False))
        if blow == wins:
            trails.add(TrailStep(FREE, "north", 0.0, CAVE, False, False))
            trails.add(TrailStep(CAVE, "take gold", 5.0, CAVE, False, False))
            break
    trails.close()


def sure(trails, *actions):
    """Return how sure the trail of these actions is."""
    return next(trail.sure for trail in trails.from_here(HALL, 20, actions[:1]) if trail.actions == actions)


def test_a_fight_that_was_won_by_luck_is_as_likely_won_again_as_blows_struck():
    """Counted are two blows more, as many of them lucky as blows came to the same again."""
    trails, won = WholeTrails(NUMBERS), ("hit troll", *REST)
    fight(1, trails)
    assert sure(trails, *won) == 1.0  # as far as anybody knows
    fight(2, trails)
    assert sure(trails, *won) == pytest.approx(2 / 5)  # two of three, and blows never came to the same again
    for _ in range(40):
        fight(1, trails)
    assert sure(trails, *won) == pytest.approx(42 / 43, abs=0.05)
    for _ in range(40):
        fight(2, trails)
        fight(1, trails)
    assert sure(trails, *won) == pytest.approx(122 / 163, abs=0.02)


def test_all_blows_of_a_trail_have_to_come_as_they_did():
    trails = WholeTrails(NUMBERS)
    for number in range(60):
        fight(1 + number % 2, trails)
    one, two = sure(trails, "hit troll", *REST), sure(trails, "hit troll", "hit troll", *REST)
    assert one == pytest.approx(2 / 3, abs=0.02)
    assert two == pytest.approx(1 / 3 * 2 / 3, abs=0.02)


def test_a_fight_won_at_the_first_blow_is_not_sure_where_blows_are_known_to_differ():
    trails, rope = WholeTrails(NUMBERS), frozenset({"have:rope"})
    fight(2, trails)
    laden, free = Situation("hall", rope, AWAKE), Situation("hall", rope, NONE)
    trails.add(TrailStep(laden, "hit troll", 5.0, free, False, False))
    trails.add(TrailStep(free, "greet elf", 5.0, free, False, False))
    trails.close()
    (gold, *_) = (trail for trail in trails.from_here(laden, 1, ("hit troll",)) if trail.stops[0] == laden)
    assert gold.sure < 0.5
    (elf,) = trails.from_here(free, 1, ("greet elf",))
    assert elf.sure == 1.0  # nothing else ever came of greeting

"""Which known gain a route goes for next: only those that may be among the best are worked out."""

from __future__ import annotations

import random

import pytest

from engine.values.plans import Route
from engine.values.text import Situation
from tests.values.planning import NUMBERS, router
from tests.values.test_detours import wandered


@pytest.mark.parametrize("seed", range(8))
def test_the_next_gains_are_the_best_of_all(seed):
    x, now, possible = wandered(seed, danger=0.2)
    dice = random.Random(seed)
    for place in sorted(x.places):
        there, digs = Situation(place, frozenset(), frozenset()), [f"dig {n}" for n in range(dice.randint(0, 2))]
        with_empty_hands = [action for action in x.places[place].preconditions if action != "drop cup"]
        x.see(there, (*with_empty_hands, *digs))
        for dig in digs:
            for _ in range(3):  # sometimes in vain, sometimes deadly
                died = dice.random() < 0.1
                points = 0.0 if died else dice.choice((0.0, 1.0, 5.0))
                x.learn(there, dig, points, there, terminated=died, died=died)
    assert len(x.gains) > 2 * NUMBERS.breadth // 2
    finder = router(x, now, possible)
    for alive in (1.0, 0.6):
        route = Route(now, 40.0, success=alive, marks=((0, now.place, now.have),))
        goals = ((key, finder._leg(route, key)) for key in x.gains)
        found = [further for key, further in goals if further is not None and key in further.gained]
        assert len(found) > NUMBERS.breadth // 2
        steps = [route.left - further.left + NUMBERS.overhead for further in found]
        rates = [(further.value - route.value) / taken for further, taken in zip(found, steps, strict=True)]
        best = sorted(range(len(found)), key=lambda number: -rates[number])
        assert finder._further(route) == [found[number] for number in best[: NUMBERS.breadth // 2]]

"""What classes of actions bring, against a world of things whose average is known."""

from __future__ import annotations

import numpy as np
import pytest

from engine.values.yields import Yields, target_of


@pytest.mark.parametrize(
    ("action", "target"),
    [
        ("put egg in case", "case"),
        ("open case with egg", "case"),
        ("unlock red door with brass key", "door"),
        ("put red ball in blue box", "box"),
        ("throw axe at troll", "troll"),
        ("take lamp", ""),
        ("take all from sack", ""),
        ("put all in case", ""),
        ("turn on lamp", ""),
        ("open red door", ""),
        ("north", ""),
    ],
)
def test_an_action_with_two_things_is_done_to_one_of_them(action, target):
    assert target_of(action) == target


def tried(*brought_by):
    yields = Yields()
    for action, brought in brought_by:
        yields.add("put", brought, lost=True, action=action)
    return yields


def test_what_was_in_vain_on_one_thing_many_times_tells_little_of_others():
    things = [f"thing{n}" for n in range(10)]
    one = tried(*((f"put {thing} in egg", 0.0) for thing in things))
    many = tried(*((f"put egg in {thing}", 0.0) for thing in things))
    assert one.rate("put", "put egg in case") > 3 * many.rate("put", "put egg in case")
    assert one.rate("put", "put coin in egg") < 0.2 * one.rate("put", "put egg in case")
    assert one.loss_rate("put") == many.loss_rate("put") > 0.9  # whatever it was put into, it was lost


def test_what_was_worth_something_on_one_thing_is_tried_on_it_again():
    yields = tried(("put egg in case", 5.0), ("put egg in sack", 0.0), ("put egg in nest", 0.0))
    assert yields.rate("put", "put coin in case") > 1.5 * yields.rate("put", "put coin in chest")
    assert yields.rate("put", "put coin in chest") > yields.rate("put", "put coin in sack")


def test_single_things_are_counted_one_by_one():
    yields = Yields()
    for number in range(6):
        yields.add("take", 1.0 if number < 3 else 0.0, lost=False, action=f"take thing{number}")
    assert yields.rate("take", "take lamp") == pytest.approx((3.0 + 4.0) / (6.0 + 2.0))


def test_the_estimate_comes_nearer_to_what_another_try_brings_than_the_plain_average_does():
    """Things differ as much as tries at one thing do: half of the variance lies between things."""
    rng = np.random.default_rng(3)
    errors = {"groups": 0.0, "plain": 0.0}
    for _ in range(400):
        worth = rng.normal(2.0, 1.0, 12)
        yields, brought = Yields(), []
        for thing, times in enumerate(rng.geometric(0.3, 8)):
            for number in range(times):
                came = worth[thing] + rng.normal(0.0, 1.0)
                brought.append(came)
                yields.add("put", came, lost=False, action=f"put token{number} in chest{thing}")
        plain = (sum(brought) + 4.0) / (len(brought) + 2.0)
        for thing in range(12):
            estimate = yields.rate("put", f"put coin in chest{thing}")
            errors["groups"] += (estimate - worth[thing]) ** 2
            errors["plain"] += (plain - worth[thing]) ** 2
    assert errors["groups"] < 0.85 * errors["plain"]

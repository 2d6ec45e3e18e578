"""What discoveries are worth towards the end of a run."""

from __future__ import annotations

import numpy as np
import pytest

from engine.environments import profile
from engine.records import Candidate, Episode, State, Step
from engine.values.base import Query, outlook
from engine.values.graph import GraphEstimator
from tests.values.test_graph import remembered

HALL, MINE, STORE = (State(place, (f"place:{place}",), place=place) for place in ("hall", "mine", "store"))
OPENED = State("hall", ("place:hall", "see:gate=open"), place="hall")
HERE = ("north", "open gate")
SETTINGS = profile("default")
STEPS = 8


@pytest.mark.parametrize(
    ("episode", "episodes", "share"),
    [
        (1, 50, 1.0),
        (40, 50, 1.0),
        (41, 50, 10 / 11),
        (45, 50, 6 / 11),
        (50, 50, 1 / 11),
        (60, 50, 1 / 11),  # fewer again
        (1, 1, 1.0),  # now and then one: there is no end to settle at
        (4, 4, 1.0),
        (5, 5, 0.5),
        (7, 0, 1.0),
    ],
)
def test_discoveries_are_worth_less_over_the_last_fifth_of_a_run(episode, episodes, share):
    assert outlook(episode, episodes, 0.2) == pytest.approx(share)
    assert outlook(episode, episodes, 0.0) == 1.0


def lived() -> tuple[Episode, Episode]:
    """Two short lives: digging in the mine brought four points, and there are chests, there and behind a gate."""

    def step(at: State, action: str, reward: float, *others: str) -> Step:
        return Step(at, action, reward, reward, reward, valid_actions=(action, *others))

    chests = tuple(f"open chest{n}" for n in range(6))
    dug = (step(HALL, "north", 0.0, "open gate"), step(MINE, "dig", 4.0, *chests), step(MINE, "wait", 0.0, *chests))
    looked = (
        step(HALL, "open gate", 0.0, "north"), step(OPENED, "east", 0.0, "north"),
        step(STORE, "wait", 0.0, *chests),
    )  # fmt: skip
    return Episode("dug", "game/x", dug, MINE, score=4.0), Episode("looked", "game/x", looked, STORE)


def test_discovery_is_told_as_so_much_less():
    """The worth of what was valued before the end is not carried into it."""
    estimator = GraphEstimator(remembered(*lived()), SETTINGS)
    estimator.begin_episode(HALL)
    candidates = tuple(Candidate(action, 0.0) for action in HERE)
    rng, found = np.random.default_rng(0), []
    for share in (1.0, 0.25, 1.0):
        estimator.begin_episode(HALL)
        valued = estimator.value(Query(HALL, (), candidates, HERE, STEPS, None, share), rng)
        found.append((valued.terms["gain"][0], max(map(sum, zip(*valued.terms.values(), strict=True)))))
    assert found[0] == found[2]
    assert found[1][1] < found[0][1]

"""Where episodes never share a state nothing can be joined: known actions rank as with the paper's estimator."""

from __future__ import annotations

import numpy as np
import pytest

from engine.environments import profile
from engine.memory import Memory
from engine.records import Candidate, Episode, State, Step
from engine.settings import Settings
from engine.values.base import Query
from engine.values.graph import GraphEstimator
from engine.values.knn import KnnEstimator
from engine.values.text import Situation
from tests.values.planning import new_model

ACTIONS = ("pull rope", "push cart", "turn wheel", "push bell")
PARTS = tuple(f"see:part {number}" for number in range(60))
K = 400


def lived(number, action, reward):
    """Return an episode of one step, in a state that no other has."""
    tokens = tuple(sorted(("place:hall", *PARTS, f"see:dust{number}")))
    end = State(f"end {number}", ("place:end", f"see:dust{number}"), place="end")
    state = State(f"hall {number}", tokens, place="hall")
    step = Step(state, action, reward, reward, reward, valid_actions=ACTIONS)
    return Episode(
        f"u{number}", "test", (step,), end, number + 1, score=reward, terminated=True, started=float(number)
    )


def valued(estimator):
    """Return what each action is worth in a state that never was."""
    state = State("hall", tuple(sorted(("place:hall", *PARTS, "see:dust"))), place="hall")
    estimator.begin_episode(state)
    candidates = tuple(Candidate(action, 0.0) for action in ACTIONS)
    query = Query(state, estimator.neighbours(state), candidates, ACTIONS, 1)
    return np.array(estimator.value(query, np.random.default_rng(0)).q)


@pytest.mark.parametrize("seed", range(8))
def test_known_actions_are_ranked_as_the_papers_estimator_ranks_them(tmp_path, seed):
    rng = np.random.default_rng(seed)
    rewards = rng.permutation([1.0, 2.0, 4.0, 8.0])
    with Memory(tmp_path) as memory:
        scope = memory.scope("test")
        order = rng.permutation(np.repeat(np.arange(4), 3))
        scope.append_all([lived(n, ACTIONS[a], float(rewards[a])) for n, a in enumerate(order)])
        knn = valued(KnnEstimator(scope, Settings(k=K)))
        graph = valued(GraphEstimator(scope.entered(), profile("default")))
    assert knn == pytest.approx(rewards)
    assert list(np.argsort(graph)) == list(np.argsort(knn))


@pytest.mark.parametrize("drift", [False, True])
def test_what_a_lever_pays_is_estimated_without_bias_and_followed_when_it_changes(drift):
    """Bernoulli levers of .8 and .3, 30 worlds; under drift they are exchanged halfway. Old occasions are forgotten."""
    rng, estimated = np.random.default_rng(7), []
    for _ in range(30):
        x = new_model()
        hall, end = (Situation(name, frozenset(), frozenset()) for name in ("hall", "end"))
        for number in range(120):
            action, swapped = ("left", "right")[number % 2], drift and number >= 60
            x.see(hall, ("left", "right"))
            won = float(rng.random() < (0.8 if (action == "left") != swapped else 0.3))
            x.learn(hall, action, won, end, terminated=True, died=False)
        estimated.append([x.effects.gain(("hall", action)) for action in ("left", "right")])
    left, right = np.mean(estimated, axis=0)
    # Of each lever the latest 24 pulls are kept: four standard errors of the mean of 30 such estimates.
    error = 4 * 0.5 / np.sqrt(24 * 30)
    assert (left, right) == pytest.approx((0.3, 0.8) if drift else (0.8, 0.3), abs=error)

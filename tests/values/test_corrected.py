"""Whatever a person does to a memory, every estimator opens it, and decides as the person said."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from engine.memory import Memory
from engine.memory.search import Correction, MemoryFilter
from engine.memory.view import ScopeView, emptied
from engine.memory.view import corrected as corrected_step
from engine.records import Candidate, Episode, State, Step
from engine.values import learnt
from engine.values.base import Query
from engine.values.graph import GraphEstimator
from engine.values.knn import KnnEstimator
from engine.values.text import Situation
from engine.values.trails import Trails, TrailStep
from tests.bench.soak_corrections import corrected
from tests.values.planning import NUMBERS, new_model
from tests.values.test_opening import ALWAYS, NAME, NEVER, SETTINGS, decisions, lives


def filled(folder, seed, episodes=4):
    with Memory(folder) as memory:
        memory.scope(NAME).append_all(lives(seed, episodes))
    return folder


@pytest.mark.parametrize("seed", [0, 1])
def test_after_any_corrections_every_estimator_opens_memory_and_plays_also_from_what_was_kept(tmp_path, seed):
    dice, saves = random.Random(seed), tmp_path / "saves"
    filled(saves / "memory", seed)
    other = filled(tmp_path / "other", seed + 100, 2)
    for _ in range(3):
        said = corrected(dice, saves, NAME, other)
        with Memory(saves / "memory") as memory:
            scope = memory.scope(NAME)
            anew = decisions(learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=ALWAYS), seed, 1, 6)
            kept = decisions(learnt.open_estimator(GraphEstimator, scope, SETTINGS, opening=NEVER), seed, 1, 6)
            assert kept == anew, said
            knn = KnnEstimator(scope, SETTINGS)
            for episode in scope.episodes():
                near = knn.neighbours(episode.final)
                candidates = tuple(Candidate(action, 0.0) for action in {"wait", *(n.action for n in near)})
                value = knn.value(Query(episode.final, near, candidates, (), 12), np.random.default_rng(1))
                assert np.isfinite(value.q).all(), said


def test_each_step_of_a_memory_can_be_forgotten_alone_and_no_trail_goes_over_the_gap():
    episodes, first = [], 0
    for episode in lives(4, 2, 30):
        episodes.append((first, episode))
        first += len(episode.steps)
    assert first > 40
    for entry in range(first):
        told = [
            (begin, replace(one, steps=tuple(emptied(step) if begin + n == entry else step
                                             for n, step in enumerate(one.steps))))
            for begin, one in episodes
        ]  # fmt: skip
        for trail in GraphEstimator(told, SETTINGS)._trails._episodes:
            assert all(step.then.place == following.now.place for step, following in pairwise(trail)), entry


class Judge:
    """What is expected of the step that was taken at an entry, in the very episode that it was taken in."""

    def __init__(self, scope, entry):
        self.scope = scope
        self.entry = entry
        self.episode, self.at = scope.located(entry)
        self.step = self.episode.steps[self.at]

    def valuation(self, points=None):
        """Return what is said of it if a person gave it other points."""
        edits = {} if points is None else {self.entry: Correction(gain=points)}
        estimator = GraphEstimator(ScopeView(self.scope, MemoryFilter(corrections=edits)).entered(), SETTINGS)
        steps = self.episode.steps[: self.at + 1]
        estimator.begin_episode(steps[0].state)
        for step, following in pairwise(steps):
            estimator.observe(step, following.state, terminated=False, lost=False)
        valid = self.step.valid_actions
        query = Query(self.step.state, (), tuple(Candidate(a, 0.0) for a in valid), valid, 40 - self.at)
        return estimator.value(query, np.random.default_rng(0))

    def q(self, points=None):
        return self.valuation(points).q[self.step.valid_actions.index(self.step.action)]

    @property
    def is_repeated(self):
        """Whether the action was taken at this place earlier in the episode: what is said of it holds from then on."""
        place = self.step.state.place
        return any((s.state.place, s.action) == (place, self.step.action) for s in self.episode.steps[: self.at])


def test_an_edit_of_points_moves_the_value_of_its_step_in_its_direction(tmp_path):
    dice, moved, count = random.Random(7), 0, 0
    for seed in range(4):
        with Memory(filled(tmp_path / str(seed), seed)) as memory:
            scope = memory.scope(NAME)
            for _ in range(5):
                judge = Judge(scope, dice.randrange(scope.next_entry))
                points = judge.step.env_reward + dice.choice((-40.0, -5.0, -1.0, 1.0, 5.0, 40.0))
                change = (judge.q(points) - judge.q()) * np.sign(points - judge.step.env_reward)
                assert change >= -1e-9, (seed, judge.entry, judge.step.action, judge.step.env_reward, points)
                count, moved = count + (not judge.is_repeated), moved + (change > 1e-9 and not judge.is_repeated)
    # An action that is worth as many points elsewhere, or was worth the least already, stays.
    assert moved >= 0.75 * count
    assert count > 8


HALL = State("hall", ("place:hall", "see:lever"), place="hall")
LIT = State("hall, lit", ("place:hall", "see:lever", "see:light"), place="hall")
VALID = ("pull lever", "wait")


def valued(edits):
    """Return what is said in the hall if the lever was pulled in eight episodes, without points but for these edits."""
    episodes = []
    for number in range(8):
        lived = ((HALL, VALID[0]), (LIT, VALID[1]))
        steps = tuple(Step(state, action, 0.0, valid_actions=VALID) for state, action in lived)
        gain = Correction(gain=edits[number]) if number in edits else None
        steps = (corrected_step(steps[0], gain), steps[1])
        episodes.append((2 * number, Episode(str(number), NAME, steps, LIT, number=number + 1)))
    estimator = GraphEstimator(episodes, SETTINGS)
    estimator.begin_episode(HALL)
    query = Query(HALL, (), tuple(Candidate(action, 0.0) for action in VALID), VALID, 20)
    return estimator.value(query, np.random.default_rng(0))


def test_points_that_a_person_gave_are_expected_in_full_though_the_other_episodes_had_none():
    before, after = valued({}), valued({3: 5.0})
    assert max(hit.expected for hit in before.hits) == 0.0
    assert max((hit.expected, hit.gain) for hit in after.hits) == (pytest.approx(5.0, abs=0.5), 5.0)
    assert after.q[0] - before.q[0] > 4.0
    assert valued({3: 8.0}).q[0] > after.q[0] > valued({3: 1.0}).q[0] > before.q[0] > valued({3: -5.0}).q[0]
    assert after.q[0] > valued({3: 5.0, 4: -5.0}).q[0]


def test_trails_that_ignore_what_a_person_said_are_those_of_a_memory_in_which_nobody_said_anything():
    nothing = frozenset()
    hall, gone = Situation("hall", nothing, frozenset({"see:gold"})), Situation("hall", frozenset({"gold"}), nothing)
    ways, found = {}, {}
    for given in (None, 5.0):
        model = new_model()
        trails = Trails(model, NUMBERS)
        if given is not None:
            model.edits.add(("hall", "pull lever"), 0.0, given)
        # The lever does nothing: only who is told that it is worth something pulls it on the way to the gold.
        trails.add(TrailStep(hall, "pull lever", 0.0, hall, False, False, given), 1, fresh=True)
        trails.add(TrailStep(hall, "take gold", 5.0, gone, False, False), 2, fresh=True)
        trails.close()
        trails.add(TrailStep(hall, "wait", 0.0, hall, False, False), 3, fresh=True)
        ways[given] = {trail.actions for trail in trails.from_here(hall, 9, ("pull lever", "take gold"), ())}
        with model.edits.ignored():
            found[given] = trails.from_here(hall, 9, ("pull lever", "take gold"), ())
    assert found[5.0] == found[None] != []
    assert ways[None] == {("take gold",)}
    assert ways[5.0] == {("take gold",), ("pull lever",), ("pull lever", "take gold")}

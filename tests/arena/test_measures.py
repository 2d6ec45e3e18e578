"""Measures, means and intervals against brute force, closed forms and synthetic data."""

from __future__ import annotations

import itertools
import statistics as plain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.measures import (
    MEASURES,
    ScoredEpisodes,
    band,
    curve,
    difference,
    interval,
    mean,
    measure,
    over_units,
    values,
)
from engine.bench.records import TimingRow
from engine.errors import UsageError
from tests.arena.made_runs import row

NUMBERS = st.floats(-1e6, 1e6)


def played(scores, **more) -> ScoredEpisodes:
    return ScoredEpisodes(tuple(row("a", "t", 1, number, score, **more) for number, score in enumerate(scores, 1)))


# ------------------------------------------------------------------------------------------- intervals


@pytest.mark.parametrize("data", [[1.0, 2.0, 6.0], [1.0, 2.0, 6.0, 7.0, 12.0], [0.0, 0.0, 1.0, 1.0, 1.0, 1.0]])
def test_an_interval_is_that_of_all_resamples(data):
    means = [plain.fmean(resample) for resample in itertools.product(data, repeat=len(data))]
    expected = np.quantile(means, [0.025, 0.975], method="inverted_cdf")
    assert interval(data) == pytest.approx(tuple(expected), abs=0.21)


def test_an_interval_of_many_values_has_the_width_that_the_normal_distribution_gives():
    data = np.random.default_rng(5).normal(10, 3, 400)
    low, high = interval(data)
    assert high - low == pytest.approx(2 * 1.96 * data.std() / 20, rel=0.03)
    assert (low + high) / 2 == pytest.approx(data.mean(), abs=0.03)


def test_intervals_contain_the_true_mean_about_as_often_as_they_say():
    rng = np.random.default_rng(2)
    hits = 0
    for _ in range(400):
        low, high = interval(rng.normal(7, 2, 30))
        hits += low <= 7 <= high
    assert 0.90 <= hits / 400 <= 0.97


@given(st.lists(NUMBERS, min_size=3, max_size=12))
def test_an_interval_lies_within_the_values_and_is_the_same_again(data):
    low, high = interval(data)
    assert min(data) <= low <= high <= max(data)
    assert (low, high) == interval(data)


@given(st.lists(NUMBERS, min_size=3, max_size=6), st.floats(-1e3, 1e3), st.floats(0.1, 10))
def test_an_interval_moves_and_grows_with_the_values(data, shift, factor):
    low, high = interval(data)
    moved = interval([factor * value + shift for value in data])
    assert moved == pytest.approx((factor * low + shift, factor * high + shift), rel=1e-6, abs=1e-6)


def test_one_or_two_units_have_no_interval():
    assert interval([3.0]) is None
    assert interval([3.0, 9.0]) is None
    assert band([[1.0, 2.0], [3.0, 4.0]]) is None
    assert interval([]) is None
    assert band([[1.0, 2.0]]) is None


def test_a_band_is_the_interval_of_each_episode():
    curves = np.random.default_rng(3).normal(0, 1, (6, 4))
    low, high = band(curves)
    for column in range(4):
        assert (low[column], high[column]) == pytest.approx(interval(curves[:, column]))


# -------------------------------------------------------------------------------------------- measures


def test_measures_of_scores():
    one = played([float(score) for score in range(1, 21)], max_score=40.0)
    expected = {"avg": 10.5, "final": 20, "first": 1, "last10": 15.5, "best": 20, "worst": 1, "auc": 10.5 / 40}
    assert {name: MEASURES[name].function(one) for name in expected} == pytest.approx(expected)


def test_success_is_a_won_game_and_a_web_task_with_the_score_one():
    assert MEASURES["success"].function(played([1.0, 1.0], outcome="won")) == 1
    assert MEASURES["success"].function(played([9.0, 9.0])) == 0
    web = ScoredEpisodes((row("a", "web:x/1", 1, 1, 1.0), row("a", "web:x/1", 1, 2, 0.5, outcome="won")))
    assert MEASURES["success"].function(web) == 0.5


def test_measures_of_costs_and_answers():
    one = ScoredEpisodes(
        (
            row("a", "t", 1, 1, 0.0, calls={"action": 3, "state": 1}, prompt_tokens=90, completion_tokens=10,
                cost_usd=1.0, answers={"asked": 10, "missing": 1, "searched": 10, "found": 3}, changed=4,
                hits=10, hits_other=1, steps=10),
            row("a", "t", 1, 2, 0.0, calls={"action": 2}, prompt_tokens=300, cost_usd=2.0,
                answers={"asked": 30, "missing": 5}, changed=2, hits=30, hits_other=9, steps=20),
        ),
        (TimingRow("c", 0, 1, 2.0, 0.0, 0.1, 10), TimingRow("c", 0, 2, 4.0, 0.0, 0.5, 20)),
    )  # fmt: skip
    expected = {"steps": 15, "calls": 3, "tokens": 200, "cost": 1.5, "unusable": 6 / 40, "changed": 6 / 30,
                "neighbours": 3 / 10,
                "other_share": 10 / 40, "wall": 3, "retrieval": 20}  # fmt: skip
    assert {name: MEASURES[name].function(one) for name in expected} == pytest.approx(expected)


def test_a_measure_without_data_has_no_value():
    empty = played([1.0], max_score=None)
    for name in ("auc", "unusable", "neighbours", "other_share", "wall", "retrieval"):
        assert MEASURES[name].function(empty) is None
    assert values(MEASURES["avg"], {("t", 1): empty}, normalised=True) == {}


def test_an_unknown_measure_is_refused():
    with pytest.raises(UsageError, match="no measure 'fame'"):
        measure("fame")


# ------------------------------------------------------------------------------------- means, differences


def test_a_column_with_one_task_is_averaged_over_seeds_and_others_over_tasks():
    assert sorted(over_units({("t", 1): 1.0, ("t", 2): 5.0})) == [1, 5]
    assert over_units({("t", 1): 1.0, ("t", 2): 5.0, ("u", 1): 9.0}) == [3, 9]
    found = mean({("t", 1): 1.0, ("t", 2): 5.0, ("u", 1): 9.0})
    assert (found.mean, found.n) == (6, 2)


def test_differences_are_of_pairs_of_the_same_task_and_seed():
    one = {("t", seed): 10.0 * seed + 1 for seed in range(1, 7)}
    other = {("t", seed): 10.0 * seed for seed in range(2, 9)}
    found = difference(one, other)
    assert (found.mean, found.low, found.high, found.n) == (1, 1, 1, 5)
    assert found.certain


def test_a_difference_that_could_be_nothing_is_not_certain():
    assert not difference({("t", 1): 1.0, ("t", 2): -1.0}, {("t", 1): 0.0, ("t", 2): 0.0}).certain
    assert not difference({("t", 1): 5.0}, {("t", 1): 0.0}).certain
    assert not difference({("t", 1): 5.0}, {("t", 2): 0.0}).certain


def test_a_curve_is_the_mean_score_by_episode():
    found = curve({("t", 1): played([1.0, 2.0, 3.0]), ("t", 2): played([3.0, 4.0]), ("t", 3): played([2.0, 3.0])})
    assert found.mean == (2, 3)
    assert found.n == 3
    assert 1 <= found.low[0] < 2 < found.high[0] <= 3
    assert curve({}) is None

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import logits
from engine.jitrl import softmax


def plackett_luce(z: list[float], k: int) -> dict[tuple[int, ...], float]:
    """Probability of every ordered draw of k without replacement, by its definition."""
    weights = [math.exp(v) for v in z]
    result = {}
    for order in itertools.permutations(range(len(z)), k):
        p, left = 1.0, sum(weights)
        for i in order:
            p *= weights[i] / left
            left -= weights[i]
        result[order] = p
    return result


def test_gumbel_top_k_draws_without_replacement_from_the_softmax():
    z = [1.0, 0.0, -0.5, 2.0, 0.3]
    rng = np.random.default_rng(7)
    n = 60_000
    seen: dict[tuple[int, ...], int] = {}
    for _ in range(n):
        order = tuple(logits.gumbel_top_k(z, 3, rng))
        seen[order] = seen.get(order, 0) + 1
    expected = plackett_luce(z, 3)
    chi2 = sum((seen.get(o, 0) - n * p) ** 2 / (n * p) for o, p in expected.items())
    freedom = len(expected) - 1
    assert chi2 < freedom + 4 * math.sqrt(2 * freedom)


def test_gumbel_top_k_returns_all_when_there_are_no_more():
    assert sorted(logits.gumbel_top_k([0.0, 1.0], 5, np.random.default_rng(1))) == [0, 1]
    assert logits.gumbel_top_k([], 3, np.random.default_rng(1)) == []


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=20), st.floats(0.05, 5))
def test_logprobs_keep_their_policy_and_have_mean_zero(values, temperature):
    z = logits.from_logprobs(values, temperature)
    assert abs(z.mean()) < 1e-9 * max(1.0, np.abs(z).max())
    assert np.allclose(softmax(z), softmax(np.asarray(values) / temperature))


def test_logprobs_refuse_what_is_not_finite():
    with pytest.raises(ValueError, match="finite"):
        logits.from_logprobs([0.0, math.nan], 1.0)


def test_confidences_as_the_paper_has_them():
    # k options that sum to 100: z = log(c k / 100), so that the policy of z is c / 100.
    z = logits.from_confidences([60, 30, 10], "log")
    assert np.allclose(z, [math.log(c * 3 / 100) for c in (60, 30, 10)])
    assert np.allclose(softmax(z), [0.6, 0.3, 0.1])
    assert np.allclose(logits.from_confidences([60, 30, 10], "linear"), [0.6, 0.3, 0.1])


@pytest.mark.parametrize("given_", [[50, 50], [None, None], [0, 0], [100, 100, 100], [math.nan, None]])
def test_equal_or_missing_confidences_are_neutral(given_):
    assert np.allclose(logits.from_confidences(given_, "log"), 0)


def test_odd_confidences_are_brought_into_range():
    z = logits.from_confidences([500, -20, None, math.inf], "log")
    assert np.isfinite(z).all()
    assert z[0] > z[2] == z[3] > z[1]


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True)), max_size=12))
def test_confidences_always_give_finite_logits(values):
    for transform in ("log", "linear"):
        assert np.isfinite(logits.from_confidences(values, transform)).all()


def test_index_logprobs_are_zero_at_the_uniform_share_and_use_the_floor():
    assert np.allclose(logits.from_index_logprobs([-1.0, -1.0, -1.0, -1.0], -9, 1.0), 0)
    z = logits.from_index_logprobs([-0.1, None, -3.0], -9.0, 1.0)
    assert z[0] > z[2] > z[1]
    shares = np.exp([-0.1, -9.0, -3.0])
    assert np.allclose(softmax(z), shares / shares.sum())
    assert np.allclose(logits.from_index_logprobs([-0.1, None, -3.0], -9.0, 0.5), 2 * z)

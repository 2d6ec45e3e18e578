"""Algorithm 1 against hand-computed cases and a numeric optimiser."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine import jitrl
from tests.examples import most

finite = st.floats(-20, 20, allow_nan=False)


def test_golden_case_worked_by_hand():
    # N(s): take lamp 4, take lamp 2, go north -3. V = 1. Q(lamp) = 3, Q(north) = -3, wave unseen.
    values = jitrl.estimate_values(
        ["take lamp", "go north", "wave"],
        ["take lamp", "go north", "take lamp"],
        [4, -3, 2],
        [0.9, 0.9, 0.5],
        lam=0.65,
        alpha=5,
    )
    assert values.v == 1.0
    assert values.q.tolist() == [3.0, -3.0, 1.0 + 5 / 3]
    assert values.n.tolist() == [2, 1, 0]
    assert values.how == ("known", "known", "optimistic")
    update = jitrl.policy_update([0.2, 0.0, -0.1], values, beta=1.0, epsilon=0.0)
    assert update.advantage.tolist() == pytest.approx([2.0, -4.0, 5 / 3])
    assert update.advantage_normalised.tolist() == pytest.approx([0.5, -1.0, 5 / 12])
    assert update.z_prime.tolist() == pytest.approx([0.7, -1.0, -0.1 + 5 / 12])
    weights = [math.exp(0.7), math.exp(-1.0), math.exp(-0.1 + 5 / 12)]
    assert update.posterior.tolist() == pytest.approx([w / sum(weights) for w in weights])


def test_an_unseen_action_without_the_draw_is_worth_zero_not_the_baseline():
    values = jitrl.estimate_values(["a", "b"], ["a"], [2.0], [0.0, 0.65], lam=0.65, alpha=5)
    assert values.how == ("known", "neutral")
    assert jitrl.advantages(values).tolist() == [0.0, -2.0]


def test_the_bonus_shrinks_as_neighbours_accumulate():
    bonus = [
        jitrl.estimate_values(["x"], ["a"] * n, [0.0] * n, [0.0], lam=1, alpha=5).q[0] for n in (1, 2, 5, 10)
    ]
    assert bonus == [5.0, 2.5, 1.0, 0.5]


@given(st.lists(finite, min_size=1, max_size=6), st.floats(0, 50))
def test_with_an_empty_neighbourhood_the_prior_decides(z, beta):
    values = jitrl.estimate_values(["a"] * len(z), [], [], [0.0] * len(z), lam=1, alpha=5)
    update = jitrl.policy_update(z, values, beta=beta, epsilon=1e-8)
    assert update.posterior == pytest.approx(jitrl.softmax(z))


@given(st.lists(st.tuples(finite, st.floats(-1, 1)), min_size=2, max_size=5), st.floats(0.05, 10))
@settings(max_examples=most(60), deadline=None)
def test_z_prime_maximises_expected_advantage_minus_kl(pairs, beta):
    z, a = np.array(pairs).T
    prior = jitrl.softmax(z)
    policy = jitrl.softmax(jitrl.update_logits(z, a, beta))

    def objective(p):
        p = np.clip(p, 1e-300, None)
        return float(p @ a - (p * (np.log(p) - np.log(np.clip(prior, 1e-300, None)))).sum() / beta)

    best = objective(policy)
    # An independent optimiser: exponentiated gradient ascent on the simplex, from several starts.
    rng = np.random.default_rng(0)
    for _ in range(3):
        p = rng.dirichlet(np.ones(len(z)))
        for _ in range(200):
            gradient = (
                a - (np.log(np.clip(p, 1e-300, None)) - np.log(np.clip(prior, 1e-300, None)) + 1) / beta
            )
            p = p * np.exp(np.clip(0.3 * beta * gradient, -50, 50))
            p /= p.sum()
        assert objective(p) <= best + 1e-7
        assert p == pytest.approx(policy, abs=1e-4)


@given(st.lists(finite, min_size=1, max_size=6), st.floats(-100, 100))
def test_softmax_ignores_a_shift_of_all_logits(z, shift):
    assert jitrl.softmax(np.array(z) + shift) == pytest.approx(jitrl.softmax(z), abs=1e-9)


@given(st.lists(finite, max_size=12), st.floats(0, 1))
def test_returns_satisfy_their_definition(rewards, gamma):
    g = jitrl.discounted_returns(rewards, gamma)
    for t in range(len(rewards)):
        assert g[t] == pytest.approx(
            sum(gamma ** (u - t) * rewards[u] for u in range(t, len(rewards))), abs=1e-9
        )


@given(st.lists(finite, min_size=1, max_size=8))
def test_normalised_advantages_stay_within_one_and_keep_their_order(a):
    normalised = jitrl.normalise(a, 1e-8)
    assert np.abs(normalised).max() <= 1
    assert np.all(np.diff(normalised[np.argsort(a)]) >= 0)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
def test_numbers_that_are_not_finite_are_refused(bad):
    for call in (
        lambda: jitrl.softmax([0, bad]),
        lambda: jitrl.update_logits([0, bad], [0, 0], 1),
        lambda: jitrl.update_logits([0, 0], [bad, 0], 1),
        lambda: jitrl.discounted_returns([bad], 0.5),
        lambda: jitrl.estimate_values(["a"], ["a"], [bad], [0.0], lam=0, alpha=0),
    ):
        with pytest.raises(ValueError, match="finite"):
            call()


def test_candidates_are_the_union_constrained_to_what_is_valid_now():
    assert jitrl.candidate_set(["b", "a"], ["c", "a", "gone", "c"], ["a", "b", "c"]) == ["b", "a", "c"]
    assert jitrl.candidate_set(["b"], ["gone"], []) == ["b", "gone"]


def test_sampling_follows_the_policy():
    rng = np.random.default_rng(3)
    policy = np.array([0.1, 0.0, 0.6, 0.3])
    counts = np.bincount([jitrl.sample(policy, u) for u in rng.random(20_000)], minlength=4) / 20_000
    assert counts == pytest.approx(policy, abs=0.012)
    assert jitrl.sample([0.5, 0.5], 0.999999999) == 1


def test_every_draw_chooses_an_action_that_the_policy_takes():
    rng = np.random.default_rng(4)
    for n in range(500):
        logits = rng.normal(0.0, rng.choice([0.1, 3.0, 300.0]), 1 + n % 40)
        policy = np.concatenate([[0.0], jitrl.softmax(logits), [0.0]])
        for draw in (0.0, float(np.nextafter(1.0, 0.0))):
            assert policy[jitrl.sample(policy, draw)] > 0.0

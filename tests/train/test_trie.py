"""The policy over valid actions: from likelihoods over the whole vocabulary to a choice among a few answers."""

from __future__ import annotations

import math

import numpy as np
import pytest

from engine.llm.local.trie import choices, constrained_logprobs

TAILS = [[5, 1, 9], [5, 2, 9], [5, 2, 3, 9], [7, 9]]
"""Four actions; 9 ends the line."""


def likelihoods(seed: int) -> list[list[float]]:
    """Return log-probabilities that a model could give: one distribution over ten tokens after each prefix."""
    rng = np.random.default_rng(seed)
    after = {tuple(tail[:i]): np.log(rng.dirichlet(np.ones(10))) for tail in TAILS for i in range(len(tail))}
    return [[float(after[tuple(tail[:i])][token]) for i, token in enumerate(tail)] for tail in TAILS]


def test_tokens_that_stand_alone_are_forced():
    assert choices(TAILS) == [
        ((5, 7), (1, 2), (9,)),
        ((5, 7), (1, 2), (3, 9)),
        ((5, 7), (1, 2), (3, 9), (9,)),
        ((5, 7), (9,)),
    ]


@pytest.mark.parametrize("seed", range(5))
def test_the_actions_have_all_of_the_probability(seed):
    assert sum(map(math.exp, constrained_logprobs(TAILS, likelihoods(seed)))) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(3))
def test_the_probabilities_are_those_of_drawing_token_by_token(seed):
    given = likelihoods(seed)
    after = {tuple(tail[:i]): {} for tail in TAILS for i in range(len(tail))}
    for tail, values in zip(TAILS, given, strict=True):
        for i, token in enumerate(tail):
            after[tuple(tail[:i])][token] = math.exp(values[i])
    rng, counts = np.random.default_rng(1), dict.fromkeys(map(tuple, TAILS), 0)
    for _ in range(4000):
        drawn: tuple[int, ...] = ()
        while drawn not in counts:
            tokens = list(after[drawn])
            weights = np.asarray([after[drawn][token] for token in tokens])
            drawn = (*drawn, int(rng.choice(tokens, p=weights / weights.sum())))
        counts[drawn] += 1
    for tail, logprob in zip(TAILS, constrained_logprobs(TAILS, given), strict=True):
        assert counts[tuple(tail)] / 4000 == pytest.approx(math.exp(logprob), abs=0.035)


def test_a_single_action_is_certain():
    assert constrained_logprobs([[3, 4]], [[-7.0, -2.0]]) == [0.0]

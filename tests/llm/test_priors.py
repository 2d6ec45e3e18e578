"""Priors without a model, and mixtures."""

from __future__ import annotations

import numpy as np
import pytest

from engine.errors import ModelError, UsageError
from engine.llm import open_model
from engine.llm.model import Question
from engine.llm.priors.verbs import logit
from engine.records import ActionRequest
from engine.settings import Settings

ACTIONS = ("throw lamp at troll", "north", "take lamp", "eat garlic", "drop all", "open window")


def request(k=6):
    return ActionRequest("", "", "", "here", ACTIONS, k)


def opened(name, **settings):
    return open_model(name, settings=Settings(**settings), cache=None)


def test_the_table_likes_what_opens_up_and_can_be_undone():
    assert logit("take lamp") > logit("put lamp in case") > logit("throw lamp at troll")
    assert logit("north") > logit("wait")
    assert logit("turn on lamp") > logit("turn off lamp")
    assert logit("take all") > logit("put all in nest")
    assert logit("frotz lamp") == 0.0


def test_draws_follow_the_odds_of_the_table():
    model, rng = opened("prior/verbs"), np.random.default_rng(0)
    draws = 4000
    first = [model.propose(request(1), rng).candidates[0].action for _ in range(draws)]
    z = np.array([logit(a) for a in ACTIONS])
    expected = np.exp(z) / np.exp(z).sum()
    for action, share in zip(ACTIONS, expected, strict=True):
        assert first.count(action) / draws == pytest.approx(
            share, abs=4 * np.sqrt(share * (1 - share) / draws)
        )


def test_candidates_are_distinct_valid_and_no_more_than_asked_for():
    for name in ("prior/uniform", "prior/verbs", "prior/verbs+prior/uniform"):
        found = [c.action for c in opened(name).propose(request(4), np.random.default_rng(1)).candidates]
        assert len(set(found)) == 4
        assert set(found) <= set(ACTIONS)


@pytest.mark.parametrize("weight", [0.0, 0.25, 1.0])
def test_a_mixture_is_log_linear(weight):
    mixed = opened("prior/verbs+prior/uniform", mixture=weight).propose(request(), np.random.default_rng(2))
    for candidate in mixed.candidates:
        assert candidate.z == pytest.approx(weight * logit(candidate.action))


def test_a_mixture_writes_with_the_part_that_can():
    with pytest.raises(ModelError, match="no language model"):
        opened("prior/verbs+prior/uniform").complete(Question("rewards", []))


@pytest.mark.parametrize(
    "name", ["prior/verbs+", "+prior/verbs", "prior/verbs+prior/verbs+prior/verbs", "prior/x"]
)
def test_wrong_names_are_one_sentence(name):
    with pytest.raises(UsageError):
        opened(name)

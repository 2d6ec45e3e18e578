"""Each choice that the paper leaves open, and each point in which the authors' code differs, is one setting."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from engine import jitrl, logits, texts
from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.environments import profile
from engine.records import Candidate, Neighbour, Observation, Proposal, State
from engine.settings import GROUPS, PROFILES, Settings, differences
from engine.values.knn import KnnEstimator

ACTIONS = ("open door", "wait", "sing")


def test_beta_grows_with_the_episodes_that_have_ended_and_then_stays():
    grown = [jitrl.growing_beta(1.0, 0.5, 50, episode) for episode in (1, 2, 21, 50, 51, 500)]
    assert grown == pytest.approx([1.0, 1.01, 1.2, 1.49, 1.5, 1.5])
    assert jitrl.growing_beta(1.2, 0.0, 50, 7) == 1.2


def test_a_baseline_of_candidates_is_the_mean_of_all_actions_values_once_one_is_untried():
    asked = {"lam": 0.0, "alpha": 5.0, "baseline": "candidates"}
    known = jitrl.estimate_values(["a", "b"], ["a", "a", "b"], [3, 1, 5], [0.5, 0.5], **asked)
    assert known.v == pytest.approx(3.0)  # nothing is untried: the mean of returns
    untried = jitrl.estimate_values(["a", "x"], ["a", "a", "b"], [3, 1, 5], [0.5, 0.5], **asked)
    assert untried.v == pytest.approx((2 + 5 + 0) / 3)  # Q of a, of b, which is no candidate, and of x
    plain = jitrl.estimate_values(["a", "x"], ["a", "a", "b"], [3, 1, 5], [0.5, 0.5], lam=0.0, alpha=5.0)
    assert plain.v == pytest.approx(3.0)


def test_normalising_by_the_largest_advantage_lets_negative_ones_fall_below_minus_one():
    assert jitrl.normalise([2.0, -3.0], 0.0, "positive") == pytest.approx([1.0, -1.5])
    assert jitrl.normalise([2.0, -3.0], 0.0, "absolute") == pytest.approx([2 / 3, -1.0])
    assert jitrl.normalise([-2.0, -4.0], 0.0, "positive") == pytest.approx([-0.5, -1.0])
    assert jitrl.normalise([0.0, 0.0], 0.0, "positive") == pytest.approx([0.0, 0.0])
    # Actions of neighbours that are no candidates count there, and only there.
    assert jitrl.normalise([2.0, -3.0], 0.0, "positive", [4.0]) == pytest.approx([0.5, -0.75])
    assert jitrl.normalise([-2.0, -1.0], 0.0, "positive", [-4.0]) == pytest.approx([-0.5, -0.25])
    assert jitrl.normalise([2.0, -3.0], 0.0, "absolute", [4.0]) == pytest.approx([2 / 3, -1.0])


def test_epsilon_counts_once_or_twice():
    once, twice = (jitrl.normalise([1.0], 0.01 * times) for times in (1, 2))
    assert once == pytest.approx([1 / 1.01])
    assert twice == pytest.approx([1 / 1.02])


def test_a_decision_follows_the_epsilon_and_the_normalisation_that_are_set():
    prior = Proposing(("open door", 0.5), ("sing", 0.5))
    found = ("open door", 4.0), ("sing", 1.0), ("sing", 1.0)

    def scaled(**changes) -> list[float]:
        return list(decided(Settings(**changes), prior, *found).update.advantage_normalised)

    assert scaled(epsilon=0.01) == pytest.approx([2 / 2.01, -1 / 2.01])
    assert scaled(epsilon=0.01, epsilon_times=2) == pytest.approx([2 / 2.02, -1 / 2.02])
    bad = ("open door", 0.0), ("sing", 1.0), ("sing", 1.0), ("sing", 1.0)
    kept = list(decided(Settings(normalisation="positive"), prior, *bad).update.advantage_normalised)
    assert kept == pytest.approx([-3.0, 1.0])


def test_adaptive_optimism_is_high_without_a_steady_action_and_low_with_one():
    assert jitrl.adaptive_optimism([], [], 0.65) == 0.8
    assert jitrl.adaptive_optimism(["a", "b"], [9, 9], 0.65) == 0.8  # each was taken once
    assert jitrl.adaptive_optimism(["a", "a"], [-1, -3], 0.65) == 0.8
    steady = jitrl.adaptive_optimism(["a"] * 8, [4.0] * 8, 0.65)
    assert steady == pytest.approx(1 / (1 + 4**0.65 * 2))
    shaky = jitrl.adaptive_optimism(["a"] * 8, [0.0, 8.0] * 4, 0.65)
    assert shaky == pytest.approx(1 / (1 + (4 / (1 + 1)) ** 0.65 * 2))
    assert jitrl.adaptive_optimism(["a"] * 100, [1000.0] * 100, 0.65) == 0.05


@pytest.mark.parametrize(("how", "z"), [("mean", 0.6), ("fifty", 0.5)])
def test_a_confidence_that_was_left_out(how, z):
    assert logits.from_confidences([80, None, 40], "linear", how) == pytest.approx([0.8, z, 0.4])


def test_runs_of_words_are_counted_like_multisets():
    assert texts.ngrams(texts.words("Go to the old Door."), 4) == ["go to the old", "to the old door"]
    assert texts.ngrams(texts.words("You wait."), 4) == ["you", "wait"]
    assert texts.number_repeats(["a", "b", "a"]) == ("a", "a*2", "b")


class Proposing:
    """A prior that proposes the same options again and again."""

    def __init__(self, *options: tuple[str, float], best: str = "") -> None:
        self._proposal = Proposal(tuple(Candidate(a, z) for a, z in options), best=best)

    def propose(self, request, rng):
        return self._proposal


class Remembering:
    """A memory that answers with the same neighbours."""

    def __init__(self, *steps: tuple[str, float]) -> None:
        self._found = tuple(
            Neighbour(i, 1.0, action, g, 1, i, "[State: hall]") for i, (action, g) in enumerate(steps)
        )

    def retrieve(self, state, search):
        return self._found


def decided(settings: Settings, prior: Proposing, *steps: tuple[str, float], episode: int = 1):
    agent = JitrlAgent(prior, KnnEstimator(Remembering(*steps), settings), settings)
    turn = Turn(0, 9, Observation("Hall"), State("[State: hall]", ("hall",)), ACTIONS, episode=episode)
    return agent.decide(turn, np.random.default_rng(1))


def test_where_nothing_is_remembered_the_models_best_action_is_done_if_that_is_asked_for():
    prior = Proposing(("open door", 0.9), ("sing", 0.1), best="sing")
    asked = {"selection": "greedy", "transform": "linear", "lam": 0.0}
    assert decided(Settings(**asked), prior).action == "open door"
    assert decided(Settings(**asked, unremembered="best_action"), prior).action == "sing"
    remembered = decided(Settings(**asked, unremembered="best_action"), prior, ("open door", 5.0))
    assert remembered.action == "open door"


def test_actions_of_neighbours_with_a_bad_return_join_the_candidates_or_not():
    prior = Proposing(("open door", 0.9))
    found = ("sing", -2.0), ("sing", -4.0), ("wait", 1.0)
    assert [c.action for c in decided(Settings(), prior, *found).candidates] == ["open door", "sing", "wait"]
    positive = decided(Settings(memory_candidates="positive"), prior, *found)
    assert [c.action for c in positive.candidates] == ["open door", "wait"]
    assert len(positive.update.neighbours) == 3  # V is made of all of them


def test_if_the_model_fails_and_all_remembered_actions_are_bad_an_action_is_drawn():
    bad = ("sing", -2.0), ("open door", -4.0)
    drawn = decided(Settings(memory_candidates="positive"), Proposing(), *bad)
    assert {c.source for c in drawn.candidates} <= {"random", "both"}
    assert drawn.action in ACTIONS


def test_the_advantages_are_scaled_by_those_of_all_remembered_actions_too():
    settings = Settings(memory_candidates="positive", normalisation="positive")
    prior = Proposing(("open door", 0.5))
    found = ("open door", -4.0), ("sing", -1.0)  # sing is worse than nothing, so it is no candidate
    update = decided(settings, prior, *found).update
    assert update.valuation.v == pytest.approx(-2.5)
    assert update.advantage_normalised == pytest.approx((-1.5 / 1.5,))
    rarely = decided(settings, prior, *found, ("open door", -4.0)).update
    assert rarely.advantage_normalised == pytest.approx((-1 / 2,))


def test_beta_of_a_decision_is_that_of_its_episode():
    settings = Settings(beta_growth=0.5)
    assert decided(settings, Proposing(("wait", 0.5)), episode=21).update.beta == pytest.approx(1.2)
    assert decided(Settings(), Proposing(("wait", 0.5)), episode=20).update.beta == 1.0


def test_adaptive_optimism_replaces_lambda():
    found = [("open door", 4.0)] * 8

    def hows(settings: Settings) -> set[str]:
        return {
            how
            for seed in range(40)
            for how in KnnEstimator(Remembering(*found), settings)
            .value(_query(found), np.random.default_rng(seed))
            .how
        }

    assert "optimistic" not in hows(Settings(lam=0.0))
    assert "optimistic" in hows(Settings(lam=0.65, optimism="adaptive"))


def _query(found):
    from engine.values.base import Query

    neighbours = tuple(Neighbour(i, 1.0, a, g, 1, i, "") for i, (a, g) in enumerate(found))
    return Query(State("", ()), neighbours, (Candidate("open door", 0.0), Candidate("sing", 0.0)), ACTIONS, 9)


@pytest.mark.parametrize("kind", ["game", "web"])
@pytest.mark.parametrize("name", PROFILES)
def test_every_profile_is_there_for_games_and_for_the_web(name, kind):
    assert profile(name, kind) != Settings()
    assert profile(name, kind, step_limit=7).step_limit == 7


def test_the_papers_values_are_those_of_its_tables():
    games, web = profile("paper"), profile("paper", "web")
    assert (games.gamma, games.k, games.r, games.lam, games.alpha) == (0.5, 10, 0.95, 0.65, 5.0)
    assert (games.step_limit, games.temperature, games.candidates) == (60, 0.8, 3)
    assert (games.rewards, games.history, games.state, games.retrieval) == ("llm", "llm", "llm", "hybrid")
    assert games.history_weight == 0.25
    assert (web.gamma, web.k, web.r, web.lam, web.alpha) == (0.1, 10, 0.8, 0.05, 5.0)
    assert (web.step_limit, web.task_threshold, web.history_weight) == (10, 0.27, 0.7)
    assert (web.rewards, web.other_tasks, web.history) == ("llm", "literal", "vision")


def test_differences_are_told_by_name_with_both_values(capsys):
    from jitrl_tui.cli import main

    found = differences(profile("paper"), profile("reference"))
    assert found["beta_growth"] == (0.0, 0.5)
    assert main(["config", "diff", "paper", "reference", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["selection"] == {"paper": "sample", "reference": "first"}
    assert set(told) == set(found)
    assert main(["config", "schema"]) == 0
    schema = json.loads(capsys.readouterr().out)
    assert schema["properties"]["retrieval"]["enum"] == ["jaccard", "hybrid", "recall", "embedding"]
    assert main(["config", "show", "nobody"]) == 2
    assert "there is no profile 'nobody'" in capsys.readouterr().err


@pytest.mark.parametrize("seed", ["0", "1"])
def test_the_seed_may_be_zero(tmp_path, seed):
    from jitrl_tui.cli import main

    target = tmp_path / "result.json"
    command = ["run", "pantry", "--model", "prior/verbs", "--episodes", "1", "--steps", "3", "--fresh", "--quiet"]
    assert main(["--saves", str(tmp_path), *command, "--seed", seed, "--json", str(target)]) == 0
    assert json.loads(target.read_text())["seed"] == int(seed)


def test_the_estimator_follows_the_baseline_that_is_asked_for():
    found = [("open door", 4.0)] * 3 + [("wait", 1.0)]

    def v(settings: Settings) -> float:
        return KnnEstimator(Remembering(*found), settings).value(_query(found), np.random.default_rng(1)).v

    assert v(Settings(lam=0.0)) == pytest.approx(13 / 4)
    assert v(Settings(lam=0.0, baseline="candidates")) == pytest.approx((4 + 1 + 0) / 3)


def test_no_two_parts_have_a_setting_of_the_same_name():
    own = [name for group in GROUPS for name in group.__annotations__]
    assert sorted(own) == sorted(set(own)) == sorted(field.name for field in dataclasses.fields(Settings))

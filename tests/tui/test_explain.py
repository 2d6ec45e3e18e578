"""The window "explain" and the fixtures that it exports."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re

import numpy as np
import pytest
from rich.cells import cell_len

from engine import explain, jitrl
from engine.records import Candidate, Decided
from jitrl_tui.runs import derivation, hits
from jitrl_tui.runs.view import Choice
from jitrl_tui.screens.explain import ExplainDialog, _Derivation
from tests.tui import stream
from tests.tui.driving import replay_app, settled, still, until, watch
from tests.tui.screen_text import screen_text
from tests.tui.test_accounts import PAPER, hit, planned, started, with_update
from tests.tui.test_one_account import decision


def paper_choice(seed: int = 3, remembered: int = 5, **settings) -> Choice:
    """Return a choice of a made-up run by nearest neighbours."""
    made = stream.decision(np.random.default_rng(seed), 2, remembered)
    return Choice(2, made, started({**PAPER, "beta": 1.0, "transform": "log", **settings}), 60)


def recomputed(fixture: dict) -> dict:
    """Return what Algorithm 1 makes of the inputs of a fixture, by `engine.jitrl` alone."""
    inputs, settings = fixture["inputs"], fixture["settings"]
    actions = [candidate["action"] for candidate in inputs["candidates"]]
    if settings["estimator"] == "knn":
        # Which unseen actions the draws were kind to is an input.
        kind = [0.0 if how == jitrl.OPTIMISTIC else 1.0 for how in inputs["how"]]
        values = jitrl.estimate_values(
            actions, [n["action"] for n in inputs["neighbours"]], [n["g"] for n in inputs["neighbours"]], kind,
            lam=0.5, alpha=settings["alpha"], baseline=settings["baseline"],
        )  # fmt: skip
    else:  # plans are no part of Algorithm 1: their terms are inputs
        nothing = [0.0] * len(actions)  # before anything is known there are no terms
        q = np.sum([*inputs["terms"].values(), nothing], axis=0)
        prior = jitrl.softmax([candidate["z"] for candidate in inputs["candidates"]])
        values = jitrl.Values(float(prior @ q), q, np.zeros(len(q), dtype=np.int64), tuple(inputs["how"]))
    means = jitrl.mean_returns([n["action"] for n in inputs["neighbours"]], [n["g"] for n in inputs["neighbours"]])
    others = [] if inputs.get("terms") else [q for action, q in means.items() if action not in actions]
    update = jitrl.policy_update(
        [candidate["z"] for candidate in inputs["candidates"]], values, beta=inputs["beta"],
        epsilon=inputs["epsilon"], normalisation=settings["normalisation"], others=others,
    )  # fmt: skip
    names = ("advantage", "advantage_normalised", "z_prime", "prior", "posterior")
    return {"v": values.v, "q": values.q, **{name: getattr(update, name) for name in names}}


def check(fixture: dict) -> None:
    """Compare all outputs of a fixture with what `engine.jitrl` computes."""
    outputs = fixture["outputs"]
    for name, numbers in recomputed(fixture).items():
        assert np.allclose(outputs[name], numbers, atol=1e-6), name
    if fixture["settings"]["selection"] == "sample" and fixture["inputs"]["draw"] is not None:
        assert jitrl.sample(outputs["posterior"], fixture["inputs"]["draw"]) == outputs["chosen"]


@pytest.mark.parametrize("seed", range(5))
def test_an_exported_decision_by_neighbours_is_computed_again_by_algorithm_1(seed, tmp_path):
    choice = paper_choice(seed)
    fixture = json.loads(json.dumps(derivation.fixture(choice)))
    check(fixture)
    assert (fixture["episode"], fixture["step"]) == (2, 2)
    # A fixture with a wrong number does not pass.
    fixture["outputs"]["z_prime"][0] += 0.01
    with pytest.raises(AssertionError, match="z_prime"):
        check(fixture)


@pytest.mark.parametrize("left", [12.0, 0.0, None])
def test_an_exported_decision_by_a_plan_is_computed_again_from_its_terms(left):
    made = with_update(decision(hit("go south", 0), left=left), draw=0.3)
    z = [candidate.z for candidate in made.candidates]
    prior = tuple(map(float, jitrl.softmax(z)))
    values = made.update.valuation
    v = float(np.dot(prior, values.q))
    again = jitrl.policy_update(
        z, jitrl.Values(v, np.array(values.q), np.array(values.n), values.how), beta=20.0, epsilon=1e-8
    )
    made = with_update(
        dataclasses.replace(made, prior=prior, posterior=tuple(map(float, again.posterior))),
        valuation=dataclasses.replace(values, v=v),
        **{name: tuple(map(float, getattr(again, name))) for name in ("advantage", "advantage_normalised", "z_prime")},
    )
    fixture = derivation.fixture(Choice(2, made, started(), 60))
    check(fixture)
    fixture["inputs"]["terms"]["hoped"][0] += 1.0
    with pytest.raises(AssertionError):
        check(fixture)


def test_a_choice_without_an_update_has_no_fixture():
    made = dataclasses.replace(planned(), parts=())
    with pytest.raises(ValueError, match="no update"):
        derivation.fixture(Choice(1, made, started()))


def shown_lines(choice: Choice, index: int = 0, width: int = 100) -> list[str]:
    pane = _Derivation(choice, hits.display_order(choice.decision))
    pane.at = index
    lines = [line.plain for line in pane.build(width, 60)]
    assert all(cell_len(line) <= width for line in lines)
    return lines


def test_each_number_has_its_equation_its_function_and_its_calculation():
    choice = paper_choice()
    text = "\n".join(shown_lines(choice))
    chosen = choice.decision.chosen
    update = choice.decision.update
    for number, function in (
        ("Eq. 3", "discounted_returns"), ("Eq. 4", "estimate_values"), ("Eq. 7", "advantages"), ("Eq. 25", "normalise"),
        ("Eq. 10", "update_logits"), ("Eq. 9", "softmax"), ("Algorithm 1, step 6", "sample"),
    ):  # fmt: skip
        assert number in text
        file, line = re.search(rf"(engine/\S+\.py):(\d+) {function}\n", text + "\n").groups()
        source = (derivation.ROOT / file).read_text(encoding="utf-8").splitlines()
        assert source[int(line) - 1].startswith(f"def {function}(")
    assert f"{update.z_prime[chosen]:+.2f}".replace("-", "−") in text
    value = update.valuation
    for index in range(len(choice.decision.candidates)):
        steps = {step.symbol: step for step in derivation.derive(choice, index)}
        want = {"known": "Eq. 5", "optimistic": "Eq. 6", "neutral": "1 − λ"}[value.how[index]]
        assert want in steps["Q̂"].paper


def test_the_way_from_the_opinion_to_the_probability_is_one_line():
    choice = paper_choice()
    at = hits.display_order(choice.decision).index(0)  # one that the model proposed
    line = shown_lines(choice, at)[1]
    parts = line.split(" → ")
    assert [part.split()[0] for part in parts] == ["confidence", "z", "Ã", "z′", "π"]
    made = dataclasses.replace(choice.decision, parts=())
    assert derivation.chain(made, 0).count("→") == 2


def test_a_neutral_logit_is_explained_by_the_step_that_sets_it():
    choice = paper_choice()
    step = derivation.derive(choice, 3)[0]
    assert choice.decision.candidates[3].source == "memory"
    assert "neutral logit 0" in step.paper
    assert step.code is jitrl.candidate_set


def test_the_numbers_of_a_plan_are_those_of_the_panes_and_say_what_the_cut_did():
    choice = Choice(2, decision(hit("go south", 0), left=12.0), started(), 60)
    text = "\n".join(shown_lines(choice, width=150))
    seen = explain.shown_values(choice.decision.update)
    assert f"Q̂ = expected +2.00 hoped +10.00 = {seen.q[0]:+.2f} points" in text
    assert "the search counted 47.00 points, and 12.00 are left to gain" in text
    assert f"Â = {seen.q[0]:+.2f} − ({seen.v:+.2f}) = {seen.advantage[0]:+.2f}" in text
    assert "engine/values/graph.py" in text
    made = dataclasses.replace(choice.decision, candidates=(Candidate("go south", 0.0, "valid"),) * 3)
    assert "neutral" in "\n".join(shown_lines(Choice(2, made, started(), 60)))


def test_e_opens_the_window_arrows_change_the_candidate_and_s_saves_a_fixture(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    async def go():
        events = stream.run(2, 4)
        settings = {**PAPER, "beta": 1.0}
        app, _ = replay_app([started(settings), *events[1:]])
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.ended)
            await pilot.press("e")
            await still(pilot)
            assert isinstance(app.screen, ExplainDialog)
            made = [e.decision for e in events if isinstance(e, Decided)][-1]
            assert f"candidate 1 of 4: {made.action}, chosen" in screen_text(app)
            await pilot.press("right")
            await still(pilot)
            assert "candidate 2 of 4" in screen_text(app)
            await pilot.press("left", "left")
            await still(pilot)
            assert "candidate 4 of 4" in screen_text(app)
            await pilot.press("s")
            await still(pilot)
            await pilot.press("e")
            await still(pilot)
            assert app.screen is watch(pilot)

    asyncio.run(go())
    (path,) = tmp_path.glob("decision-*.json")
    assert path.name.endswith("-2-4.json")
    fixture = json.loads(path.read_text(encoding="utf-8"))
    check(fixture)


def test_e_before_the_first_decision_says_so():
    async def go():
        app, _ = replay_app(stream.run(1, 2)[:2])
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: watch(pilot).view.activity == "paused")
            await pilot.press("e")
            assert "No decision yet." in await settled(pilot)

    asyncio.run(go())

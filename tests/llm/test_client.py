"""The good path against a real server, and what is kept, counted and limited."""

from __future__ import annotations

import dataclasses
import json
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelError, UsageError
from engine.llm import open_model
from engine.llm.calls.cache import Cache, digest
from engine.llm.calls.pace import Pace
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.records import ActionRequest
from engine.settings import Settings
from tests.llm import server as fake
from tests.llm.server import Server

ACTIONS = ("open box", "go north", "wait", "take lamp", "read book")
REQUEST = ActionRequest("sum", "", "> look\nnothing", "In a room", ACTIONS, 3)


def opened(server: Server, cache: Path | None = None, **settings):
    read = Settings(**{"logits": "verbalized", "deadline_s": 3600.0, **settings})
    return open_remote("openai/test", read, cache, {"OPENAI_API_BASE": server.base})


def test_verbalized_logits(server: Server):
    model = opened(server)
    proposal = model.propose(REQUEST, np.random.default_rng(1))
    assert [(c.action, c.confidence) for c in proposal.candidates] == [
        ("go north", 60), ("open box", 30), ("read book", 10)]  # fmt: skip
    assert np.allclose([c.z for c in proposal.candidates], np.log(np.asarray([60, 30, 10]) * 3 / 100))
    assert proposal.note == ""
    (sent,) = server.requests
    assert sent["temperature"] == 0.8
    assert sent["response_format"]["type"] == "json_schema"
    (call,) = proposal.calls
    assert (call.purpose, call.prompt_tokens, call.completion_tokens, call.cached) == (
        "actions",
        100,
        20,
        False,
    )
    assert "**REFERENCE ACTIONS:**" in call.prompt
    assert json.loads(call.reply)["option1"] == "go north"
    assert model.usage.tokens == 120
    assert model.usage.by_purpose == {"actions": 120}
    model.close()


def test_linear_transform(server: Server):
    model = opened(server, transform="linear")
    assert [c.z for c in model.propose(REQUEST, np.random.default_rng(1)).candidates] == [0.6, 0.3, 0.1]
    model.close()


def test_the_order_of_actions_depends_on_the_seed_alone(server: Server):
    model = opened(server)
    for seed in (1, 1, 2, 3, 4):
        model.propose(REQUEST, np.random.default_rng(seed))
    orders = [tuple(fake.reference_actions(r)) for r in server.requests]
    assert orders[0] == orders[1]
    assert len(set(orders)) > 2
    assert all(sorted(o) == sorted(ACTIONS) for o in orders)
    model.close()


def test_token_logits_of_a_short_list(server: Server):
    model = opened(server, logits="token")
    top = {"1": -0.3, " 2": -2.0, "2": -3.0, "4": -5.0, "Hm": -6.0}
    server.default = fake.index_tokens(top)
    proposal = model.propose(dataclasses.replace(REQUEST, candidates=5), np.random.default_rng(1))
    order = fake.numbered_list(server.requests[0])
    told = {
        order[0]: -0.3,
        order[1]: np.logaddexp(-2.0, -3.0),
        order[3]: -5.0,
        order[2]: -6.0,
        order[4]: -6.0,
    }
    assert {c.action: pytest.approx(c.logprob) for c in proposal.candidates} == told
    z = {c.action: c.z for c in proposal.candidates}
    assert z[order[0]] - z[order[1]] == pytest.approx((told[order[0]] - told[order[1]]) / 0.8)
    assert server.requests[0]["top_logprobs"] == 20
    model.close()


def test_token_logits_of_a_long_list_are_those_of_proposed_options(server: Server):
    model = opened(server, logits="token")
    many = tuple(f"push button {i}" for i in range(14))
    proposal = model.propose(dataclasses.replace(REQUEST, valid_actions=many), np.random.default_rng(1))
    assert len(server.requests) == 2
    assert sorted(fake.numbered_list(server.requests[1])) == sorted(sorted(many)[:3])
    assert len(proposal.candidates) == 3
    assert all(c.reason == "because" and c.logprob is not None for c in proposal.candidates)
    assert len(proposal.calls) == 2
    model.close()


def test_one_valid_action_needs_no_model(server: Server):
    model = opened(server)
    proposal = model.propose(dataclasses.replace(REQUEST, valid_actions=("wait",)), np.random.default_rng(1))
    assert [(c.action, c.z) for c in proposal.candidates] == [("wait", 0.0)]
    assert server.requests == []
    model.close()


def test_a_repeated_run_costs_nothing_and_is_identical(server: Server, tmp_path: Path):
    results = []
    for _ in range(2):
        model = opened(server, tmp_path)
        results.append([model.propose(REQUEST, np.random.default_rng(s)).candidates for s in (1, 2)])
        usage = model.usage
        model.close()
    assert results[0] == results[1]
    assert len(server.requests) == 2
    assert (usage.tokens, usage.cached, usage.calls) == (0, 2, 2)


def test_another_setting_is_another_question(server: Server, tmp_path: Path):
    for temperature in (0.8, 0.9):
        model = opened(server, tmp_path, temperature=temperature)
        model.propose(REQUEST, np.random.default_rng(1))
        model.close()
    assert len(server.requests) == 2


def test_one_connection_serves_all_calls(server: Server):
    model = opened(server)
    for seed in range(3):
        model.propose(REQUEST, np.random.default_rng(seed))
    model.close()
    assert len(server.requests) == 3
    assert len(set(server.connections)) == 1


def test_the_token_budget_is_checked_before_a_call(server: Server):
    model = opened(server, budget_tokens=200)
    model.propose(REQUEST, np.random.default_rng(1))
    model.propose(REQUEST, np.random.default_rng(2))
    with pytest.raises(ModelError, match=r"budget of 200 tokens .* larger budget_tokens") as caught:
        model.propose(REQUEST, np.random.default_rng(3))
    assert caught.value.fatal
    assert len(server.requests) == 2
    model.close()


def test_the_dollar_budget_uses_the_price_list(server: Server, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none-needed-here")
    settings = Settings(budget_usd=0.0004, logits="verbalized")
    model = open_remote("openai/gpt-4o", settings, None, {"OPENAI_API_BASE": server.base})
    proposal = model.propose(REQUEST, np.random.default_rng(1))
    # gpt-4o: $2.50 a million tokens in, $10 out.
    assert proposal.calls[0].cost_usd == pytest.approx(100 * 2.5e-6 + 20 * 10e-6)
    with pytest.raises(ModelError, match=r"budget of \$0.00"):
        model.propose(REQUEST, np.random.default_rng(2))
    model.close()


def test_a_dollar_budget_that_could_not_be_kept_is_refused_before_the_first_call(server: Server):
    model = opened(server, budget_usd=1.0)
    with pytest.raises(ModelError, match=r"no price is known for openai/test.*budget_tokens") as caught:
        model.propose(REQUEST, np.random.default_rng(1))
    assert caught.value.fatal
    assert server.requests == []
    model.close()


def test_calls_from_many_threads(server: Server):
    model = opened(server)
    results: list[int] = []

    def run(seed: int) -> None:
        results.append(len(model.propose(REQUEST, np.random.default_rng(seed)).candidates))

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [3] * 8
    assert model.usage.tokens == 8 * 120
    model.close()


def test_complete_asks_for_json_and_returns_the_text(server: Server):
    server.default = fake.reply('{"a": 1}')
    model = opened(server)
    reply = model.complete(Question("history", [{"role": "user", "content": "Summarise."}], {"type": "object"}))
    assert reply.text == '{"a": 1}'
    assert reply.call.purpose == "history"
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}
    server.default = fake.reply("")
    with pytest.raises(ModelError, match="empty answer"):
        model.complete(Question("history", [{"role": "user", "content": "Again."}]))
    model.close()
    model.close()
    with pytest.raises(ModelError, match=r"closed|cancelled"):
        model.complete(Question("history", [{"role": "user", "content": "Late."}]))


def test_string_scores_need_a_local_model():
    with pytest.raises(UsageError, match="only local models"):
        open_model("openai/gpt-4o", settings=Settings(logits="string"), cache=None)


# ---------------------------------------------------------------------------------------------- cache


def test_the_cache_is_shared_bounded_and_forgets_the_oldest(tmp_path: Path):
    ticks = iter(range(10**6))
    first = Cache(tmp_path / "c" / "r.sqlite", limit=1500, clock=lambda: float(next(ticks)))
    second = Cache(tmp_path / "c" / "r.sqlite")
    for i in range(2000):
        first.put(str(i), [i])
    assert second.get("1999") == [1999]
    assert second.get("0") is None
    assert sum(second.get(str(i)) is not None for i in range(2000)) <= 1500
    first.close()
    second.close()


def test_a_damaged_cache_is_set_aside(tmp_path: Path):
    path = tmp_path / "r.sqlite"
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)
    cache = Cache(path)
    assert cache.get("x") is None
    cache.put("x", 1)
    assert cache.get("x") == 1
    assert path.with_suffix(".damaged").exists()
    cache.close()


def test_an_unwritable_cache_does_no_harm(tmp_path: Path):
    (tmp_path / "file").write_text("")
    cache = Cache(tmp_path / "file" / "r.sqlite")
    cache.put("x", 1)
    assert cache.get("x") is None
    cache.close()
    cache.close()


def test_digests_tell_values_apart():
    assert digest("a", {"x": 1, "y": 2}) == digest("a", {"y": 2, "x": 1})
    assert digest("ab", "c") != digest("a", "bc")


# ----------------------------------------------------------------------------------------------- pace


def test_pace_spreads_the_calls_of_all_workers(tmp_path: Path):
    now = 1000.0
    workers = [Pace(tmp_path / "pace.sqlite", 60, clock=lambda: now) for _ in range(3)]
    waits = [worker.reserve("m") for worker in workers for _ in range(2)]
    assert waits == pytest.approx([0, 1, 2, 3, 4, 5])
    assert workers[0].reserve("another") == 0
    now = 2000.0
    assert workers[1].reserve("m") == 0


def test_a_server_that_asks_for_rest_gets_it_from_all(tmp_path: Path):
    workers = [Pace(tmp_path / "pace.sqlite", 0, clock=lambda: 50.0) for _ in range(2)]
    assert workers[0].reserve("m") == 0
    workers[0].hold("m", 7.0)
    assert workers[1].reserve("m") == pytest.approx(7.0)
    alone = Pace(None, 30, clock=lambda: 1.0)
    assert [alone.reserve("m") for _ in range(3)] == pytest.approx([0, 2, 4])


@pytest.mark.parametrize("shared", [True, False])
def test_a_clock_that_is_set_back_makes_nobody_wait_longer_than_the_limit_says(tmp_path: Path, shared: bool):
    now = 90_000.0
    pace = Pace(tmp_path / "pace.sqlite" if shared else None, 2, clock=lambda: now)
    assert [pace.reserve("m"), pace.reserve("m")] == pytest.approx([0, 30])
    now = 500.0
    assert [pace.reserve("m"), pace.reserve("m")] == pytest.approx([60, 90])
    pace.hold("other", 7.0)
    now = 20.0
    assert pace.reserve("other") == pytest.approx(7)
    now = 26.0
    assert pace.reserve("other") == pytest.approx(31)

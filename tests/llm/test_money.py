"""What calls cost: tokens that a server does not count are estimated, and a price that is not known is never $0.00."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelError
from engine.llm.listed import list_price
from engine.llm.model_factory import open_remote
from engine.records import ActionRequest, EpisodeEnded, ModelCall, Notice, total_cost
from engine.session.account import Account
from engine.settings import SessionConfig, Settings
from jitrl_tui.cli import main
from jitrl_tui.runs.amounts import before_paying, dollars
from tests.llm import server as fake
from tests.llm.scripted import player
from tests.llm.server import Server

REQUEST = ActionRequest("sum", "", "> look\nnothing", "In a room", ("open box", "go north", "wait"), 3)
ZEROS = {"usage": {"usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}}}


def opened(server: Server, name: str = "openai/test", **settings):
    read = Settings(**{"logits": "verbalized", "attempts": 1, **settings})
    return open_remote(name, read, None, {"OPENAI_API_BASE": server.base})


def words(**usage):
    return fake.reply('{"option1": "wait", "option2": "open box"}', **usage)


@pytest.mark.parametrize("usage", [{"usage": {}}, ZEROS], ids=["none", "zeros"])
def test_tokens_that_a_server_does_not_count_are_estimated_limited_and_said(server: Server, usage):
    server.default = words(**usage)
    model = opened(server, budget_tokens=500)
    told: list[str] = []
    model.on_event(lambda event: told.append(event.message) if isinstance(event, Notice) else None)
    (call,) = model.propose(REQUEST, np.random.default_rng(1)).calls
    assert call.estimated
    assert 100 < call.prompt_tokens < 1000
    assert 10 <= call.completion_tokens <= 20
    assert told == ["the server of openai/test does not count tokens; they are estimated"]
    for seed in range(2, 20):
        if model.usage.tokens >= 500:
            break
        model.propose(REQUEST, np.random.default_rng(seed))
    with pytest.raises(ModelError, match="budget of 500 tokens"):
        model.propose(REQUEST, np.random.default_rng(99))
    assert len(told) == 1
    model.close()


def test_counted_tokens_are_no_estimate(server: Server):
    model = opened(server)
    (call,) = model.propose(REQUEST, np.random.default_rng(1)).calls
    assert (call.estimated, call.prompt_tokens, call.cost_usd, call.price_usd) == (False, 100, None, None)
    assert model.usage.cost_usd is None
    model.close()


def test_estimated_tokens_of_a_model_with_a_price_cost_money(server: Server):
    server.default = words(**ZEROS)
    model = opened(server, "openai/gpt-4o")
    (call,) = model.propose(REQUEST, np.random.default_rng(1)).calls
    assert call.cost_usd == pytest.approx(list_price("openai/gpt-4o", call.prompt_tokens, call.completion_tokens))
    assert call.cost_usd > 0
    model.close()


def test_a_sum_with_an_unknown_cost_is_unknown():
    assert total_cost([]) == 0.0
    assert total_cost([1.0, 2.0]) == 3.0
    assert total_cost([1.0, None]) is None
    account = Account(1, "u")
    account.called(ModelCall("actions", "openai/x", "", "", cost_usd=None))
    account.called(ModelCall("actions", "openai/x", "", "", cost_usd=0.0))
    assert account.cost_usd is None
    assert dollars(None) == "cost unknown"


@pytest.mark.parametrize(
    ("name", "price"),
    [("local/smollm2", 0.0), ("local:/a.gguf", 0.0), ("prior/verbs", 0.0), ("local/smollm2+prior/verbs", 0.0),
     ("openai/test", None), ("azure/prod", None), ("openai/test+prior/verbs", None), ("ollama_chat/mine", None)],
)  # fmt: skip
def test_a_price_is_known_or_not(name: str, price: float | None):
    assert list_price(name, 1000, 1000) == price


def test_an_unknown_cost_is_unknown_in_json_lines_and_curves(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    server.default = player
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    saves = ["--saves", str(tmp_path)]
    words = ["run", "pantry", "--agent", "static", "--model", "openai/test", "--episodes", "2", "--steps", "2"]
    assert main([*words, "--set", "logits=verbalized", "--json", "-", *saves]) == 0
    said = capsys.readouterr()
    assert "openai/test: 2 episodes, up to 4 steps, about 4 model calls with 6,600 tokens, price unknown" in said.err
    assert [episode["cost_usd"] for episode in json.loads(said.out)["episodes"]] == [None, None]
    assert main(["curves", "last", *saves]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "cost" in line]
    assert line.split() == ["cost,", "$", "unknown"]
    assert main(["curves", "last", "--json", *saves]) == 0
    assert '"cost_usd": null' in capsys.readouterr().out
    for ending in ("csv", "svg"):
        assert main(["curves", "last", "--export", str(tmp_path / f"c.{ending}"), *saves]) == 0


def test_a_benchmark_with_an_unknown_price_is_reported_shown_and_resumed(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys
):
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    monkeypatch.setattr("engine.bench.report.images.draw", lambda figure, ending: b"<svg ></svg>")
    suite = tmp_path / "small.toml"
    suite.write_text(
        'title = "Small"\nabout = "Small."\ntasks = ["pantry"]\nmodels = ["openai/test"]\nseeds = 1\nepisodes = 1\n'
        'steps = 1\n\n[[arms]]\nname = "Static"\nagent = "static"\nreference = true\n'
    )
    saves = ["--saves", str(tmp_path / "saves")]
    assert main(["bench", "run", str(suite), "--name", "small", "--yes", *saves]) == 0
    capsys.readouterr()
    assert main(["bench", "show", "small", *saves]) == 0
    assert "spent        cost unknown, " in capsys.readouterr().out
    assert main(["bench", "resume", "small", *saves]) == 0
    assert main(["bench", "report", "small", *saves]) == 0
    assert main(["bench", "ls", *saves]) == 0
    assert "small" in capsys.readouterr().out


def test_what_costs_nothing_is_not_estimated(tmp_path: Path):
    from engine.session import store

    local = store.create(tmp_path, SessionConfig("pantry"), "watch")
    assert before_paying(local, tmp_path) == ""
    paid = store.create(tmp_path, SessionConfig("pantry", model="openai/gpt-4o", episodes=3), "watch")
    assert "openai/gpt-4o: 3 episodes" in before_paying(paid, tmp_path)
    assert "about $" in before_paying(paid, tmp_path)
    assert "retired" not in before_paying(paid, tmp_path)
    retired = store.create(tmp_path, SessionConfig("pantry", model="gemini/gemini-2.5-flash", episodes=3), "watch")
    assert ". gemini/gemini-2.5-flash is retired from 2026-12-01 on" in before_paying(retired, tmp_path)


def test_an_unknown_cost_is_recorded_as_such():
    from engine.codec import event_from_line, event_to_line

    event = EpisodeEnded(1, 1.0, None, 1, True, False, "", (), (), 0, 0, cost_usd=None)
    assert event_from_line(event_to_line(event, 1.0).encode())[1] == event


def test_watch_says_what_it_may_cost_before_the_first_call(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    server.default = player
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    words = ["watch", "pantry", "--plain", "--agent", "static", "--model", "openai/test", "--episodes", "1"]
    assert main([*words, "--steps", "1", "--set", "logits=verbalized", "--saves", str(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert said.index("openai/test: 1 episode, up to 1 step,") < said.index("Episode 1")

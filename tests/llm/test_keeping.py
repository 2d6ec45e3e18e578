"""What is kept of a model's answers: only what proved usable."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelError
from engine.llm import open_model
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.llm.prompts import Prompt
from engine.records import ActionRequest
from engine.settings import Settings
from tests.llm import server as fake
from tests.llm.server import Server

QUESTION = [{"role": "user", "content": "Summarise."}]
PROMPT = Prompt((("user", "Summarise."),))


@pytest.fixture
def model(server: Server, tmp_path: Path):
    opened = open_remote("openai/test", Settings(), tmp_path, {"OPENAI_API_BASE": server.base})
    yield opened
    opened.close()


def kept(folder: Path) -> list[str]:
    if not (folder / "replies.sqlite").exists():
        return []
    with sqlite3.connect(folder / "replies.sqlite") as connection:
        return [json.loads(v)["text"] for (v,) in connection.execute("SELECT value FROM replies")]


def readable(text: str) -> bool:
    try:
        return bool(json.loads(text))
    except ValueError:
        return False


def test_only_the_usable_one_of_two_answers_is_kept(server: Server, model, tmp_path: Path):
    server.script = [fake.reply("{nonsense"), fake.reply('{"a": 1}')]
    first = model.complete(Question("history", QUESTION, usable=readable))
    assert first.text == "{nonsense"
    assert kept(tmp_path) == []
    again = model.complete(Question("history", QUESTION, usable=readable, fresh=True))
    assert (again.text, again.call.cached) == ('{"a": 1}', False)
    assert kept(tmp_path) == ['{"a": 1}']
    last = model.complete(Question("history", QUESTION, usable=readable))
    assert (last.text, last.call.cached, last.call.cost_usd) == ('{"a": 1}', True, 0.0)
    assert len(server.requests) == 2


def test_without_a_judge_every_whole_answer_is_kept(server: Server, model, tmp_path: Path):
    server.script = [fake.reply("prose")]
    model.complete(Question("history", QUESTION))
    assert model.complete(Question("history", QUESTION)).call.cached
    assert kept(tmp_path) == ["prose"]
    server.script = [fake.reply("newer")]
    assert model.complete(Question("history", QUESTION, fresh=True)).text == "newer"
    assert kept(tmp_path) == ["newer"]
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "behaviour",
    [fake.reply("half an ans", finish="length"), fake.reply(""), fake.reply("  \n"), fake.reply(None),
     fake.reply("no", message={"refusal": "I can't."}), fake.reply("text", finish="content_filter")],
)  # fmt: skip
def test_cut_off_empty_and_refused_answers_are_never_kept(server: Server, model, tmp_path: Path, behaviour):
    server.default = behaviour
    answer = model.client.ask("history", PROMPT)
    model.client.keep(answer)
    assert kept(tmp_path) == []
    assert not model.client.ask("history", PROMPT).call.cached


def test_an_answer_is_not_kept_unless_somebody_says_so(server: Server, model, tmp_path: Path):
    server.default = fake.reply("x")
    answer = model.client.ask("history", PROMPT)
    assert kept(tmp_path) == []
    model.client.keep(answer)
    model.client.keep(answer)
    cached = model.client.ask("history", PROMPT)
    assert cached.call.cached
    assert (cached.text, cached.finish, cached.refusal, cached.top) == ("x", "stop", "", None)
    model.client.keep(cached)  # it is there already
    assert kept(tmp_path) == ["x"]
    assert not model.client.ask("history", PROMPT, fresh=True).call.cached


def test_index_tokens_are_kept_though_they_are_cut_off(server: Server, model, tmp_path: Path):
    def cut(handler, body):
        listed = [{"token": t, "logprob": p, "bytes": None} for t, p in (("1", -0.2), ("2", -1.9))]
        content = [{**listed[0], "top_logprobs": listed}]
        fake.reply("1", finish="length", logprobs={"content": content})(handler, body)

    server.default = cut
    answer = model.client.ask("actions", PROMPT, logprobs=True, top_logprobs=20)
    model.client.keep(answer)
    cached = model.client.ask("actions", PROMPT, logprobs=True, top_logprobs=20)
    assert cached.call.cached
    assert cached.top == answer.top == (("1", -0.2), ("2", -1.9))


def test_what_was_kept_before_it_was_judged_is_replaced(server: Server, model, tmp_path: Path):
    server.default = fake.reply("{nonsense")
    model.complete(Question("history", QUESTION))  # as versions did that kept everything
    server.default = fake.reply('{"a": 1}')
    assert model.complete(Question("history", QUESTION, usable=readable)).text == '{"a": 1}'
    assert kept(tmp_path) == ['{"a": 1}']


def test_a_mixture_and_a_table_take_the_same_arguments(server: Server, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("JITRL_API_BASE", server.base)
    server.default = fake.reply("{nonsense")
    mixed = open_model("prior/verbs+openai/test", settings=Settings(logits="token"), cache=tmp_path)
    assert mixed.complete(Question("history", QUESTION, usable=readable, fresh=True)).text == "{nonsense"
    assert kept(tmp_path) == []
    assert mixed.reading == "token"
    assert mixed.usage.retries == 0
    mixed.settle()
    mixed.on_event(lambda waiting: None)
    mixed.close()
    table = open_model("prior/verbs", settings=Settings(), cache=None)
    assert table.reading == ""
    table.settle()
    table.on_event(lambda waiting: None)
    with pytest.raises(ModelError, match="no language model"):
        table.complete(Question("history", QUESTION, usable=readable, fresh=True))
    assert len(server.requests) == 1


def test_proposals_that_cannot_be_used_are_asked_for_anew_the_next_time(server: Server, tmp_path: Path):
    settings = Settings(logits="verbalized")
    opened = open_remote("openai/test", settings, tmp_path, {"OPENAI_API_BASE": server.base})
    request = ActionRequest("", "", "", "A hall.", ("north", "south"), 2)
    server.default = fake.reply("I would rather not.")
    first = opened.propose(request, np.random.default_rng(1))
    assert (first.candidates, first.missing, len(server.requests)) == ((), True, 2)
    assert kept(tmp_path) == []
    server.default = fake.good
    second = opened.propose(request, np.random.default_rng(1))
    assert {c.action for c in second.candidates} == {"north", "south"}
    assert len(server.requests) == 3
    opened.propose(request, np.random.default_rng(1))
    assert len(server.requests) == 3  # this one was kept
    opened.close()

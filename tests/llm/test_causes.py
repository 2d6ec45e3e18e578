"""Why no usable answer came: each cause has its own sentence, which says what to do."""

from __future__ import annotations

import json
import os
import re

import numpy as np
import pytest

from engine.errors import JitrlError, MissingError, ModelError
from engine.llm.calls import network
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.records import ActionRequest
from engine.settings import Settings
from tests.llm import server as fake
from tests.llm.server import Server

REQUEST = ActionRequest("sum", "", "> look\nnothing", "In a room", ("open box", "go north", "wait"), 3)
DEAD = "127.0.0.1:9"
CHECK = "or it cut the connection; check the proxy, or unset HTTP_PROXY"


def opened(base: str, name: str = "openai/test"):
    settings = Settings(logits="verbalized", attempts=1, deadline_s=3600.0)
    return open_remote(name, settings, None, {"OPENAI_API_BASE": base})


def propose(model):
    try:
        return model.propose(REQUEST, np.random.default_rng(1))
    finally:
        model.close()


@pytest.fixture
def proxies(monkeypatch: pytest.MonkeyPatch):
    for name in ("no_proxy", "http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "")
        monkeypatch.setenv(name.upper(), "")
    return monkeypatch


ANSWERS = {
    "thinking": (fake.reply("", finish="length"), "limit of 4096 tokens; raise it with --set reply_tokens=N"),
    "open thoughts": (fake.reply("<think>Well, the box", finish="length"), "limit of 4096 tokens"),
    "reasoning_content": (
        fake.reply(None, message={"reasoning_content": '{"option1": "wait"}'}),
        "reasoning_content and left content empty; switch its thinking off",
    ),
    "refusal": (fake.reply(None, message={"refusal": "I can't do that."}), r"refused to answer \(I can't do that.\)"),
    "content filter": (fake.reply("", finish="content_filter"), "the content filter of its provider stopped it"),
    "parts": (fake.reply([{"type": "text", "text": "{}"}]), "a list of parts.*such as mistral/NAME"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_without_text_says_why(server: Server, name: str):
    server.default, text = ANSWERS[name]
    model = opened(server.base)
    with pytest.raises(JitrlError, match=text):
        model.complete(Question("history", [{"role": "user", "content": "Summarise."}]))
    proposal = propose(model)
    assert proposal.candidates == ()
    assert re.search(text, proposal.note)
    assert len(server.requests) == 2  # such an answer is not asked for again


def test_a_refused_answer_is_charged(server: Server):
    server.default = fake.reply(None, message={"refusal": "No."})
    proposal = propose(opened(server.base))
    assert [call.prompt_tokens for call in proposal.calls] == [100]


def test_a_limit_that_the_context_sets_is_said_so(server: Server):
    server.pages["/v1/models"]["data"][0]["max_model_len"] = 3000
    server.default = fake.reply("", finish="length")
    assert "give its server a larger context" in propose(opened(server.base)).note


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "ALL_PROXY", "http_proxy"])
@pytest.mark.parametrize("scheme", ["http", "socks5"])
def test_calls_to_a_server_of_this_machine_take_no_proxy(server: Server, proxies, variable: str, scheme: str):
    proxies.setenv(variable, f"{scheme}://{DEAD}")
    proxies.setenv("NO_PROXY", "intranet.example")
    assert len(propose(opened(server.base)).candidates) == 3
    assert os.environ["NO_PROXY"].startswith("intranet.example,")


@pytest.mark.parametrize(
    ("proxy", "package", "text"),
    [
        (f"http://me:secret@{DEAD}", False, rf"through the proxy http://{DEAD}, {CHECK}"),
        (f"socks5://{DEAD}", False, "HTTP_PROXY names a SOCKS proxy.*jitrl up socks, or unset HTTP_PROXY"),
        (f"socks5://{DEAD}", True, rf"through the proxy socks5://{DEAD}, {CHECK}"),
    ],
)
def test_a_proxy_that_is_in_the_way_is_named(proxies, proxy: str, package: bool, text: str):
    proxies.setenv("HTTP_PROXY", proxy)
    proxies.setattr(network, "find_spec", lambda name: package or None)
    with pytest.raises(MissingError, match=text) as caught:
        propose(opened("http://models.example/v1"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "key", ["sk-0123456789abcdef\n", "sk-0123456789\nabcdef", "sk-0123456789abcdéf", "sk 0123456789abcd"]
)
def test_a_key_that_cannot_be_sent_is_said(server: Server, monkeypatch: pytest.MonkeyPatch, key: str):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    server.default = fake.status(500, "an odd header") if " " in key else fake.good
    with pytest.raises(MissingError, match="OPENAI_API_KEY has a line break, a blank or a letter") as caught:
        propose(open_remote("openai/test", Settings(logits="verbalized", attempts=1), None,
                            {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": key}))  # fmt: skip
    assert "0123" not in str(caught.value)
    assert json.dumps(str(caught.value)).isascii()


def test_an_error_inside_the_server_costs_one_answer_and_two_in_a_row_end_play(server: Server):
    broken = fake.status(500, "Unexpected empty grammar stack")
    server.script = [broken, server.default, broken, broken]
    model, fatal = opened(server.base), []
    for _ in range(4):
        try:
            assert model.propose(REQUEST, np.random.default_rng(1)).candidates
        except ModelError as error:
            fatal.append(error.fatal if "grammar stack" in str(error) else str(error))
    model.close()
    assert fatal == [False, False, True]

"""`jitrl models` and `jitrl doctor --model`, as somebody uses them, against a real server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.llm.reading import capability
from jitrl_tui.cli import main
from tests.llm import server as fake
from tests.llm.scripted import Scripted, kind_of, player
from tests.llm.server import Server


@pytest.fixture
def jitrl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "JITRL_API_BASE", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, str, str]:
        code = main([*arguments, "--saves", str(tmp_path)])
        out, err = capsys.readouterr()
        return code, out, err

    return run


@pytest.fixture
def own(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    monkeypatch.setenv("JITRL_API_BASE", server.base)
    return server


def checks(out: str) -> dict[str, tuple[str, str, str]]:
    return {c["name"]: (c["state"], c["found"], c["mend"]) for c in json.loads(out)["checks"]}


def test_models_are_listed_tested_and_listed_again(jitrl):
    code, out, _ = jitrl("models")
    assert code == 0
    assert "local/smollm2" in out
    assert out.count("not measured yet") == 4
    code, out, _ = jitrl("models", "test", "prior/verbs")
    assert code == 0
    assert "top1" in out
    code, out, _ = jitrl("models", "ls", "--json")
    found = {item["name"]: item for item in json.loads(out)}
    assert found["prior/verbs"]["best"]["states"] == 24
    assert found["prior/uniform"]["best"] is None
    _, out, _ = jitrl("models", "ls", "--table")
    assert "| prior/verbs | table |" in out


@pytest.fixture
def six(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six problems in place of all."""
    problems = capability.problems()[:6]
    monkeypatch.setattr(capability, "problems", lambda: problems)


@pytest.mark.usefixtures("six")
def test_a_server_of_ones_own_is_tested_and_read_from_then_on_as_it_did_best(jitrl, own: Server):
    code, out, _ = jitrl("models", "test", "openai/test")
    assert code == 0
    # The server always prefers the first number; in words, it names the alphabet's first three.
    assert out.count("top1") == 2
    items = {item["name"]: item for item in json.loads(jitrl("models", "ls", "--json")[1])}
    best = items["openai/test"]["best"]["reading"]
    assert f"openai/test is read by {best} from now on" in out
    assert items["openai/test"]["installed"] is None
    asked = len(own.requests)
    assert asked == 6 + 2 * 6  # in words it is asked once more, for it names three of eight
    jitrl("models", "test", "openai/test", "--reading", "token")
    assert len(own.requests) == asked + 6  # kept replies would say nothing about its speed


@pytest.mark.usefixtures("six")
def test_a_reading_that_a_model_has_not_is_said_and_not_recorded(jitrl, own: Server):
    def without(handler, body):
        (fake.status(400, "logprobs is not supported") if "logprobs" in body else fake.good)(handler, body)

    own.default = without
    code, out, err = jitrl("models", "test", "openai/test", "--json")
    assert code == 0
    assert [r["reading"] for r in json.loads(out)] == ["verbalized"]
    assert "cannot be read by token" in err


@pytest.mark.parametrize("command", [("models", "info"), ("models", "test"), ("models", "add")])
def test_names_that_cannot_be(jitrl, capsys, command):
    for name, code, text in (
        ("local/nothing", 2, "there is no model 'local/nothing'"),
        ("prior/nothing", 2, "there is no model 'prior/nothing'"),
        ("local:/nowhere/x.gguf", 3, "is not there"),
    ):
        found, _, err = jitrl(*command, name)
        assert (found, text in err) == (code, True)


def test_what_needs_no_adding_says_so(jitrl):
    code, _, err = jitrl("models", "add", "openai/gpt-4o")
    assert code == 2
    assert "needs nothing added" in err
    code, out, _ = jitrl("models", "add", "local/smollm2")
    assert code == 0
    assert out.strip().endswith(".gguf")


def test_info_tells_price_key_and_abilities_without_a_call(jitrl, monkeypatch: pytest.MonkeyPatch):
    code, out, _ = jitrl("models", "info", "openai/gpt-4o")
    assert code == 0
    assert "$2.5 in, $10 out a million tokens" in out
    assert "OPENAI_API_KEY is not set" in out
    monkeypatch.setenv("OPENAI_API_KEY", "a-key-that-is-none")
    code, out, _ = jitrl("models", "info", "openai/gpt-4o", "--json")
    found = json.loads(out)["known"]
    assert (found["key_set"], found["context"], found["logprobs"], found["pictures"]) == (
        True,
        128_000,
        True,
        True,
    )
    assert "a-key-that-is-none" not in out
    code, _, err = jitrl("models", "info", "nonsense")
    assert code == 2
    assert "provider/model" in err


def test_doctor_asks_a_model_what_it_can_do(jitrl, own: Server):
    def able(handler, body):
        if "response_format" in body:
            return fake.reply('{"answer": "yes"}')(handler, body)
        return fake.index_tokens({"1": -0.2, "2": -1.9, "3": -4.0, "4": -5.0, "5": -6.0})(handler, body)

    own.default = able
    code, out, _ = jitrl("doctor", "--model", "openai/test", "--json")
    found = checks(out)
    assert code == 0
    assert {name: state for name, (state, _, _) in found.items()} == {
        "name": "ok", "key": "ok", "price": "warn", "answer": "ok", "logprobs": "ok", "JSON schema": "ok",
        "model": "ok", "choice": "ok", "agents": "warn", "choosing": "warn"}  # fmt: skip
    assert own.base in found["name"][1]
    assert "240 tokens" in found["answer"][1]
    assert len(own.requests) == 5  # one of them for a choice, two for the writing test, which this model fails
    assert found["choice"][1].startswith("3 options by token")
    assert "jitrl, static, memory" in found["agents"][1]
    assert "reflexion" in found["agents"][2]


@pytest.mark.parametrize("anew", [False, True])
def test_doctor_finds_that_summaries_repeat_if_only_their_wording_differs(jitrl, own: Server, anew: bool):
    own.default = Scripted([], anew=anew)
    found = checks(jitrl("doctor", "--model", "openai/test", "--json")[1])
    assert found["states"][:2] == found["histories"][:2] == ("ok", "the same when asked twice")
    asked = [kind_of(body) for body in own.requests]
    assert (asked.count("state"), asked.count("history")) == (2, 3)  # one history for the test of writing


def test_doctor_warns_of_summaries_that_do_not_repeat(jitrl, own: Server):
    told = "[SUMMARY]: The aim is gold. [PROGRESS]: {} [LOCATION]: cellar"
    own.default = Scripted([
        {"if": "expert at summarizing game", "times": 1, "reply": "[State: cellar, ladder, tin box]"},
        {"if": "expert at summarizing game", "reply": "I can't help with that."},
        {"if": "expert at analyzing game", "times": 2, "reply": told.format("unlocked door")},
        {"if": "expert at analyzing game", "reply": told.format("opened gate")},
        {"if": "expert player", "reply": json.dumps({"option1": "up", "confidence1": 0, "option2": "wait",
                                                     "confidence2": 0, "best_action": 1})},
        {"if": "Answer with the number", "status": 400},
    ])  # fmt: skip
    code, out, _ = jitrl("doctor", "--model", "openai/test", "--json")
    found = checks(out)
    assert code == 0
    assert found["states"][:2] == ("warn", "1 of 2 answers usable")
    assert found["histories"][:2] == ("warn", "asked twice, similarity 0.43")
    assert "--set history=rules" in found["histories"][2]
    assert found["choice"][0] == "warn"
    assert "all rated alike" in found["choice"][1]


def test_doctor_says_what_a_plain_server_lacks(jitrl, own: Server):
    def plain(handler, body):
        if "logprobs" in body:
            return fake.status(400, "logprobs is not supported")(handler, body)
        return fake.reply("1")(handler, body)

    own.default = plain
    code, out, _ = jitrl("doctor", "--model", "openai/test", "--json")
    found = checks(out)
    assert code == 3
    assert found["choice"][:2] == ("fail", found["choice"][1])
    assert "no usable option" in found["choice"][2]
    assert "logprobs is left out" in found["server"][1]
    assert found["logprobs"][:2] == ("warn", "none")
    assert found["JSON schema"][:2] == ("warn", "not kept")


def test_doctor_tries_what_a_run_sends(jitrl, own: Server, tmp_path: Path):
    """A reasoning model that a name does not tell: it thinks before it answers, and takes few parameters."""

    def thinks(handler, body):
        if body["max_completion_tokens"] < 1000:
            return fake.reply("", finish="length")(handler, body)
        return player(handler, body)

    own.default = fake.refusing(
        "Unsupported parameter: '{}' is not supported with this model.",
        "max_tokens", "temperature", "logprobs", "top_logprobs", answer=thinks,
    )  # fmt: skip
    code, out, _ = jitrl("doctor", "--model", "openai/test", "--json")
    found = checks(out)
    assert (code, found["choice"][0], found["JSON schema"][0]) == (0, "ok", "ok")
    for told in ("max_tokens is sent as max_completion_tokens", "temperature is left out", "logprobs is left out"):
        assert told in found["server"][1]
    own.requests.clear()
    jitrl("doctor", "--model", "openai/test", "--json")
    assert all("temperature" not in body for body in own.requests)


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [(fake.reply("", finish="length"), "limit of 4096 tokens"),
     (fake.reply(None, message={"reasoning_content": "Hm."}), "reasoning_content"),
     (fake.reply(None, message={"refusal": "No."}), "refused to answer (No.)"),
     (fake.reply("", finish="content_filter"), "content filter")],
)  # fmt: skip
def test_doctor_says_why_a_choice_is_missing(jitrl, own: Server, behaviour, text):
    own.default = behaviour
    code, out, _ = jitrl("doctor", "--model", "openai/test", "--json")
    state, _, mend = checks(out)["choice"]
    assert (code, state) == (3, "fail")
    assert text in mend


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [(fake.status(401, "no"), "check OPENAI_API_KEY"), (fake.status(404, "no"), "has no model"),
     (fake.drop, "cannot reach"), (fake.raw("<html>"), "check the address")],
)  # fmt: skip
def test_doctor_says_why_no_answer_came(jitrl, own: Server, behaviour, text):
    own.default = behaviour
    code, out, _ = jitrl("doctor", "--model", "openai/test", "--json")
    state, _, mend = checks(out)["answer"]
    assert (code, state) == (3, "fail")
    assert text in mend


def test_doctor_asks_nothing_without_a_key(jitrl):
    code, out, _ = jitrl("doctor", "--model", "gemini/gemini-2.5-flash", "--json")
    found = checks(out)
    assert code == 3
    assert found["key"][0] == "fail"
    assert "there is no key" in found["answer"][1]


def test_doctor_finds_ones_own_server(jitrl, own: Server, monkeypatch: pytest.MonkeyPatch):
    found = checks(jitrl("doctor", "--json")[1])
    assert found["own server"][:2] == ("ok", f"{own.base} has test")
    assert found["local/smollm2"][0] == "ok"
    for address in ("http://127.0.0.1:9/v1", "nonsense", own.base + "/nowhere"):
        monkeypatch.setenv("JITRL_API_BASE", address)
        assert checks(jitrl("doctor", "--json")[1])["own server"][0] == "warn"

"""Every way an API fails, against a real server that fails so."""

from __future__ import annotations

import dataclasses
import threading
import time

import numpy as np
import pytest

from engine.errors import MissingError, ModelError
from engine.llm.calls import failures
from engine.llm.language import LanguageModel
from engine.llm.model_factory import open_remote
from engine.records import ActionRequest
from engine.settings import Settings
from tests.llm import server as bad
from tests.llm.server import Server

ACTIONS = ("open box", "go north", "wait", "take lamp", "read book")
REQUEST = ActionRequest("sum", "", "> look\nnothing", "In a room", ACTIONS, 3)
ALL = dataclasses.replace(REQUEST, candidates=len(ACTIONS))


def opened(server: Server, **settings) -> LanguageModel:
    read = Settings(**{"logits": "verbalized", "deadline_s": 3600.0, **settings})
    model = open_remote("openai/test", read, None, {"OPENAI_API_BASE": server.base})
    quick = dataclasses.replace(model.client.limits, first_wait_s=0.001, attempts=3, patience_s=0.0)
    model.client.limits = quick
    return model


@pytest.fixture
def model(server: Server):
    model = opened(server)
    yield model
    model.close()


def propose(model: LanguageModel, request: ActionRequest = REQUEST):
    return model.propose(request, np.random.default_rng(1))


# What is worth another try: the session waits for a person only when all tries are used up.
TRANSIENT = {
    "no JSON": (bad.raw("{nope"), ModelError, "did not answer as an OpenAI-compatible server"),
    "HTML": (bad.raw("<html>Welcome</html>", content_type="text/html"), ModelError, "check the address"),
    "500": (bad.status(500, "boom"), ModelError, "failed"),
    "503": (bad.status(503, "overloaded"), ModelError, "overloaded"),
    "429": (bad.status(429, "slow down", retry_after="0.01"), ModelError, "rate limit"),
    "dropped": (bad.drop, MissingError, "cannot reach"),
    "cut short": (bad.half, MissingError, "cannot reach"),
}


@pytest.mark.parametrize("name", TRANSIENT)
def test_what_may_pass_is_tried_again_and_succeeds(server: Server, model: LanguageModel, name: str):
    server.script = [TRANSIENT[name][0]] * 2
    proposal = propose(model)
    assert len(proposal.candidates) == 3
    assert len(server.requests) == 3


@pytest.mark.parametrize("name", TRANSIENT)
def test_what_does_not_pass_stops_with_what_to_do(server: Server, model: LanguageModel, name: str):
    server.default, kind, text = TRANSIENT[name]
    if name == "500":  # the first one costs an answer, and no more
        with pytest.raises(kind, match=text):
            propose(model)
        server.requests.clear()
    with pytest.raises(kind, match=text) as caught:
        propose(model)
    assert len(server.requests) == 3
    assert getattr(caught.value, "fatal", True)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("behaviour", "kind", "text"),
    [
        (bad.status(401, "Incorrect API key"), MissingError, "check OPENAI_API_KEY"),
        (bad.status(403, "forbidden"), MissingError, "check OPENAI_API_KEY"),
        (bad.status(404, "The model `test` does not exist"), ModelError, "has no model"),
        (
            bad.status(429, "You exceeded your current quota", "insufficient_quota"),
            ModelError,
            "no quota left",
        ),
        (bad.status(402, "Insufficient Balance"), ModelError, "no quota left"),
        (bad.status(422, "unknown field"), ModelError, "refused the request"),
    ],
)
def test_what_cannot_pass_is_not_tried_again(server: Server, model: LanguageModel, behaviour, kind, text):
    server.default = behaviour
    with pytest.raises(kind, match=text):
        propose(model)
    assert len(server.requests) == 1


# What the model wrote and cannot be used: play goes on, the screen states the rule.
@pytest.mark.parametrize(
    ("behaviour", "note"),
    [
        (bad.reply(""), "no usable option"),
        (bad.reply(None), "no usable option"),
        (bad.reply("I would open the box."), "no JSON"),
        (bad.reply('{"option1": "fly away", "option2": "eat box"}'), "none of its 2 was a valid action"),
        (bad.reply('{"option1": "open b', finish="length"), "its answer was cut off"),
        (bad.reply('{"option1": "wait', finish="length"), "its answer was cut off"),
        (bad.reply(None, message={"refusal": "I can't help with that."}), "refused"),
        (bad.reply("", finish="content_filter"), "refused"),
        (bad.no_choices, "empty answer"),
        (bad.status(400, "filtered by content management policy", "content_filter"), "refused"),
    ],
)
def test_unusable_answers_give_no_candidates_and_a_note(
    server: Server, model: LanguageModel, behaviour, note: str
):
    server.default = behaviour
    proposal = propose(model)
    assert proposal.candidates == ()
    assert note in proposal.note


def test_a_bad_answer_is_asked_for_once_more(server: Server, model: LanguageModel):
    server.script = [bad.reply("Open the box, I say")]
    proposal = propose(model)
    assert len(proposal.candidates) == 3
    assert len(proposal.calls) == 2
    again = server.requests[1]["messages"]
    assert [m["role"] for m in again] == ["system", "user", "assistant", "user"]
    assert "not valid JSON" in again[-1]["content"]


def test_options_outside_the_list_are_mapped_or_dropped_and_counted(server: Server, model: LanguageModel):
    server.default = bad.reply(
        '{"option1": "Open  Box", "confidence1": 80, "option2": "WAIT", "confidence2": 20, "option3": "fly"}'
    )
    proposal = propose(model)
    assert [c.action for c in proposal.candidates] == ["open box", "wait"]
    assert np.allclose([c.z for c in proposal.candidates], [np.log(1.6), np.log(0.4)])
    assert "dropped 1" in proposal.note
    assert model.usage.dropped == 1


def test_a_model_without_schema_is_asked_without(server: Server, model: LanguageModel):
    def picky(handler, body):
        if "response_format" in body:
            return bad.status(400, "response_format of type json_schema is not supported")(handler, body)
        return bad.good(handler, body)

    server.default = picky
    assert len(propose(model).candidates) == 3
    propose(model, dataclasses.replace(REQUEST, current_state="Elsewhere"))
    assert ["response_format" in r for r in server.requests] == [True, False, False]


def test_a_prompt_that_is_too_long_loses_its_oldest_history(server: Server, model: LanguageModel):
    def narrow(handler, body):
        if len(body["messages"][1]["content"]) > 20_000:
            text = "This model's maximum context length is 4096 tokens. However, you requested 9000 tokens"
            return bad.status(400, text, "context_length_exceeded")(handler, body)
        return bad.good(handler, body)

    server.default = narrow
    history = "\n".join(f"> step {i}\nYou are somewhere, and it is number {i}." for i in range(700))
    proposal = propose(model, dataclasses.replace(REQUEST, recent_history=history))
    assert len(proposal.candidates) == 3
    assert "oldest history" in proposal.note
    sent = server.requests[-1]["messages"][1]["content"]
    assert "> step 699" in sent
    assert "> step 0\n" not in sent
    # The limit is remembered: the next prompt fits at once.
    before = len(server.requests)
    propose(model, dataclasses.replace(REQUEST, recent_history=history, current_state="Elsewhere"))
    assert len(server.requests) == before + 1


def test_a_prompt_that_cannot_be_shortened_is_said_so(server: Server, model: LanguageModel):
    server.default = bad.status(
        400, "the request exceeds the available context size", "exceed_context_size_error"
    )
    assert "too long" in propose(model).note


def test_no_logprobs_leads_to_words(server: Server):
    def without(handler, body):
        if "logprobs" in body:
            return bad.status(400, "logprobs is not supported for this model")(handler, body)
        return bad.good(handler, body)

    server.default = without
    model = opened(server, logits="token")
    proposal = propose(model)
    assert len(proposal.candidates) == 3
    assert "confidences in words" in proposal.note
    assert model.reading == "verbalized"
    model.close()


@pytest.mark.parametrize(
    "silent", [bad.reply("1"), bad.reply("1", logprobs=None), bad.reply("1", logprobs={"content": []})]
)
def test_logprobs_left_out_lead_to_words_too(server: Server, silent):
    server.script = [silent]
    model = opened(server, logits="token")
    assert "confidences in words" in propose(model, ALL).note
    model.close()


@pytest.mark.parametrize("top", [{"the": -0.1, "I": -2.0}, {"7": -0.1, "0": -1.0}, {"१": -0.1}])
def test_a_token_that_is_no_index_gives_no_candidates(server: Server, top):
    server.default = bad.index_tokens(top)
    model = opened(server, logits="token")
    proposal = propose(model, ALL)
    assert proposal.candidates == ()
    assert "did not answer with a number" in proposal.note
    model.close()


def test_a_slow_server_is_given_up_at_the_deadline(server: Server):
    server.default = bad.hang
    model = opened(server, deadline_s=1.0)
    model.client.limits = dataclasses.replace(model.client.limits, attempts=1)
    model.gateway.prepare()
    started = time.monotonic()
    with pytest.raises(ModelError, match="did not answer in time"):
        propose(model)
    assert time.monotonic() - started < 60
    model.close()


def test_an_abandoned_call_ends_at_once_and_the_next_one_works(server: Server, model: LanguageModel):
    server.script = [bad.hang]
    caught: list[BaseException] = []

    def run() -> None:
        try:
            propose(model)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert server.arrived.wait(60)
    model.cancel()
    thread.join(60)
    assert [str(e) for e in caught] == ["cancelled"]
    assert caught[0].fatal
    assert server.gone.wait(60)  # the connection is closed: the server need not go on either
    with pytest.raises(ModelError, match="cancelled"):
        propose(model)
    model.resume()
    assert len(propose(model).candidates) == 3


def test_cancelling_ends_the_wait_between_tries(server: Server, model: LanguageModel):
    server.default = bad.status(503, retry_after="200")
    model.client.limits = dataclasses.replace(model.client.limits, first_wait_s=100.0)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            propose(model)
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert server.arrived.wait(60)
    model.cancel()
    thread.join(60)
    assert [str(e) for e in caught] == ["cancelled"]


def test_nobody_listens_at_the_address(server: Server):
    settings = Settings(logits="verbalized")
    model = open_remote("openai/test", settings, None, {"OPENAI_API_BASE": "http://127.0.0.1:9/v1"})
    model.client.limits = dataclasses.replace(model.client.limits, first_wait_s=0.001, attempts=2)
    with pytest.raises(MissingError, match=r"cannot reach http://127.0.0.1:9/v1"):
        propose(model)
    model.close()


def test_a_missing_key_is_named(monkeypatch: pytest.MonkeyPatch):
    for name in ("GEMINI_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    model = open_remote("openai/gpt-4o-mini", Settings(logits="verbalized"), None, {})
    model.client.limits = dataclasses.replace(model.client.limits, first_wait_s=0.001, attempts=1)
    with pytest.raises(MissingError, match="set OPENAI_API_KEY"):
        propose(model)
    model.close()


def test_a_name_that_litellm_does_not_know():
    model = open_remote("nonsense", Settings(), None, {})
    with pytest.raises(ModelError, match="provider/model"):
        propose(model)
    model.close()


def test_secrets_are_hidden_everywhere(server: Server, monkeypatch: pytest.MonkeyPatch):
    secret = "verysecretvalue123"
    monkeypatch.setenv("OPENAI_API_KEY", secret)
    model = open_remote(
        "openai/test",
        Settings(logits="verbalized"),
        None,
        {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": secret},
    )
    request = dataclasses.replace(
        REQUEST, current_state=f"A note reads {secret} and sk-abcdefghijklmnopqrstuvwx."
    )
    proposal = propose(model, request)
    assert server.headers[0]["authorization"] == f"Bearer {secret}"
    text = repr(proposal)
    assert secret not in text
    assert "sk-abcdef" not in text
    assert failures.HIDDEN in text
    server.default = bad.status(401, f"Incorrect API key provided: {secret}")
    with pytest.raises(MissingError) as caught:
        propose(model, REQUEST)
    assert secret not in str(caught.value)
    server.default = bad.status(422, f"bad key {secret}")
    with pytest.raises(ModelError) as refused:
        propose(model, dataclasses.replace(REQUEST, summary="x"))
    assert secret not in str(refused.value)
    model.close()


def test_a_missing_key_is_told_whatever_the_provider_calls_it():
    class APIConnectionError(Exception):
        pass

    said = "litellm.APIConnectionError: Missing Gemini API key. Set the GEMINI_API_KEY or GOOGLE_API_KEY"
    failure = failures.explain(APIConnectionError(said), "gemini/gemini-2.5-flash")
    assert (failure.kind, failure.retry) == ("key", False)
    assert "set GEMINI_API_KEY" in failure.message

"""What a server does not take, and how much fits into its context: found out, followed, told once and remembered."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelError, TooLong
from engine.llm.calls import endpoint, server_models
from engine.llm.calls.failures import explain
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.records import ActionRequest, Notice
from engine.settings import Settings
from tests.llm import server as fake
from tests.llm.server import Server

REQUEST = ActionRequest("sum", "", "> look\nnothing", "In a room", ("open box", "go north", "wait", "take lamp"), 3)
LONG = ActionRequest("", "", "> look\n" + "nothing is here\n" * 2000, "In a room", ("wait", "go north"), 2)
OPENAI = "Unsupported parameter: '{}' is not supported with this model."
WORDINGS = {
    "OpenAI": OPENAI + " Use 'max_completion_tokens' instead.",
    "a value": "Unsupported value: '{}' does not support 0.8 with this model. Only the default (1) value is supported.",
    "Groq": "property '{}' is unsupported",
    "xAI": "Argument not supported on this model: {}",
    "pydantic": "[{{'type': 'extra_forbidden', 'loc': ('body', '{}'), 'msg': 'Extra inputs are not permitted'}}]",
}


def opened(server: Server, cache: Path | None = None, name: str = "openai/test", **settings):
    read = Settings(**{"logits": "verbalized", "deadline_s": 3600.0, "attempts": 1, **settings})
    return open_remote(name, read, cache, {"OPENAI_API_BASE": server.base})


def propose(model, request: ActionRequest = REQUEST):
    return model.propose(request, np.random.default_rng(1))


def told(model) -> list[str]:
    sentences: list[str] = []
    model.on_event(lambda event: sentences.append(event.message) if isinstance(event, Notice) else None)
    return sentences


@pytest.mark.parametrize(("wording", "field"), [*((one, False) for one in WORDINGS), ("OpenAI", True)])
def test_a_refused_parameter_is_left_out_and_that_is_remembered(
    server: Server, tmp_path: Path, wording: str, field: bool
):
    server.default = fake.refusing(WORDINGS[wording], "temperature", "response_format", field=field)
    model = opened(server, tmp_path)
    sentences = told(model)
    assert len(propose(model).candidates) == 3
    assert ["temperature" in r for r in server.requests] == [True, False, False]
    assert "max_tokens" in server.requests[-1]
    propose(model, dataclasses.replace(REQUEST, current_state="In another room"))
    model.close()
    (sentence,) = sentences
    assert "temperature is left out, response_format is left out" in sentence
    again = opened(server, tmp_path)
    assert told(again) == []
    server.requests.clear()
    again.propose(REQUEST, np.random.default_rng(2))
    assert len(server.requests) == 1
    again.close()


@pytest.mark.parametrize("name", ["openai/test", "azure/prod"])
def test_the_limit_of_tokens_goes_by_its_other_name(
    server: Server, name: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("AZURE_API_KEY", "0123456789abcdef")
    monkeypatch.setenv("AZURE_API_VERSION", "2024-10-21")
    if name.startswith("azure"):
        monkeypatch.setenv("AZURE_API_BASE", server.base.removesuffix("/v1"))
    server.default = fake.refusing(WORDINGS["OpenAI"], "max_tokens", "temperature")
    model = opened(server, name=name)
    assert len(propose(model).candidates) == 3
    sent = server.requests[-1]
    assert sent["max_completion_tokens"] == 4096
    assert {"max_tokens", "temperature"}.isdisjoint(sent)
    model.close()


def test_a_parameter_is_left_out_if_its_other_name_is_refused_too(server: Server):
    server.default = fake.refusing(OPENAI, "max_tokens", "max_completion_tokens")
    model = opened(server)
    assert len(propose(model).candidates) == 3
    assert {"max_tokens", "max_completion_tokens"}.isdisjoint(server.requests[-1])
    model.close()


@pytest.mark.parametrize(
    "text",
    ["max_tokens is too large: 4096. This model supports at most 1000 completion tokens, whereas you provided 4096.",
     "Invalid max_tokens value, the valid range of max_tokens is [1, 1000]",
     "max_tokens: 4096 > 1000, which is the maximum allowed number of output tokens",
     "`max_tokens` must be less than or equal to `1000`, the maximum value for `max_tokens`"],
)  # fmt: skip
def test_a_largest_value_that_the_server_names_is_used(server: Server, text: str):
    def behave(handler, body):
        return (fake.status(400, text) if body["max_tokens"] > 1000 else fake.good)(handler, body)

    server.default = behave
    model = opened(server)
    assert len(propose(model).candidates) == 3
    assert server.requests[-1]["max_tokens"] == 1000
    model.close()


def test_log_probabilities_are_left_out_together(server: Server):
    server.default = fake.refusing("deepseek-reasoner does not support {}", "top_logprobs", "logprobs")
    model = opened(server, logits="token")
    proposal = propose(model)
    assert len(proposal.candidates) == 3
    assert model.reading == "verbalized"
    assert {"logprobs", "top_logprobs"}.isdisjoint(server.requests[-1])
    model.close()


def test_what_does_not_help_is_not_remembered(server: Server, tmp_path: Path):
    server.default = fake.status(400, "temperature, max_tokens and response_format are fine, but today is Sunday")
    model = opened(server, tmp_path)
    with pytest.raises(ModelError, match="Sunday"):
        propose(model)
    assert not (tmp_path / endpoint.FILE).exists()
    server.default = fake.good
    propose(model)
    assert "temperature" in server.requests[-1]
    model.close()


def test_an_answer_ends_where_it_was_to_stop(server: Server):
    server.default = fake.refusing(OPENAI, "stop", answer=fake.reply("click(3)\n<END>and so on"))
    model = opened(server)
    reply = model.complete(Question("actions", [{"role": "user", "content": "What?"}], stops=("<END>", "\n\n")))
    assert reply.text == "click(3)\n"
    assert "stop" not in server.requests[-1]
    model.close()


def test_what_a_server_counts_is_learned_from_long_prompts():
    known = endpoint.Endpoint("m", "m", None)
    known.context = 4096
    known.counted(20, 100)
    assert known.longest(512) == 4096 - endpoint.MARGIN - 512
    known.counted(1000, 2000)
    assert known.longest(512) == (4096 - endpoint.MARGIN - 512) // 2
    assert known.request({"max_tokens": 9999}, 1000)["max_tokens"] == 4096 - 2000 - endpoint.MARGIN


@pytest.mark.parametrize("text", ["", "[]", "{", '{"m": 3}', '{"m": {"changes": [], "at": 1}}', "[" * 10**5])
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str):
    (tmp_path / endpoint.FILE).write_text(text)
    known = endpoint.Endpoint("m", "m", tmp_path)
    assert known.request({"temperature": 1.0}, 1) == {"temperature": 1.0}


# ---------------------------------------------------------------------------------------------- contexts


@pytest.mark.parametrize(
    ("pages", "context"),
    [
        ({"/v1/models": {"data": [{"id": "test", "max_model_len": 2048}]}}, 2048),
        ({"/v1/models": {"data": [{"id": "a"}, {"id": "test", "context_length": 4096}]}}, 4096),
        ({"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx_train": 8192}}]}}, 8192),
        ({"/v1/models": {"data": [{"id": "x.gguf", "meta": {"n_ctx_train": 8192}}]},
          "/props": {"default_generation_settings": {"n_ctx": 2048}}}, 2048),
        ({"/v1/models": {"data": [{"id": "a", "max_model_len": 1}, {"id": "b", "max_model_len": 2}]}}, 0),
        ({"/v1/models": {"data": [{"id": "test", "max_model_len": "many", "meta": 3}]}}, 0),
        ({"/v1/models": {"data": "no"}}, 0),
        ({}, 0),
    ],
)  # fmt: skip
def test_the_context_is_read_from_the_list_of_models(server: Server, pages, context: int):
    server.pages = pages
    assert server_models.context("test", server.base) == context


@pytest.mark.parametrize("listed", [True, False])
def test_an_answer_never_has_more_tokens_than_prompt_and_context_leave(server: Server, listed: bool):
    if listed:
        server.pages["/v1/models"]["data"][0]["max_model_len"] = 4096
    server.default = fake.narrow(4096)
    model = opened(server)
    proposal = propose(model)
    assert len(proposal.candidates) == 3
    assert len(server.requests) == (1 if listed else 2)
    sent = server.requests[-1]
    assert 512 <= sent["max_tokens"] < 4096
    assert proposal.note == ""
    long = propose(model, LONG)
    assert len(long.candidates) == 2
    assert "oldest history" in long.note
    assert len(server.requests) <= (3 if listed else 4)
    assert server.requests[-1]["max_tokens"] >= 512
    model.close()


def test_a_question_that_leaves_no_room_is_too_long(server: Server):
    server.pages["/v1/models"]["data"][0]["max_model_len"] = 2048
    model = opened(server)
    model.settle()
    with pytest.raises(TooLong, match="2,048 tokens"):
        model.complete(Question("history", [{"role": "user", "content": "word " * 2000}]))
    assert server.requests == []
    model.close()


@pytest.mark.parametrize(
    "text",
    ["request (2000 tokens) exceeds the available context size (4096 tokens), try increasing it",
     "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1000 in the messages, "
     "4000 in the completion).",
     "input length and `max_tokens` exceed context limit: 1000 + 4000 > 4096, decrease input length",
     "You passed 1000 input tokens and requested 4000 output tokens. However, the model's context length is only 4096 "
     "tokens"],
)  # fmt: skip
def test_the_context_is_read_from_errors(text: str):
    known = endpoint.Endpoint("m", "m", None)
    assert known.too_long(ValueError(text), {"max_tokens": 4000}, 500)
    assert known.context == 4096
    assert 1000 <= known.request({"max_tokens": 4000}, 500)["max_tokens"] <= 3096


# ------------------------------------------------------------------------------------------------ Ollama


def ollama(server: Server, size: int = 40_000):
    def behave(handler, body):
        if "messages" not in body:  # /api/show
            return handler.send(200, {"model_info": {"llama.context_length": size}})
        answer = {f"option{i}": a for i, a in enumerate(("wait", "go north", "open box"), 1)}
        return handler.send(200, {"model": "m", "created_at": "2026-01-01T00:00:00Z", "done": True,
                                  "message": {"role": "assistant", "content": json.dumps(answer)},
                                  "done_reason": "stop", "prompt_eval_count": 50, "eval_count": 30})  # fmt: skip

    server.default = behave
    read = Settings(logits="verbalized", attempts=1)
    return open_remote("ollama_chat/m", read, None, {"JITRL_API_BASE": server.base.removesuffix("/v1")})


def windows(server: Server) -> list[int]:
    return [r["options"]["num_ctx"] for r in server.requests if "messages" in r]


def test_ollama_gets_the_context_that_is_needed(server: Server):
    model = ollama(server)
    assert propose(model).candidates
    propose(model, LONG)
    propose(model)
    assert windows(server) == [8192, 16384, 16384]
    model.close()


def test_ollama_gets_no_larger_context_than_the_model_has(server: Server):
    model = ollama(server, 2048)
    propose(model)
    propose(model, LONG)
    assert windows(server) == [2048, 2048]
    sent = [r["options"]["num_predict"] for r in server.requests if "messages" in r]
    assert all(512 <= most < 2048 for most in sent)
    model.close()


@pytest.mark.parametrize(
    "said", ["[Errno 111] Connection refused", "Cannot connect to host", "All connection attempts failed"]
)
def test_ollama_that_does_not_run_is_recognized_whatever_library_calls_it(said: str):
    failure = explain(ConnectionError(f"Ollama_chatException - {said}"), "ollama_chat/llama3", "http://127.0.0.1:9")
    assert failure.message == "Ollama does not run at http://127.0.0.1:9; start it with: ollama serve"


def test_ollama_that_does_not_run_is_said_with_the_command(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OLLAMA_API_BASE", "http://127.0.0.1:9")
    model = open_remote("ollama_chat/llama3", Settings(logits="verbalized", attempts=1), None, {})
    with pytest.raises(Exception, match=r"Ollama does not run at http://127\.0\.0\.1:9; start it with: ollama serve"):
        propose(model)
    model.close()


def test_a_model_that_ollama_lacks_is_said_with_the_command(server: Server):
    model = ollama(server)
    server.default = lambda handler, body: handler.send(404, {"error": "model 'm' not found"})
    with pytest.raises(ModelError, match="ollama pull m"):
        propose(model)
    model.close()

"""Answers without an end are not read to it, whatever the transport."""

from __future__ import annotations

import gzip
import json
import os
import sys
import threading
from pathlib import Path

import pytest

from engine.errors import ModelError
from engine.llm.calls.client import TEXT_LIMIT
from engine.llm.language import LanguageModel
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.settings import Settings
from tests import commands
from tests.llm import server as fake
from tests.llm.server import Server

QUESTION = [{"role": "user", "content": "Summarise."}]
MB = 2**20


@pytest.fixture
def model(server: Server, tmp_path: Path):
    opened = open_remote("openai/test", Settings(), tmp_path, {"OPENAI_API_BASE": server.base})
    opened.client.limits = type(opened.client.limits)(attempts=4, first_wait_s=0.001)
    yield opened
    opened.close()


def body(text: str) -> bytes:
    message = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    return json.dumps(
        {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [message]}
    ).encode()


def endless(sent: list[int], stopped: threading.Event) -> fake.Behaviour:
    """Send without saying how much, until the client goes away."""

    def behave(handler, _):
        handler.send_response(200)
        handler.send_header("content-type", "application/json")
        handler.send_header("connection", "close")
        handler.end_headers()
        chunk = b" " * 65536
        try:
            for _ in range(16_000):  # a gigabyte
                handler.wfile.write(chunk)
                sent.append(len(chunk))
        except OSError:
            stopped.set()
        handler.close_connection = True

    return behave


def packed(text: str, how: str = "gzip") -> fake.Behaviour:
    return lambda handler, _: handler.send(200, gzip.compress(body(text)), content_encoding=how)


def say(model: LanguageModel) -> str:
    return model.complete(Question("history", QUESTION, fresh=True)).text


def test_an_answer_that_says_how_long_it_is_is_not_read_at_all(server: Server, model):
    server.default = fake.reply("x" * (5 * MB))
    with pytest.raises(
        ModelError, match="openai/test sent an answer of more than 4 MB; it was not read further"
    ):
        say(model)
    assert len(server.requests) == 2  # once more, no oftener
    server.default = fake.reply("short")
    assert say(model) == "short"


def test_an_answer_without_an_end_is_left(server: Server, model):
    sent: list[int] = []
    stopped = threading.Event()
    server.default = endless(sent, stopped)
    with pytest.raises(ModelError, match="more than 4 MB"):
        say(model)
    assert stopped.wait(60)
    assert sum(sent) < 2 * 64 * MB  # what sockets hold, not a gigabyte


def test_a_long_answer_within_the_limit_is_cut(server: Server, model):
    server.default = fake.reply("y" * (TEXT_LIMIT + 5))
    reply = model.complete(Question("history", QUESTION))
    assert len(reply.text) == TEXT_LIMIT
    assert not model.complete(Question("history", QUESTION)).call.cached  # cut off: not kept


def test_a_packed_answer_is_unpacked_to_the_limit_only(server: Server, model):
    server.default = packed("small")
    assert say(model) == "small"
    assert server.headers[-1]["accept-encoding"] == "identity"
    server.default = packed("x" * (8 * MB))
    with pytest.raises(ModelError, match="more than 4 MB"):
        say(model)
    server.default = packed("small", "br")
    with pytest.raises(ModelError, match="compressed its answer in a way that was not asked for"):
        say(model)
    server.default = lambda handler, _: handler.send(200, b"no gzip at all", content_encoding="gzip")
    with pytest.raises(ModelError, match="cannot be unpacked"):
        say(model)


def test_a_long_error_is_cut_and_keeps_its_meaning(server: Server, model):
    server.default = fake.status(401, "x " * (4 * MB))
    with pytest.raises(Exception, match="check OPENAI_API_KEY"):
        say(model)
    assert len(server.requests) == 1


def test_all_transports_are_bounded_for_calls_from_here_and_for_no_others(server: Server, model):
    import asyncio

    import httpx

    from engine.llm.calls import bounded
    from engine.llm.calls.failures import UnreadableAnswer

    server.default = fake.reply("x" * (5 * MB))
    model.gateway.prepare()

    async def read(begin: bool) -> tuple[bytes, bounded.ReadingState | None]:
        reading = bounded.begin() if begin else None
        async with httpx.AsyncClient() as client:
            return (
                await client.post(f"{server.base}/chat/completions", json={"model": "m"})
            ).content, reading

    assert len(asyncio.run(read(False))[0]) > 5 * MB
    with pytest.raises(UnreadableAnswer, match="4 MB"):
        asyncio.run(read(True))

    def blocking() -> None:
        bounded.begin()
        with httpx.Client() as client:
            client.post(f"{server.base}/chat/completions", json={"model": "m"})

    import contextvars

    with pytest.raises(UnreadableAnswer, match="4 MB"):
        contextvars.copy_context().run(blocking)
    with httpx.Client() as client:
        assert len(client.post(f"{server.base}/chat/completions", json={"model": "m"}).content) > 5 * MB


GROWTH = """
import resource, sys
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.settings import Settings

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

model = open_remote("openai/test", Settings(), None, {"OPENAI_API_BASE": sys.argv[1]})
question = [{"role": "user", "content": "x"}]
model.complete(Question("history", question))
before = peak()
for _ in range(3):
    try:
        model.complete(Question("history", question))
    except Exception as error:
        assert "more than 4 MB" in str(error) or "failed" in str(error), error
print(peak() - before)
"""


def test_twenty_megabytes_do_not_fill_the_memory(server: Server):
    one = {"token": "1", "logprob": -1.0, "bytes": None}
    tokens = {"content": [{"token": "1", "logprob": -0.1, "bytes": None, "top_logprobs": ["LISTED"]}]}
    told = {"index": 0, "message": {"role": "assistant", "content": "1"}, "logprobs": tokens}
    listed = json.dumps({"choices": [told]}).replace('"LISTED"', ", ".join([json.dumps(one)] * 400_000))
    huge = [fake.reply("x " * (10 * MB)), fake.raw(listed), fake.raw("[" * 20 * MB)]
    server.script = [fake.reply("fine"), *(behaviour for behaviour in huge for _ in range(2))]
    done = commands.run(
        [sys.executable, "-c", GROWTH, server.base], capture_output=True, text=True, timeout=120,
        env={**os.environ, "OPENAI_API_BASE": server.base},
    )  # fmt: skip
    assert done.stderr == ""
    assert int(done.stdout) < 150  # 700 before there was a limit

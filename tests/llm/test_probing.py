"""A model that nobody has measured is asked once how it can be read, and that is remembered."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from engine.errors import ModelError
from engine.llm.calls import probes
from engine.llm.model_factory import open_remote
from engine.llm.reading import capability
from engine.records import ActionRequest
from engine.settings import Settings
from tests.llm import server as fake
from tests.llm.server import Server

ONE = ActionRequest("", "", "", "In a room", ("wait",), 3)


def opened(server: Server, cache: Path | None, **settings):
    return open_remote("openai/test", Settings(**settings), cache, {"OPENAI_API_BASE": server.base})


def able(alternatives: int) -> fake.Behaviour:
    def behave(handler, body):
        if body.get("logprobs"):
            return fake.index_tokens({str(i): -float(i) for i in range(1, alternatives + 1)})(handler, body)
        return fake.reply('{"answer": "yes"}')(handler, body)

    return behave


def kept(cache: Path) -> dict:
    return json.loads((cache / probes.FILE).read_text())


@pytest.mark.parametrize(("alternatives", "reading"), [(20, "token"), (5, "token"), (4, "verbalized")])
def test_what_a_model_tells_decides_and_is_remembered(
    server: Server, tmp_path: Path, alternatives: int, reading: str
):
    server.default = able(alternatives)
    model = opened(server, tmp_path)
    assert server.requests == []
    model.settle()
    assert model.reading == reading
    assert len(server.requests) == 2
    model.settle()
    assert len(server.requests) == 2
    model.close()
    (found,) = kept(tmp_path).values()
    assert (found["logprobs"], found["schema"]) == (alternatives, True)
    again = opened(server, tmp_path)
    again.settle()
    assert again.reading == reading
    assert len(server.requests) == 2
    again.close()


def test_the_first_proposal_asks_if_nobody_did(server: Server, tmp_path: Path):
    server.default = able(3)
    model = opened(server, tmp_path)
    model.propose(ONE, np.random.default_rng(1))
    assert server.requests == []  # no model is needed for one action
    model.propose(ActionRequest("", "", "", "In a room", ("wait", "look"), 2), np.random.default_rng(1))
    assert [("logprobs" in r) for r in server.requests[:3]] == [True, False, False]
    assert model.reading == "verbalized"
    model.close()


def test_a_model_without_logprobs_is_asked_for_words(server: Server, tmp_path: Path):
    def without(handler, body):
        if "logprobs" in body:
            return fake.status(400, "logprobs is not supported for this model")(handler, body)
        return fake.reply("1")(handler, body)

    server.default = without
    model = opened(server, tmp_path)
    model.settle()
    assert model.reading == "verbalized"
    (found,) = kept(tmp_path).values()
    assert (found["logprobs"], found["schema"]) == (0, False)
    model.close()


@pytest.mark.parametrize("behaviour", [fake.status(401, "no"), fake.status(404, "no"), fake.no_choices])
def test_nothing_is_remembered_of_a_model_that_does_not_answer(server: Server, tmp_path: Path, behaviour):
    server.default = behaviour
    model = opened(server, tmp_path)
    fast = model.client.limits
    model.client.limits = type(fast)(attempts=2, first_wait_s=0.001)
    model.settle()
    assert model.reading == "verbalized"
    assert not (tmp_path / probes.FILE).exists()
    model.close()


def test_a_cancelled_probe_settles_nothing(server: Server, tmp_path: Path):
    server.script = [fake.hang]
    server.default = able(20)
    model = opened(server, tmp_path)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            model.settle()
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert server.arrived.wait(60)
    model.cancel()
    thread.join(60)
    assert [(type(e), str(e)) for e in caught] == [(ModelError, "cancelled")]
    model.resume()
    model.settle()
    assert model.reading == "token"
    model.close()


def test_nothing_is_asked_of_a_model_that_was_measured_or_whose_reading_is_set(
    server: Server, tmp_path: Path
):
    for settings in ({"logits": "token"}, {"logits": "verbalized"}):
        model = opened(server, tmp_path, **settings)
        model.settle()
        assert model.reading == settings["logits"]
        model.close()
    capability.record(
        tmp_path,
        capability.Capability("openai/test", "token", 24, 0.5, 0.9, 1.5, 4.0, 0.1, 1.0, 0, 100, 1.0),
    )
    model = opened(server, tmp_path)
    model.settle()
    assert model.reading == "token"
    assert server.requests == []
    model.close()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "null", '{"openai/test": 3}', '{"openai/test": {"logprobs": "x", "schema": 1, "at": 0}}',
     '{"openai/test": {"logprobs": 20, "schema": true, "at": NaN}}', "[" * 100_000,
     '{"openai/test": {"logprobs": 20, "schema": true, "at": 1' + "0" * 400 + "}}", "\x00\xff"],
)  # fmt: skip
def test_a_damaged_file_is_as_good_as_none(tmp_path: Path, text: str):
    (tmp_path / probes.FILE).write_bytes(text.encode("latin-1"))
    assert probes.load(tmp_path) == {}
    probes.remember(tmp_path, "m", probes.Probe(3, True, 5.0), lambda: 6.0)
    assert probes.load(tmp_path, lambda: 6.0) == {"m": probes.Probe(3, True, 5.0)}


def test_what_was_found_is_believed_for_a_month_and_of_so_many_models(tmp_path: Path):
    for i in range(probes.MOST + 20):
        probes.remember(tmp_path, f"m{i}", probes.Probe(i, False, float(i)), lambda: 1000.0)
    assert len(kept(tmp_path)) == probes.MOST
    assert "m0" not in kept(tmp_path)
    month = 30 * 86_400
    assert set(probes.load(tmp_path, lambda: month + 218.5)) == {"m219"}
    assert probes.load(tmp_path, lambda: 2.0 * month) == {}
    assert probes.load(tmp_path, lambda: 1.0) == {}  # from the future
    assert probes.load(None) == {}


def test_an_unwritable_folder_does_no_harm(server: Server, tmp_path: Path):
    server.default = able(20)
    (tmp_path / "file").write_text("")
    model = opened(server, tmp_path / "file")
    model.settle()
    assert model.reading == "token"
    model.close()

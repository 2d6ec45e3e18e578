"""The embedded model as a prior, through litellm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from engine import logits
from engine.errors import MissingError, ModelError, UsageError
from engine.llm import open_model
from engine.llm.calls.failures import CONTEXT, explain
from engine.llm.calls.gateway import Gateway
from engine.llm.model import Question
from engine.records import ActionRequest
from engine.settings import Settings
from tests.llm import server as fake

pytestmark = pytest.mark.model

ACTIONS = ("take lamp", "go north", "wait", "open mailbox")
REQUEST = ActionRequest("", "", "", "A room with a lamp and a mailbox.", ACTIONS, 2)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def model(prefixes: Path):
    opened = open_model("local/smollm2", settings=Settings(deadline_s=600.0), cache=prefixes)
    yield opened
    opened.close()


def test_candidates_are_valid_distinct_and_repeatable(model):
    first = model.propose(REQUEST, rng())
    assert first.candidates == model.propose(REQUEST, rng()).candidates
    actions = [c.action for c in first.candidates]
    assert len(set(actions)) == 2
    assert set(actions) <= set(ACTIONS)
    assert [c.z for c in first.candidates] == sorted((c.z for c in first.candidates), reverse=True)
    (call,) = first.calls
    assert "A room with a lamp" in call.prompt
    assert all(action in call.reply for action in ACTIONS)
    assert call.prompt_tokens > 10
    assert call.cost_usd == 0


def test_other_seeds_draw_other_candidates_in_proportion(model):
    z = {c.action: c.z for c in model.propose(
        ActionRequest("", "", "", REQUEST.current_state, ACTIONS, 4), rng()).candidates}  # fmt: skip
    assert sum(z.values()) == pytest.approx(0, abs=1e-9)
    drawn = {tuple(sorted(c.action for c in model.propose(REQUEST, rng(s)).candidates)) for s in range(40)}
    expected = {
        tuple(sorted(list(z)[i] for i in logits.gumbel_top_k(list(z.values()), 2, rng(s))))
        for s in range(400)
    }
    assert drawn <= expected


def test_through_litellm_the_numbers_are_the_same(engine):
    messages = [{"role": "user", "content": "A dark cave. You carry a lamp."}]
    gateway = Gateway({"shared": engine})
    direct = gateway.score(60, "local/shared", messages, "You:", ACTIONS)
    gateway.prepare()
    assert gateway.library.__name__ == "litellm"
    response = gateway.completion(
        60, model="local/shared", messages=messages, answer="You:", candidates=list(ACTIONS)
    )
    top = response.choices[0].logprobs.content[0].top_logprobs
    assert tuple(t.logprob for t in top) == direct.mean
    assert [t.token for t in top] == list(ACTIONS)
    assert response.choices[0].message.content == ACTIONS[int(np.argmax(direct.mean))]
    assert gateway.score(60, "local/shared", messages, "You:", ACTIONS) == direct
    with pytest.raises(Exception, match="takes only 4096") as caught:
        gateway.score(60, "local/shared", [{"role": "user", "content": "very " * 6000}], "", ACTIONS)
    assert explain(caught.value, "local/shared").kind == CONTEXT
    text = gateway.completion(60, model="local/shared", messages=messages, max_tokens=5)
    assert text.choices[0].message.content == engine.write(messages, max_tokens=5).text
    assert text.usage.completion_tokens == 5
    gateway.close()
    engine.go()  # closing a gateway stops its engines; this one is shared


def test_a_local_model_can_be_read_by_index_tokens(prefixes: Path):
    opened = open_model("local/smollm2", settings=Settings(logits="token", threads=1), cache=prefixes, keep=False)
    proposal = opened.propose(ActionRequest("", "", "", "A lamp.", ACTIONS, 4), rng())
    assert opened.reading == "token"
    assert {c.action for c in proposal.candidates} == set(ACTIONS)
    assert all(c.logprob is not None and c.logprob < 0 for c in proposal.candidates)
    assert proposal.calls[0].completion_tokens == 1
    opened.close()


def test_a_state_seen_again_costs_nothing_also_in_another_process(tmp_path: Path, prefixes: Path, model):
    for kept in prefixes.glob("*/"):
        shutil.copytree(kept, tmp_path / kept.name, copy_function=os.link)
    usages = []
    for _ in range(2):
        opened = open_model("local/smollm2", settings=Settings(), cache=tmp_path)
        proposal = opened.propose(REQUEST, rng())
        usages.append((opened.usage.tokens, opened.usage.cached, proposal.candidates))
        opened.close()
    assert usages[0][0] > 0
    assert usages[1][:2] == (0, 1)
    assert usages[0][2] == usages[1][2]


def test_cancel_ends_a_running_proposal_for_good(model, monkeypatch):
    request = ActionRequest("", "", "", "very " * 2500, ACTIONS, 2)
    caught: list[BaseException] = []
    runtime = model._engine.runtime
    begun, decode, began = [], runtime._decode, threading.Event()

    def noted(rows, check):
        begun.append(len(rows))
        began.set()
        return decode(rows, check)

    monkeypatch.setattr(runtime, "_decode", noted)

    def run() -> None:
        try:
            model.propose(request, rng())
        except ModelError as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    assert began.wait(60)
    model.cancel()
    thread.join(60)
    assert not thread.is_alive()
    assert [(str(e), e.fatal) for e in caught] == [("cancelled", True)]
    model.resume()
    begun.clear()
    assert model.propose(ActionRequest("", "", "", "A hall that nobody asked about.", ACTIONS, 2), rng()).candidates
    assert sum(begun) < 1000, "what was cancelled is computed after all"


def test_two_models_of_one_name_do_not_disturb_each_other(model, prefixes: Path):
    other = open_model("local/smollm2", settings=Settings(), cache=prefixes, keep=False)
    other.gateway.prepare()
    expected = other.propose(REQUEST, rng()).candidates
    other.close()
    model.gateway.prepare()
    fresh = ActionRequest("", "", "", REQUEST.current_state + " ", ACTIONS, 2)
    assert len(model.propose(fresh, rng()).candidates) == 2
    assert model.propose(REQUEST, rng()).candidates == expected


def test_complete_writes_words(model, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model, "_reply_tokens", 4 * 8)
    reply = model.complete(Question("history", [{"role": "user", "content": "Say hello."}]))
    assert reply.text.strip()
    assert 0 < reply.call.completion_tokens <= 8


def test_names_that_cannot_be_opened(tmp_path: Path):
    with pytest.raises(UsageError, match="choose one of: local/smollm2"):
        open_model("local/nothing", settings=Settings(), cache=None)
    with pytest.raises(MissingError, match="is not there"):
        open_model(f"local:{tmp_path}/x.gguf", settings=Settings(), cache=None)
    with pytest.raises(UsageError, match="there is no prior"):
        open_model("prior/nothing", settings=Settings(), cache=None)


def test_a_path_opens_any_file(weights_file: Path, prefixes: Path):
    opened = open_model(f"local:{weights_file}", settings=Settings(), cache=prefixes, keep=False)
    assert opened.propose(REQUEST, rng()).candidates
    opened.close()
    opened.close()
    with pytest.raises(ModelError):
        opened.propose(REQUEST, rng())


def test_uniform_prior_needs_nothing():
    opened = open_model("prior/uniform", settings=Settings(), cache=None)
    proposal = opened.propose(REQUEST, rng())
    assert [c.z for c in proposal.candidates] == [0.0, 0.0]
    assert opened.usage.calls == 0
    with pytest.raises(ModelError, match="no language model"):
        opened.complete(Question("rewards", []))
    opened.close()


@pytest.mark.parametrize("text", ["broken inside", "a" * 3000])
def test_an_engine_that_breaks_is_one_line_without_a_traceback(
    engine, monkeypatch: pytest.MonkeyPatch, text: str
):
    def fail(*args, **kwargs):
        raise ValueError(text)

    gateway = Gateway({"breaks": engine})
    gateway.prepare()
    monkeypatch.setattr(engine, "score", fail)
    with pytest.raises(Exception, match=text[:5]) as caught:
        gateway.score(60, "local/breaks", [{"role": "user", "content": "x"}], "", ACTIONS)
    said = explain(caught.value, "local/breaks").message
    assert text[:20] in said
    assert "Traceback" not in said
    assert "\n" not in said
    assert len(said) < 300
    gateway.close()
    engine.go()


ALONE = """
import sys, threading
reached = []
def watch(event, arguments):
    if event in ("socket.connect", "socket.getaddrinfo"):
        host = arguments[0] if event == "socket.getaddrinfo" else arguments[1]
        host = host[0] if isinstance(host, tuple) else host
        if str(host) not in ("127.0.0.1", "::1", "localhost", "None"):
            reached.append((event, str(host)))
sys.addaudithook(watch)
import pathlib
import numpy as np
from engine.llm import open_model
from engine.errors import ModelError
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.records import ActionRequest
from engine.settings import Settings
request, other = (ActionRequest("", "", "", text, ("a", "b", "c"), 2) for text in ("A room.", "A hall."))
assert not {"litellm", "xllamacpp", "numpy.ma"} & set(sys.modules)
local = open_model("local/smollm2", settings=Settings(), cache=pathlib.Path(sys.argv[2]), keep=False)
local.propose(request, np.random.default_rng(1))
assert not {"llm", "litellm"} & set(sys.modules)  # scores need neither, now and later
assert not [t for t in threading.enumerate() if t.name == "litellm"]
local.gateway.prepare()
local.propose(other, np.random.default_rng(1))
local.close()
for settings in (Settings(), Settings(logits="verbalized")):
    remote = open_remote("openai/test", settings, None, {"OPENAI_API_BASE": sys.argv[1]})
    assert remote.propose(request, np.random.default_rng(1)).candidates
    remote.close()
remote = open_remote("openai/test", Settings(), None, {"OPENAI_API_BASE": sys.argv[1] + "/404"})
try:
    remote.complete(Question("history", [{"role": "user", "content": "x"}]))
except ModelError:
    print("refused")
print(reached)
"""


def test_nobody_but_the_server_is_called_and_nothing_is_printed(server, prefixes: Path):
    server.default = lambda handler, body: (fake.status(404) if "/404" in handler.path else fake.good)(handler, body)
    done = subprocess.run(
        [sys.executable, "-c", ALONE, server.base, str(prefixes)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "refused\n[]\n", "")

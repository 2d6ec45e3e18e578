"""How long a call is tried again: a busy server for minutes, everything else a few times."""

from __future__ import annotations

import dataclasses
import math
import random
import re
import threading
import time
from email.utils import formatdate

import pytest

from engine.errors import ModelError
from engine.llm.calls import failures
from engine.llm.calls.client_factory import open_client
from engine.llm.calls.failures import BUSY, RATE, Failure, explain
from engine.llm.calls.patience import CallLimits, Patience
from engine.llm.language import LanguageModel
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.records import Waiting
from engine.settings import Settings
from tests.llm import server as bad
from tests.llm.server import Server

QUESTION = [{"role": "user", "content": "Summarise."}]


def opened(server: Server, *, limits: dict[str, float] | None = None, **settings) -> LanguageModel:
    model = open_remote("openai/test", Settings(**settings), None, {"OPENAI_API_BASE": server.base})
    changes = {"first_wait_s": 0.005, "longest_wait_s": 0.02, "attempts": 2, **(limits or {})}
    model.client.limits = dataclasses.replace(model.client.limits, **changes)
    return model


# ------------------------------------------------------------------------------------ the rule alone


def patience(clock: list[float], **limits) -> Patience:
    return Patience(CallLimits(**limits), random.Random(1), lambda: clock[0])


RATED = Failure(RATE, "m takes no more calls for now (rate limit); wait a minute, then go on", retry=True)


def test_pauses_grow_to_a_minute_and_end_with_the_patience():
    now = [0.0]
    rule = patience(now, patience_s=600.0, attempts=4)
    pauses = []
    while (pause := rule.after(RATED)) is not None:
        pauses.append(pause)
        now[0] += pause
    assert now[0] == pytest.approx(600.0)
    assert 0.5 <= pauses[0] <= 1.5
    assert 1.0 <= pauses[1] <= 3.0
    assert all(30.0 <= p <= 60.0 for p in pauses[7:-1])
    assert max(pauses) <= 60.0
    told = rule.with_attempts(RATED).message
    assert told.endswith(f"it was tried {len(pauses) + 1} times in 10 minutes; wait a minute, then go on")


def test_what_the_server_asks_for_is_bounded_by_the_patience():
    rule = patience([0.0], patience_s=600.0)
    assert rule.after(dataclasses.replace(RATED, wait=200.0)) == 200.0
    short = patience([0.0], patience_s=30.0)
    assert short.after(dataclasses.replace(RATED, wait=300.0)) == 30.0
    # A server that says "now" is not asked a thousand times a second.
    assert rule.after(dataclasses.replace(RATED, wait=0.0)) >= 0.5


def test_other_failures_are_tried_as_often_as_always_whatever_the_patience():
    rule = patience([0.0], patience_s=600.0, attempts=3)
    broken = Failure("server", "m failed", retry=True)
    assert [rule.after(broken) is None for _ in range(3)] == [False, False, True]
    mixed = patience([0.0], patience_s=600.0, attempts=2)
    kinds = [RATED, broken, RATED, RATED, broken]
    assert [mixed.after(kind) is None for kind in kinds] == [False] * 4 + [True]
    once = patience([0.0], patience_s=600.0, attempts=4)
    long = Failure(failures.CONTENT, "too long", retry=True, attempts=2)
    assert [once.after(long) is None for _ in range(2)] == [False, True]


def test_without_patience_a_busy_server_is_asked_a_few_times():
    rule = patience([0.0], attempts=3)
    assert [rule.after(RATED) is None for _ in range(3)] == [False, False, True]


class Refused(Exception):
    status_code = 429

    def __init__(self, text: str, after: str | None = None) -> None:
        super().__init__(text)
        self.litellm_response_headers = {} if after is None else {"retry-after": after}


@pytest.mark.parametrize(
    ("after", "wait"),
    [("7", 7.0), ("0.5", 0.5), ("3600", 300.0), ("1e308", None), ("1e999", None), ("inf", None), ("-5", None),
     ("nan", None), ("soon", None), ("", None), (None, None), ("Mon, 99 Foo 2020 00:00:00 GMT", None),
     ("9" * 400, None), ("-0", 0.0), ("86401", None), ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
     ("Fri, 31 Dec 9999 23:59:59 -2359", None)],
)  # fmt: skip
def test_any_retry_after_can_be_read(after, wait):
    found = explain(Refused("slow down", after), "m").wait
    assert found == wait or (found is None and wait is None)


def test_a_retry_after_may_be_a_date():
    found = explain(Refused("slow down", formatdate(time.time() + 60, usegmt=True)), "m").wait
    assert found == pytest.approx(60, abs=2.5)


def test_a_date_in_retry_after_is_compared_with_that_of_the_server():
    error = Refused("slow down", formatdate(100_007, usegmt=True))
    error.litellm_response_headers["date"] = formatdate(100_000, usegmt=True)
    assert explain(error, "m").wait == 7.0


def test_what_passes_is_told_from_what_does_not():
    def failure(text: str, status: int = 429) -> Failure:
        error = Refused(text)
        error.status_code = status
        return explain(error, "gemini/x")

    assert (
        failure("You exceeded your current quota, please check your plan and billing details").kind == "quota"
    )
    google = (
        "You exceeded your current quota, please check your plan and billing details. Please retry in 33.5s."
    )
    assert (failure(google).kind, failure(google).wait) == (RATE, 33.5)
    listed = 'You exceeded your current quota. "quotaId": "PerMinute", "retryDelay": "12s"'
    assert (failure(listed).kind, failure(listed).wait) == (RATE, 12.0)
    daily = 'You exceeded your current quota. "quotaId": "RequestsPerDay", "retryDelay": "12s"'
    assert failure(daily).kind == "quota"
    assert failure("upstream connect error: connection refused", 503).kind == BUSY
    assert failure("Overloaded", 529).kind == BUSY
    assert failure("oh no", 500).kind == "server"


# ------------------------------------------------------------------------------------ a real server


@pytest.mark.parametrize(
    "refusal",
    [bad.status(429, "slow down"), bad.status(429, "slow down", retry_after="0.01"),
     bad.status(429, "slow down", retry_after="1e308"), bad.status(429, "slow down", retry_after="-1"),
     bad.status(429, "slow down", retry_after="nan"), bad.status(503, "overloaded"),
     bad.status(503, "overloaded", retry_after="Wed, 21 Oct 2015 07:28:00 GMT")],
)  # fmt: skip
def test_a_busy_server_is_asked_until_it_answers(server: Server, refusal):
    server.script = [refusal] * 3
    server.default = bad.reply("done")
    # The patience bounds what 1e308 asks for; two tries come on top of the first pause.
    model = opened(server, limits={"patience_s": 0.4, "attempts": 5})
    reply = model.complete(Question("history", QUESTION))
    assert reply.text == "done"
    assert reply.call.retries == model.usage.retries == 3
    assert len(server.requests) == 4
    model.close()


@pytest.mark.parametrize("after", ["1e308", "-7", "inf", "nan", "86401", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_pause_that_makes_no_sense_is_not_made(server: Server, after: str):
    server.script = [bad.status(429, "slow down", retry_after=after)]
    server.default = bad.reply("done")
    model = opened(server, limits={"patience_s": 600.0})
    model.gateway.prepare()
    started = time.monotonic()
    assert model.complete(Question("history", QUESTION)).text == "done"
    assert time.monotonic() - started < 60
    model.close()


@pytest.mark.parametrize(("code", "text"), [(429, "rate limit"), (503, "is overloaded")])
def test_the_patience_ends_and_says_how_long_it_was(server: Server, code: int, text: str):
    server.default = bad.status(code, "no")
    model = opened(server, limits={"patience_s": 1.5, "first_wait_s": 0.1, "longest_wait_s": 0.3})
    model.gateway.prepare()
    started = time.monotonic()
    with pytest.raises(ModelError, match=rf"{text}.*it was tried \d+ times in \d+ s; wait a minute") as caught:
        model.complete(Question("history", QUESTION))
    took = time.monotonic() - started
    assert 0.5 < took < 60
    assert 1 <= int(re.search(r"in (\d+) s", str(caught.value))[1]) <= took + 1
    assert caught.value.fatal
    assert len(server.requests) > 2  # so many tries are made of another fault
    assert model.usage.retries == len(server.requests) - 1
    model.close()


def test_an_exhausted_quota_is_not_waited_for(server: Server):
    server.default = bad.status(429, "You exceeded your current quota", "insufficient_quota")
    model = opened(server, limits={"patience_s": 60.0})
    with pytest.raises(ModelError, match="no quota left"):
        model.complete(Question("history", QUESTION))
    assert len(server.requests) == 1
    model.close()


def test_a_pause_is_told_once_a_second_and_ends_when_cancelled(server: Server):
    server.default = bad.status(429, "slow down", retry_after="1200")
    model = opened(server, limits={"patience_s": 200.0})
    told: list[Waiting] = []
    at: list[float] = []
    twice = threading.Event()

    def note(waiting: Waiting) -> None:
        told.append(waiting)
        at.append(time.monotonic())
        if len(told) == 2:
            twice.set()

    model.on_event(note)
    caught: list[BaseException] = []

    def run() -> None:
        try:
            model.complete(Question("history", QUESTION))
        except BaseException as error:
            caught.append(error)

    thread = threading.Thread(target=run)
    began = time.monotonic()
    thread.start()
    assert twice.wait(60)
    model.cancel()
    thread.join(60)
    assert [str(e) for e in caught] == ["cancelled"]
    assert [w.reason for w in told] == ["rate limit"] * 2
    assert 140 < told[0].seconds <= 200  # no longer than the patience
    passed = told[0].seconds - told[1].seconds
    assert 0.9 < passed < at[1] - began
    assert told[0].left_s - told[1].left_s == pytest.approx(passed, rel=0.1)
    assert len(server.requests) == 1
    model.close()


def test_a_held_slot_is_told_too(server: Server):
    server.default = bad.reply("done")
    model = opened(server)
    told: list[Waiting] = []

    def note(waiting: Waiting) -> None:
        told.append(waiting)
        model.cancel()

    model.on_event(note)
    model.client._pace.hold("openai/test", 600.0)
    with pytest.raises(ModelError, match="cancelled"):
        model.complete(Question("history", QUESTION))
    assert [w.reason for w in told] == ["pace of calls"]
    model.close()


def test_who_only_looks_has_no_patience(server: Server):
    server.default = bad.status(429, "slow down", retry_after="100")
    from engine.llm.calls import inquiry

    client, close = open_client("openai/test", Settings(), {"OPENAI_API_BASE": server.base}, attempts=1)
    assert "rate limit" in inquiry.reach(client, 100).trouble
    assert len(server.requests) == 1
    close()


# ---------------------------------------------------------------------------------------- deadlines


class Clock:
    """Stands for the module `time` where deadlines are kept: as much more time has passed as a test says."""

    passed = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.passed


def test_calls_of_one_decision_share_its_deadline(server: Server, monkeypatch: pytest.MonkeyPatch):
    clock, most = Clock(), 600.0
    monkeypatch.setattr("engine.llm.calls.patience.time", clock)
    model = opened(server, deadline_s=most)
    client = model.client
    server.script = [bad.reply("one"), bad.hang]
    assert client.until == math.inf
    started = clock.monotonic()
    with client.decision() as until:
        assert started + most <= client.until == until <= clock.monotonic() + most
        with client.decision() as inner:
            assert inner == until
        assert model.complete(Question("history", QUESTION)).text == "one"
        clock.passed = client.until - time.monotonic() - 1.0  # so little is left for the next call
        with pytest.raises(ModelError, match="did not answer in time"):
            model.complete(Question("history", QUESTION))
        # Nothing is left: a further call is not even begun.
        asked = len(server.requests)
        with pytest.raises(ModelError, match="did not answer in time"):
            model.complete(Question("history", QUESTION))
    assert len(server.requests) == asked <= 2
    assert client.until == math.inf
    server.default = bad.reply("two")
    assert model.complete(Question("history", QUESTION))  # another decision, another deadline
    model.close()


def test_pauses_do_not_count(server: Server):
    model = opened(server, limits={"patience_s": 2.0, "attempts": 1}, deadline_s=600.0)
    told: list[Waiting] = []
    model.on_event(told.append)
    server.script = [bad.status(429, "slow down", retry_after="100")]
    server.default = bad.reply("done")
    with model.client.decision() as until:
        assert model.complete(Question("history", QUESTION)).text == "done"
        assert model.client.until > until + told[0].seconds > until
    model.close()


def test_each_thread_has_its_own_deadline(server: Server):
    model = opened(server)
    seen: list[float] = []
    with model.client.decision():
        thread = threading.Thread(target=lambda: seen.append(model.client.until))
        thread.start()
        thread.join()
    assert seen == [math.inf]
    model.close()

"""What is written can be read back, and what is refused is refused with a sentence: recordings and their records."""

from __future__ import annotations

import dataclasses
import json
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engine import limits
from engine.codec import event_from_line, event_to_line, from_plain, to_plain
from engine.errors import BadFile, JitrlError
from engine.records import (
    EVENTS,
    Candidate,
    Decided,
    Decision,
    EnvironmentInfo,
    Observation,
    SessionStarted,
    State,
    Stepped,
    UnknownPart,
)
from engine.session import recording, store
from engine.settings import SessionConfig
from jitrl_tui.runs.history import scores_of
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.source import Inbox
from tests.examples import most
from tests.hostile import DEEP, JSON, NUMBERS, TEXTS, check_sentence, nested, records, spoiled, values

START = SessionStarted("s", EnvironmentInfo("g", "G", "game/g"), "jitrl", "m", 1, "default", 1, 60, {"beta": 1.0})
STEP = Stepped(1, 0, "wait", Observation("Time passes.", score=5.0), 5.0)
DECIDED = Decided(1, Decision(0, State("s", ("a",)), ("go",), (Candidate("go", 0.5),), (1.0,), (1.0,), 0, "go"))
FLOATS = [number for number in NUMBERS if isinstance(number, float)]
SLOW = settings(max_examples=most(150), deadline=None, suppress_health_check=list(HealthCheck))


@SLOW
@given(st.sampled_from(list(EVENTS.values())).flatmap(records), st.sampled_from([1e9, *FLOATS]))
def test_an_event_is_refused_or_comes_back_equal(event, at):
    try:
        line = event_to_line(event, at)
    except BadFile as error:
        check_sentence(error)
        return
    found_at, found = event_from_line(line.encode())
    assert (found_at, found) == (round(at, 3), event)




@SLOW
@given(st.sampled_from(list(EVENTS)), values(), st.lists(st.integers(0, 50), max_size=4))
def test_any_value_in_any_place_is_read_or_refused(name, value, path):
    events = {"SessionStarted": START, "Stepped": STEP, "Decided": DECIDED}
    line = event_to_line(events.get(name, STEP), 1.0).encode()
    content = spoiled(line, path, json.dumps(value).encode())
    try:
        at, event = event_from_line(content)
    except BadFile as error:
        check_sentence(error)
        return
    if event is not None:
        assert event_from_line(event_to_line(event, at)) == (at, event)


@pytest.mark.parametrize("content", JSON, ids=lambda raw: ascii(raw[:12]))
@pytest.mark.parametrize("where", ["line", "value", "settings", "time"])
def test_hostile_json_is_refused_or_read(content, where):
    line = {
        "line": content,
        "value": b'{"event":"Notice","at":1,"level":"info","message":' + content + b"}",
        "settings": event_to_line(START, 1).encode().replace(b"1.0", content),
        "time": b'{"event":"Resumed","at":' + content + b"}",
    }[where]
    try:
        at, event = event_from_line(line)
    except BadFile as error:
        check_sentence(error)
    else:
        assert event_from_line(event_to_line(event, at)) == (at, event)


@SLOW
@given(st.binary(max_size=200) | st.lists(st.sampled_from(JSON), max_size=6).map(b"".join), st.integers(0, 3),
       st.integers(0, 600), st.integers(0, 7))  # fmt: skip
def test_any_bytes_give_a_recording_or_a_sentence(tmp_path_factory, content, how, place, bit):
    path = tmp_path_factory.getbasetemp() / "hostile.jsonl"
    whole = b"".join(event_to_line(event, 1).encode() + b"\n" for event in (START, DECIDED, STEP))
    place %= len(whole)
    flipped = whole[:place] + bytes([whole[place] ^ 1 << bit]) + whole[place + 1 :]
    path.write_bytes([content, whole[:place] + content + whole[place:], whole + content + b"\n", flipped][how])
    try:
        events = [event for _, event in recording.read(path)]
    except JitrlError as error:
        check_sentence(error)
    else:
        assert not events or isinstance(events[0], SessionStarted)
    scores_of(path)


def test_a_replay_of_a_damaged_recording_ends_with_a_sentence(tmp_path):
    path = tmp_path / "events.jsonl"
    for content in (*JSON, b'{"event":["x"]}', b'{"event":"Resumed","at":' + b"9" * 400 + b"}"):
        path.write_bytes(event_to_line(START, 1).encode() + b"\n" + content.replace(b"\n", b" ") + b"\n")
        source = ReplaySource(lambda: recording.read(path))
        source.start(Inbox(lambda: None))
        assert source.wait(60)
        assert source.failure.startswith(str(path)), content[:20]


@pytest.mark.parametrize("size", ["prior", "posterior", "chosen"])
def test_a_decision_whose_numbers_do_not_fit_its_candidates_is_refused(size):
    plain = to_plain(DECIDED.decision)
    plain[size] = 7 if size == "chosen" else [0.5, 0.5]
    with pytest.raises(BadFile, match="candidates"):
        from_plain(Decision, plain)


def test_a_line_without_an_end_is_not_read_into_memory(tmp_path):
    path = tmp_path / "events.jsonl"
    path.write_bytes(event_to_line(START, 1).encode() + b"\n")
    with path.open("r+b") as file:
        file.truncate(2 << 30)  # a hole of 2 GB: no newline in it
    tracemalloc.start()
    began = time.monotonic()
    try:
        with pytest.raises(BadFile, match="longer than 64 MB"):
            list(recording.read(path))
        assert tracemalloc.get_traced_memory()[1] < 300e6
    finally:
        tracemalloc.stop()
    assert time.monotonic() - began < 60


def test_what_lies_too_deep_is_neither_written_nor_read():
    for depth in (limits.DEPTH - 1, limits.DEPTH + 1):
        decision = Decision(
            0, State("s", ()), (), (), (), (), -1, "go", parts=(UnknownPart("Dream", {"x": nested(depth)}),)
        )
        plain = to_plain(dataclasses.replace(decision, parts=()))
        plain["parts"] = [{"part": "Dream", "x": nested(depth)}]
        line = json.dumps({"event": "Decided", "at": 1, "episode": 1, "decision": plain})
        if depth < limits.DEPTH:
            assert event_from_line(event_to_line(Decided(1, decision), 1)) == event_from_line(line)
            continue
        with pytest.raises(BadFile, match="too deep"):
            event_to_line(Decided(1, decision), 1)
        with pytest.raises(BadFile, match="too deep"):
            event_from_line(line)


def test_the_limits_of_single_values():
    assert [limits.is_number(n) for n in (1e150, -1e150, 10**150, 1.1e150, 10**400, float("nan"), True, "1")] == [
        True, True, False, False, False, False, False, False,
    ]  # fmt: skip  # 10**150 is a little more than the float
    assert all(map(limits.is_whole, ((1 << 63) - 1, -(1 << 63))))
    assert not any(map(limits.is_whole, (1 << 63, -(1 << 63) - 1, True, 1.0)))
    assert [limits.is_text(text) for text in ("\ud800", "é", "x" * (limits.LONGEST_TEXT + 1))] == [False, True, False]
    assert all(len(limits.short_text(value)) < 200 for value in (*NUMBERS, *TEXTS, *DEEP, None, b"x", 10**5000))
    with pytest.raises(BadFile, match="more than 20 digits"):
        event_to_line(Stepped(10**5000, 0, "wait", Observation("x"), 0.0), 1)  # more than Python turns into digits


def test_a_session_whose_configuration_is_hostile_is_refused_with_a_sentence(tmp_path):
    saved = store.create(tmp_path, SessionConfig("pantry"), "run")
    whole = (saved.folder / "session.json").read_bytes()
    assert store.load(saved.folder).config == saved.config
    for path in ([n, m] for n in range(3) for m in range(9)):
        for value in (*JSON, b"0", b"-5", b"1e9"):
            (saved.folder / "session.json").write_bytes(spoiled(whole, path, value))
            try:
                store.load(saved.folder)
            except BadFile as error:
                check_sentence(error)
            list(store.saved_sessions(tmp_path))


def test_recordings_of_earlier_versions_are_within_the_limits():
    for path in sorted((Path(__file__).parent / "recordings").glob("*.jsonl")):
        assert all(event_from_line(event_to_line(event, at)) == (at, event) for at, event in recording.read(path))

"""Whole sessions with a server that misbehaves: play goes on or says what to do, and memory stays clean."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import pytest

from engine.errors import MissingError, ModelError
from engine.llm.calls.client import CallLimits
from engine.memory import Memory
from engine.records import Decided, EpisodeEnded, Notice, Paused, Stepped
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from tests.llm import server as bad
from tests.llm.scripted import player
from tests.llm.server import Server
from tests.playing import only

GARBAGE = {
    "empty": bad.reply(""),
    "none": bad.reply(None),
    "prose": bad.reply("I would rather talk about the weather."),
    "no action": bad.reply('{"option1": "fly to the moon", "confidence1": 99}'),
    "markup": bad.reply('{"option1": "[red]\x1b[31mnorth\x07", "confidence1": "NaN"}'),
    "cut": bad.reply('{"option1": "nor', finish="length"),
    "refusal": bad.reply(None, message={"refusal": "I can't help with that."}),
    "filter": bad.reply("", finish="content_filter"),
    "no choices": bad.no_choices,
    "policy": bad.status(400, "filtered by content management policy", "content_filter"),
    "too long": bad.status(400, "maximum context length is 5 tokens", "context_length_exceeded"),
    "wrong list": bad.reply('{"options": [null, 7, {"action": ["a"]}, {"confidence": 3}]}'),
}


@pytest.fixture
def quick(server: Server, monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that sessions call, with no waits between tries."""
    monkeypatch.setenv("JITRL_API_BASE", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-123")
    monkeypatch.setattr(
        "engine.llm.model_factory.limits_of",
        lambda settings: CallLimits(settings.deadline_s, attempts=2, first_wait_s=0.001),
    )
    return server


def play(saves: Path, *, on_event=None, interactive=False, **changes):
    settings = Settings(**{"step_limit": 26, "deadline_s": 30.0, "logits": "verbalized", **changes})
    config = SessionConfig(game="pantry", model="openai/test", episodes=1, settings=settings)
    events = []

    def emit(event) -> None:
        events.append(event)
        if on_event is not None:
            on_event(session, event)

    session = Session(sessions.create(saves, config, "run"), saves, emit, interactive=interactive)
    session.run()
    return session, events


def remembered(saves: Path):
    with Memory(saves / "memory") as memory:
        return [episode for name in memory.scopes() for episode in memory.scope(name).episodes()]


def test_whatever_the_model_writes_play_goes_on_and_memory_stays_clean(quick: Server, tmp_path: Path):
    # One kind of garbage a state, the same when it is asked once more, now and then something good.
    kinds = itertools.cycle([*GARBAGE.values(), bad.good])
    by_prompt: dict[str, bad.Behaviour] = {}

    def misbehave(handler, body):
        if "step_analysis" in body["messages"][0]["content"]:
            if "rusty key" in body["messages"][1]["content"]:  # the writing test
                return player(handler, body)
            rows = (
                '[{"step": 0, "action": "fly", "score": 9}, {"step": 1, "score": 1e99}, 5, {"step": 2, "sco'
            )
            return bad.reply('{"step_analysis": ' + rows, finish="length")(handler, body)
        prompt = body["messages"][1]["content"]
        return by_prompt.setdefault(prompt, next(kinds))(handler, body)

    quick.default = misbehave
    session, events = play(tmp_path, rewards="llm")
    assert session.error is None
    decisions = [e.decision for e in only(events, Decided)]
    assert len(decisions) == len(only(events, Stepped)) > 20
    assert len(by_prompt) >= len(GARBAGE)
    for decision in decisions:
        assert decision.action in decision.valid_actions
        assert all(map(math.isfinite, decision.update.z_prime))
    said = [d.note for d in decisions if d.note]
    assert any("no usable option" in note for note in said)
    assert all("memory decided" in note or "drew from the valid actions" in note
               for d, note in zip(decisions, [d.note for d in decisions], strict=True)
               if not any(c.confidence is not None for c in d.candidates))  # fmt: skip
    assert any("judged every step by the game's score" in n.message for n in only(events, Notice))
    (episode,) = remembered(tmp_path)
    for step, decision in zip(episode.steps, decisions, strict=True):
        assert step.action == decision.action
        assert abs(step.reward) <= 20
        assert step.state.text == decision.state.text
    raw = b"".join(
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and "cache" not in path.parts
    )
    for garbage in (b"\x1b[31m", b"\x07", b"no-key-at-all-123"):
        assert garbage not in raw


@pytest.mark.parametrize(
    ("behaviour", "kind", "text", "code"),
    [
        (bad.status(401, "no"), MissingError, "check OPENAI_API_KEY", 3),
        (bad.status(503), ModelError, "overloaded", 1),
        (bad.drop, MissingError, "cannot reach", 3),
    ],
)
def test_what_a_person_must_mend_ends_a_run_with_what_to_do(
    quick: Server, tmp_path: Path, behaviour, kind, text, code
):
    quick.default = behaviour
    session, events = play(tmp_path)
    assert isinstance(session.error, kind)
    assert session.error.exit_code == code
    assert text in str(session.error)
    assert only(events, Stepped) == []
    assert remembered(tmp_path) == []


def test_errors_inside_the_server_end_a_run_at_the_second_one(quick: Server, tmp_path: Path):
    quick.default = bad.status(500)
    session, events = play(tmp_path)
    assert isinstance(session.error, ModelError)
    assert len(only(events, Stepped)) == 1
    assert remembered(tmp_path) == []


def test_with_a_person_there_the_session_pauses_says_what_to_do_and_goes_on(quick: Server, tmp_path: Path):
    quick.default = bad.status(401, "no such key: no-key-at-all-123")
    paused: list[str] = []

    def mend(session: Session, event) -> None:
        if isinstance(event, Paused) and event.reason:
            paused.append(event.reason)
            if len(paused) > 2:
                session.control.stop()
            quick.default = bad.good
            session.control.resume()

    session, events = play(tmp_path, on_event=mend, interactive=True, step_limit=5)
    assert session.error is None
    assert len(paused) == 1
    assert "check OPENAI_API_KEY" in paused[0]
    assert len(only(events, Stepped)) == 5
    assert len(only(events, EpisodeEnded)) == 1
    assert len(remembered(tmp_path)) == 1


def test_who_leaves_while_a_call_hangs_is_let_go_at_once(quick: Server, tmp_path: Path):
    import threading

    quick.default = bad.hang
    started: list[Session] = []
    ready = threading.Event()

    def note(session: Session, event) -> None:
        started.append(session)
        ready.set()

    done: list[object] = []
    thread = threading.Thread(target=lambda: done.append(play(tmp_path, on_event=note)))
    thread.start()
    assert ready.wait(60)
    assert quick.arrived.wait(60)
    started[0].control.stop()
    thread.join(60)
    assert not thread.is_alive()
    assert quick.gone.wait(60)
    session, _ = done[0]
    assert session.error is None
    assert remembered(tmp_path) == []

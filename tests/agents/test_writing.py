"""An agent asks the model to write before, during and after an episode: every call is on that episode's account."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

from engine.agents import Method
from engine.agents.static import Recalled, StaticAgent
from engine.errors import ModelError, StorageError
from engine.llm.calls.client import CallLimits
from engine.llm.model import Question
from engine.memory import Memory
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    Kept,
    ModelCalled,
    Notice,
    Paused,
    Stepped,
    TakenBack,
)
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from tests.agents.context import registered
from tests.llm import server as fake
from tests.llm.scripted import Scripted, text_of
from tests.llm.server import Server
from tests.playing import only, run, taking_back

PRICE = 120  # tokens that the server counts for each call


class Writer(StaticAgent):
    """Writes a plan when an episode begins, a thought before each decision, a lesson at the end."""

    def __init__(self, context):
        super().__init__(context.model, context.settings, name="writer")
        self._context, self._episode = context, 0

    def _ask(self, purpose: str, about: str) -> str:
        return self._context.write(Question(purpose, [{"role": "user", "content": f"Your {purpose}: {about}"}])).text

    def begin_episode(self, state):
        self._ask("plan", state.text)

    def recall(self, turn):
        return Recalled(self._ask("thought", f"{turn.episode} {turn.step} {turn.state.text}"))

    def end_episode(self, episode, first):
        self._context.kept.add("lesson", self._ask("lesson", episode.uid))


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    registered(monkeypatch, Method("writer", "writes", Writer))
    monkeypatch.setattr(
        "engine.llm.model_factory.limits_of",
        lambda settings: CallLimits(settings.deadline_s, attempts=1, first_wait_s=0.001),
    )
    running = Server()
    running.default = Scripted([{"if": "Your (plan|thought|lesson): ", "reply": "Look around."}])
    monkeypatch.setenv("OPENAI_API_BASE", running.base)
    with running.running():
        yield running


def play(saves, *, saved=None, on_event=None, episodes=2, **options):
    settings = Settings(step_limit=4, logits="verbalized")
    config = SessionConfig("pantry", "writer", "openai/test", episodes, settings=settings)
    saved = saved or sessions.create(saves, config, "run")
    session, events = run(saved, saves, on_event, **options)
    return session, saved, events


def asked(server: Server, purpose: str) -> int:
    return sum(f"Your {purpose}: " in text_of(body["messages"][-1]) for body in server.requests)


def lessons(saves):
    with Memory(saves / "memory") as memory:
        return [record for name in memory.scopes() for record in memory.scope(name).records.all()]


def test_calls_before_during_and_after_an_episode_are_told_and_counted_in_it(server, tmp_path):
    session, saved, events = play(tmp_path)
    assert session.error is None
    told = [(e.episode, e.step, e.call.purpose) for e in only(events, ModelCalled)]
    assert told == [
        (episode, step, purpose)
        for episode in (1, 2)
        for step, purpose in [(0, "plan"), *((n, "thought") for n in range(4)), (4, "lesson")]
    ]
    for ended in only(events, EpisodeEnded):
        mine = [e.call for e in only(events, ModelCalled) if e.episode == ended.episode]
        calls = [*mine, *(c for e in only(events, Decided) if e.episode == ended.episode for c in e.decision.calls)]
        assert ended.tally.calls == len(calls)
        assert ended.tokens == sum(c.prompt_tokens + c.completion_tokens for c in calls if not c.cached)
        last = max(n for n, e in enumerate(events) if e in [t for t in only(events, ModelCalled) if t.call in mine])
        assert last < events.index(ended)
    assert sum(e.tokens for e in only(events, EpisodeEnded)) == PRICE * len(server.requests)
    first = events.index(only(events, EpisodeStarted)[0])
    assert first < events.index(only(events, ModelCalled)[0])
    assert only([e for _, e in recording.read(saved.folder)], ModelCalled) == only(events, ModelCalled)
    assert [record.text for record in lessons(tmp_path)] == ["Look around."] * 2


@pytest.mark.parametrize("purpose", ["plan", "lesson"])
@pytest.mark.parametrize(
    ("rule", "paid"),
    [({"status": 500}, False), ({"reply": ""}, True), ({"reply": "", "times": 1}, True)],
)
def test_a_model_that_fails_outside_a_decision_is_said_and_stops_nothing(server, tmp_path, purpose, rule, paid):
    usual = {"if": "Your (plan|thought|lesson): ", "reply": "Look around."}
    server.default = Scripted([{"if": f"Your {purpose}: ", **rule}, usual])
    session, _, events = play(tmp_path, episodes=1)
    assert session.error is None
    (ended,) = only(events, EpisodeEnded)
    what = {"plan": "prepare for this episode", "lesson": "learn from this episode"}[purpose]
    (said,) = [n.message for n in only(events, Notice) if n.level == "warning"]
    assert said.startswith(f"the agent could not {what}: ")
    # An answer that is none was paid for all the same; an error of the server was not.
    answered = len(server.requests) - (0 if paid else asked(server, purpose))
    assert ended.tokens == PRICE * answered
    assert bool(lessons(tmp_path)) == (purpose == "plan")


def test_a_step_that_is_taken_back_stays_paid_and_nothing_is_counted_twice(server, tmp_path):
    session, _, events = play(tmp_path, episodes=1, on_event=taking_back(2))
    assert session.error is None
    (ended,) = only(events, EpisodeEnded)
    assert len(only(events, TakenBack)) == 1
    assert ended.tokens == PRICE * len(server.requests)
    # The plan was asked for once more and answered from the cache: told once.
    assert [e.call.purpose for e in only(events, ModelCalled)].count("plan") == 1
    assert only(events, TakenBack)[0].tokens == PRICE * (1 + 2 * 3)  # plan, three thoughts, three proposals


@pytest.mark.parametrize("after", [0, 1, 3])
def test_a_session_resumed_has_the_account_of_both_sittings(server, tmp_path, after):
    def stop(session, event):
        if isinstance(event, Stepped) and event.step == after:
            session.control.stop()

    _, saved, _ = play(tmp_path, episodes=1, on_event=stop)
    session, _, _ = play(tmp_path, saved=sessions.load(saved.folder))
    assert session.error is None
    (ended,) = only([e for _, e in recording.read(saved.folder)], EpisodeEnded)
    assert ended.tokens == PRICE * len(server.requests)
    assert ended.tally.calls == 1 + 2 * 4 + 1
    assert len(lessons(tmp_path)) == 1


class Careless(Writer):
    """Takes every failure of the model for none."""

    def end_episode(self, episode, first):
        with contextlib.suppress(ModelError):
            super().end_episode(episode, first)


@pytest.mark.parametrize("agent", [Writer, Careless])
def test_who_leaves_while_a_lesson_is_written_finds_it_written_when_coming_back(
    server, tmp_path, agent, monkeypatch
):
    registered(monkeypatch, Method("writer", "writes", agent))
    usual = server.default

    def hang(handler, body):
        if "Your lesson: " in text_of(body["messages"][-1]):
            started[0].control.stop()
            return fake.hang(handler, body)
        return usual(handler, body)

    started: list[Session] = []
    server.default = hang
    session, saved, events = play(tmp_path, episodes=1, on_event=lambda session, event: started.append(session))
    assert session.error is None
    assert only(events, EpisodeEnded) == []
    assert not [n for n in only(events, Notice) if "could not" in n.message]
    server.default = usual
    play(tmp_path, saved=sessions.load(saved.folder))
    told = [e for _, e in recording.read(saved.folder)]
    (ended,) = only(told, EpisodeEnded)
    assert [e.call.purpose for e in only(told, ModelCalled)].count("lesson") == 1
    assert ended.tokens == PRICE * (len(server.requests) - 1)  # the call that was left was never answered
    (lesson,) = lessons(tmp_path)
    assert (lesson.session, lesson.episode, lesson.episode_uid) == (saved.name, 1, only(told, EpisodeStarted)[0].uid)


def test_a_full_disk_is_waited_out_and_the_record_is_kept_once(server, tmp_path, monkeypatch):
    from engine.memory.kept import KeptRecords

    add, failures = KeptRecords.add, [StorageError("the disk is full")]

    def failing(self, record):
        if failures:
            raise failures.pop()
        return add(self, record)

    monkeypatch.setattr(KeptRecords, "add", failing)
    paused = []

    def mend(session, event):
        if isinstance(event, Paused) and event.reason:
            paused.append(event.reason)
            session.control.resume()

    session, _, _ = play(tmp_path, episodes=1, on_event=mend, interactive=True)
    assert session.error is None
    assert paused == ["the disk is full"]
    assert len(lessons(tmp_path)) == 1


def test_a_method_sees_its_own_records_in_all_sessions_and_no_other_methods(server, tmp_path, monkeypatch):
    play(tmp_path, episodes=1)
    with Memory(tmp_path / "memory") as memory:
        (name,) = memory.scopes()
        memory.scope(name).records.add(Kept("lesson", "somebody else's", agent="other"))
    seen = []

    class Reader(Writer):
        def begin_episode(self, state):
            seen.append([one.text for one in self._context.kept.records("lesson")])
            seen.append([one.text for one in self._context.kept.records("plan")])

    registered(monkeypatch, Method("writer", "writes", Reader))
    play(tmp_path, episodes=1)
    assert seen == [["Look around."], []]

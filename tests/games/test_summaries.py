"""Histories written by a model behind a real server on loopback, and what happens when it fails."""

from __future__ import annotations

import pytest

from engine import texts
from engine.errors import ModelError
from engine.games.catalogue import open_game
from engine.games.states.state import GameAbstractor
from engine.games.states.summaries import read_history, read_state
from engine.llm.model_factory import open_remote
from engine.memory import Memory
from engine.records import Decided, EpisodeEnded, Notice
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from tests.llm import server as fake
from tests.llm.server import Server
from tests.writing import writing

TOLD = """Sure, here it is.
**[SUMMARY]**: The player looks for supper and has found a cupboard.
[PROGRESS]: ✓ M1: open→cupboard
[LOCATION]: Location: kitchen→pantry"""
HISTORY = """[SUMMARY] The player looks for supper and has found a cupboard.
[PROGRESS] ✓ M1: open→cupboard
[LOCATION] Location: kitchen→pantry"""


@pytest.fixture
def server():
    with Server().running() as running:
        yield running


@pytest.fixture
def model(server):
    opened = open_remote("openai/test", Settings(), None, {"OPENAI_API_BASE": server.base})
    yield opened
    opened.close()


@pytest.fixture
def told():
    return []


@pytest.fixture
def played():
    """Eight steps of a shipped story: the first observation, then (action, observation)."""
    env = open_game("pantry")
    try:
        first, rows = env.reset(1), []
        for step in range(8):
            action = env.valid_actions()[step % 2]
            rows.append((action, env.step(action)))
    finally:
        env.close()
    return first, rows


def both(model, told, played, every=3, spent=None):
    """Return the states by rules, and those with the model's histories."""
    rules = GameAbstractor()
    calls = [] if spent is None else spent
    written = GameAbstractor().written(writing(model, told, calls, history="llm", history_every=every))
    first, rows = played
    plain, other = [rules.begin(first)], [written.begin(first)]
    for action, observation in rows:
        plain.append(rules.advance(action, observation))
        other.append(written.advance(action, observation))
    assert written.recent(4) == rules.recent(4)
    return plain, other


def test_the_model_tells_the_history_every_so_many_steps(server, model, told, played):
    server.default = fake.reply(TOLD)
    spent = []
    plain, other = both(model, told, played, spent=spent)
    assert [state.history == HISTORY for state in other] == [False] * 3 + [True] * 6
    assert other[:3] == plain[:3]
    assert [state.history_tokens for state in other] == [state.history_tokens for state in plain]
    assert [(state.text, state.tokens) for state in other] == [(state.text, state.tokens) for state in plain]
    assert [call.purpose for call in spent] == ["history", "history"]
    assert told == []
    asked = server.requests[0]["messages"]
    assert "[SUMMARY]" in asked[0]["content"]
    for action, _ in played[1][:3]:
        assert f"-> Action: {action}" in asked[1]["content"]
    told_last = " ".join(played[1][2][1].text.split())
    assert told_last in " ".join(asked[1]["content"].split())


def test_a_failing_model_leaves_the_rules_text_and_a_notice(server, model, told, played):
    server.script = [fake.status(400, "this model is on holiday"), fake.reply(TOLD)]
    plain, other = both(model, told, played)
    assert other[:6] == plain[:6]
    assert other[6].history == HISTORY
    assert len(told) == 1
    assert told[0].startswith("the history of this episode is written by rules: ")
    assert "holiday" in told[0]


def test_an_answer_without_a_summary_is_a_failure_told_once(server, model, told, played):
    server.default = fake.reply("I would rather talk about the weather.")
    plain, other = both(model, told, played, every=2)
    assert other == plain
    assert len(server.requests) >= 3
    assert told == ["the history of this episode is written by rules: the model's answer has no [SUMMARY]"]


def test_states_are_what_the_model_names_in_them_and_the_same_situation_is_asked_for_once(
    server, model, told, played
):
    server.default = fake.reply("Step 0: [State: Kitchen, oak table, a LAMP, oak table] [Action: look]")
    calls = []
    written = GameAbstractor().written(writing(model, told, calls, state="llm"))
    first, rows = played
    states = [written.begin(first), written.begin(first)]
    assert len(server.requests) == 1
    states += [written.advance(action, seen) for action, seen in rows[:2]]
    assert {state.text for state in states} == {"[State: kitchen, oak table, lamp]"}
    assert states[0].tokens == ("kitchen", "lamp", "oak", "table")
    assert {call.purpose for call in calls} == {"state"}
    asked = server.requests[0]["messages"][1]["content"]
    assert " ".join(first.description.split())[:60] in " ".join(asked.split())
    assert told == []


def test_a_state_that_cannot_be_summarized_falls_back_to_rules_and_is_counted(server, model, told, played):
    server.default = fake.reply("It is a kitchen, I think.")
    calls = []
    written = GameAbstractor().written(writing(model, told, calls, state="llm"))
    rules = GameAbstractor()
    first, rows = played
    assert written.begin(first) == rules.begin(first)
    assert written.advance(*rows[0]) == rules.advance(*rows[0])
    assert calls.count(None) == 2
    assert told == ["a state of this episode is written by rules: the model's answer has no [State: ...]"]


def test_raw_states_are_runs_of_words_of_what_was_printed(told, played):
    raw = GameAbstractor().written(writing(None, told, state="raw", ngram=4))
    first, rows = played
    begun, after = raw.begin(first), raw.advance(*rows[0])
    assert " ".join(first.description.split())[:40] in " ".join(begun.text.split())
    assert all(len(token.partition("*")[0].split()) == 4 for token in begun.tokens)
    assert begun.tokens != after.tokens
    rules = GameAbstractor()
    rules.begin(first)
    assert after.history == rules.advance(*rows[0]).history  # only the state is another one


def test_histories_can_be_compared_by_the_words_of_progress_location_and_inventory(server, model, told, played):
    server.default = fake.reply(TOLD)
    asked = {"history": "llm", "history_every": 1, "history_tokens": "text"}
    written = GameAbstractor().written(writing(model, told, **asked))
    first, rows = played
    written.begin(first)
    state = written.advance(*rows[0])
    carried = texts.compact(rows[0][1].inventory)
    assert carried
    assert state.history == f"{HISTORY}\n[INVENTORY] {carried}"
    told_facts = HISTORY.partition("[PROGRESS]")[2] + f" {carried}"
    assert state.history_tokens == texts.number_repeats([word for word in told_facts.lower().split() if word.isalnum()])


@pytest.mark.parametrize(
    ("text", "nouns"),
    [("Step 0: [State: a, b]\nStep 1: [State: Lamp,  brass key ,, lamp]", ["lamp", "brass key"]),
     ("[state: \x1b[31mred, --]", []), ("nothing", []), ("[State: ]", []), ("[State: x" * 5000, []),
     ("[State: " + ", ".join(f"n{i}" for i in range(999)) + "]", [f"n{i}" for i in range(100)])],
)  # fmt: skip
def test_what_is_read_of_a_state(text, nouns):
    assert read_state(text) == nouns


def test_sections_left_out_come_from_the_rules():
    rules = "[SUMMARY] Old.\n[PROGRESS] No Progress\n[LOCATION] Location: hall"
    assert read_history("[SUMMARY] New.\x1b[31m", rules) == "[SUMMARY] New.[31m\n" + rules.split("\n", 1)[1]
    assert len(read_history("[summary]: " + "long " * 9000, rules)) < 2000
    with pytest.raises(ModelError, match="SUMMARY"):
        read_history("[PROGRESS] none", rules)


def asked_for_history(body) -> bool:
    return "highly distinctive summaries" in body["messages"][0]["content"]


def play(tmp_path, **changes):
    settings = Settings(step_limit=6, history_every=2, logits="verbalized", **changes)
    config = SessionConfig(game="pantry", model="openai/test", episodes=1, settings=settings)
    events = []
    session = Session(sessions.create(tmp_path, config, "run"), tmp_path, events.append)
    session.run()
    assert session.error is None
    return events


def test_a_session_uses_what_the_model_told(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", server.base)

    def behave(handler, body):
        (fake.reply(TOLD) if asked_for_history(body) else fake.good)(handler, body)

    server.default = behave
    events = play(tmp_path, history="llm")
    assert not [e for e in events if isinstance(e, Notice)]
    actions = [body for body in server.requests if not asked_for_history(body)]
    assert len(server.requests) - len(actions) == 3 + 1  # the writing test comes before
    calls = [call for e in events if isinstance(e, Decided) for call in e.decision.calls]
    told_it = ["has found a cupboard" in call.prompt for call in calls]
    assert told_it == sorted(told_it)
    assert told_it.count(True) >= 3
    assert told_it[0] is False
    in_decisions = sum(call.prompt_tokens + call.completion_tokens for call in calls if not call.cached)
    ended = next(e for e in events if isinstance(e, EpisodeEnded))
    assert ended.tokens == in_decisions + 3 * 120
    with Memory(tmp_path / "memory") as memory:
        (episode,) = memory.scope(memory.scopes()[0]).episodes()
    assert [step.state.history == HISTORY for step in episode.steps] == [False] * 2 + [True] * 4


def test_a_session_goes_on_where_the_model_tells_nothing(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", server.base)

    def behave(handler, body):
        (fake.status(400, "no summaries here") if asked_for_history(body) else fake.good)(handler, body)

    server.default = behave
    events = play(tmp_path, history="llm")
    (notice,) = [e for e in events if isinstance(e, Notice)]
    assert notice.level == "warning"
    assert "history=rules in place of llm: openai/test did not answer the short writing test" in notice.message
    assert "no summaries here" in notice.message
    assert [e.steps for e in events if isinstance(e, EpisodeEnded)] == [6]


def test_a_history_that_fails_on_the_way_is_counted(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    asked = []

    def behave(handler, body):
        if not asked_for_history(body):
            return fake.good(handler, body)
        asked.append(body)
        return (fake.reply(TOLD) if len(asked) < 3 else fake.status(400, "no more"))(handler, body)

    server.default = behave
    events = play(tmp_path, history="llm")
    (ended,) = [e for e in events if isinstance(e, EpisodeEnded)]
    assert ended.tally.unwritten == 2
    assert ended.tally.missing == 0
    assert ended.tally.calls == ended.tally.asked + 1


def test_by_default_no_model_tells_anything(server, tmp_path, monkeypatch):
    monkeypatch.setenv("OPENAI_API_BASE", server.base)
    play(tmp_path)
    assert server.requests
    assert not any(asked_for_history(body) for body in server.requests)

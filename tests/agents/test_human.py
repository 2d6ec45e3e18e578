"""The agent `human` takes the actions of a recording."""

from __future__ import annotations

import pytest

from engine.errors import BadFile, UsageError
from engine.records import Decided, Stepped
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from tests.playing import run, taking_back


def play(saves, agent, episodes=2, steps=5, on_event=None, **settings):
    config = SessionConfig("pantry", agent, "prior/verbs", episodes, settings=Settings(step_limit=steps, **settings))
    session, events = run(sessions.create(saves, config, "run"), saves, on_event)
    return session, events


def taken(events):
    return [(event.episode, event.action, event.observation.text) for event in events if isinstance(event, Stepped)]


def folder(saves):
    (found,) = (saves / "sessions").iterdir()
    return found


def test_it_does_what_was_done_and_says_so(tmp_path):
    _, first = play(tmp_path / "a", "static")
    session, again = play(tmp_path / "b", "human", replayed=str(folder(tmp_path / "a")))
    assert session.error is None
    assert taken(again) == taken(first)
    decision = [event.decision for event in again if isinstance(event, Decided)][1]
    assert decision.why == f"The recording has '{decision.action}' here."
    (item,) = decision.bases[0].items
    assert (item.text, item.origin) == (decision.action, "episode 1, step 2")


def test_where_the_recording_ends_an_action_is_drawn_and_that_is_said(tmp_path):
    play(tmp_path / "a", "static", episodes=1, steps=3)
    session, again = play(tmp_path / "b", "human", episodes=1, steps=5, replayed=str(folder(tmp_path / "a")))
    assert session.error is None
    notes = [event.decision.note for event in again if isinstance(event, Decided)]
    assert notes == ["", "", ""] + ["the recording has no action for this step: drew from the valid actions"] * 2


def test_a_step_that_was_taken_back_is_not_taken_again(tmp_path):
    _, first = play(tmp_path / "a", "random", episodes=1, on_event=taking_back(2))
    steps = taken(first)
    session, again = play(tmp_path / "b", "human", episodes=1, replayed=str(folder(tmp_path / "a") / "events.jsonl"))
    assert session.error is None
    assert taken(again) == [*steps[:1], *steps[2:]]


@pytest.mark.parametrize(
    ("replayed", "kind", "says"),
    [("", UsageError, "name it with --set replayed=SESSION"), ("nowhere", UsageError, "cannot read the recording"),
     ("text", BadFile, "is not a recording of jitrl")],
)  # fmt: skip
def test_what_is_no_recording_is_said_in_a_sentence(tmp_path, replayed, kind, says):
    (tmp_path / "text").write_text("Once upon a time.\n")
    session, _ = play(tmp_path, "human", replayed=str(tmp_path / replayed) if replayed else "")
    assert isinstance(session.error, kind)
    assert says in str(session.error)

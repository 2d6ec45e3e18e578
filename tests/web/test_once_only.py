"""On sites that are not put back nothing is sent a second time: not to take an episode up, back, or elsewhere."""

from __future__ import annotations

import json
from functools import partial

import pytest

from engine.bench import cell_player
from engine.bench.records import TEST, Cell, Ended, Finished, Leg, Said, Stopped
from engine.bench.records import CellStepped as StepTold
from engine.environment import Environment
from engine.environments import profile
from engine.errors import UsageError
from engine.records import EpisodeEnded, Notice, Paused, SessionStarted, Stepped, TakenBack
from engine.session import branches as keeping
from engine.session import store as sessions
from engine.session.control import Control
from engine.session.loop import Session
from engine.session.steer import ONCE_ONLY
from engine.settings import SessionConfig
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment

pytestmark = pytest.mark.usefixtures("shared_browser")


def send(site):
    """Two actions, of which the second one sends a form."""
    return [f"goto('{site.url}/find')", "click(<button[Send]>)"]


class OnPages(Session):
    """A session on the pages of these tests; `made` makes its environment."""

    made = None

    def _environment(self) -> Environment:
        return type(self).made()


@pytest.fixture
def play(tmp_path, browser_path, site, monkeypatch):
    def run(script, saved=None, *, repeatable=None, episodes=2, steps=2):
        """Play by commands: actions to take, "undo", "stop". No `repeatable`: a listed task on a user's own site."""
        kind = Session
        if repeatable is None:
            monkeypatch.setenv("WA_GITLAB", site.url)
        else:
            job = Assignment("t-1", "test", "Find 'Ana'", (f"{site.url}/",), {"shop": site.url})
            kind = OnPages
            made = partial(WebEnvironment, job, browser_path, scope="web/shop", repeatable=repeatable)
            monkeypatch.setattr(OnPages, "made", staticmethod(made))
        if saved is None:
            config = SessionConfig("web:local-0", "static", "prior/uniform", episodes, 1, "web",
                                   profile("default", "web", step_limit=steps))  # fmt: skip
            saved = sessions.create(tmp_path, config, "watch")
        commands, events = list(script), []

        def emit(event):
            events.append(event)
            if isinstance(event, Paused):
                if not commands or commands[0] == "stop":
                    session.control.stop()
                elif commands[0] == "undo":
                    session.control.take_back()
                else:
                    session.control.override(commands[0])
                del commands[:1]

        session = kind(saved, tmp_path, emit, control=Control(paused=True))
        session.run()
        return session, saved, events

    return run


def only(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_an_episode_left_in_the_middle_is_not_resumed_and_nothing_is_sent_again(play, site, tmp_path):
    _, saved, events = play([*send(site), "noop()", "undo", "stop"], episodes=2)
    assert only(events, TakenBack) == []
    assert ONCE_ONLY in [e.message for e in only(events, Notice)]
    assert not only(events, SessionStarted)[0].environment.repeatable
    assert [e.episode for e in only(events, EpisodeEnded)] == [1]
    assert len(site.posted) == 1
    session, _, events = play(send(site), saved)
    assert isinstance(session.error, UsageError)
    sentence = str(session.error)
    assert "episode 2 was left after 1 steps" in sentence
    assert "a second time" in sentence
    assert "begin a new session" in sentence
    assert len(site.posted) == 1
    # What was played before is shown, and still there to be read.
    assert len(only(events, EpisodeEnded)) == 1
    with pytest.raises(UsageError, match="a second time"):
        keeping.branch(tmp_path, saved, (1, 2))
    with pytest.raises(UsageError, match="a second time"):
        keeping.branch(tmp_path, saved)
    assert [path.name for path in (tmp_path / "sessions").iterdir()] == [saved.name]
    # Where nothing was done yet there is nothing to be sent again.
    between = keeping.branch(tmp_path, saved, (2, 0))
    session, _, events = play(send(site), between)
    assert session.error is None
    assert [e.episode for e in only(events, EpisodeEnded)] == [1, 2]
    assert len(site.posted) == 2


def test_where_the_site_is_put_back_a_step_is_taken_back_and_an_episode_resumed(play, site):
    script = ["click(<link[Find]>)", "click(<button[Send]>)", "undo", "click(<button[Send]>)", "stop"]
    session, saved, events = play(script, repeatable=True, episodes=1, steps=3)
    assert session.error is None
    assert len(site.posted) == 2
    assert len(only(events, TakenBack)) == 1
    assert ONCE_ONLY not in [e.message for e in only(events, Notice)]
    assert len(only(events, Stepped)) == 3
    session, _, events = play(["noop()"], saved, repeatable=True)
    assert session.error is None
    assert [e.steps for e in only(events, EpisodeEnded)] == [3]
    assert len(site.posted) == 3  # It was put back, so what led there is done again.


def test_a_cell_of_a_benchmark_plays_an_episode_anew_that_was_left_in_the_middle(
    site, tmp_path, browser_path, monkeypatch
):
    monkeypatch.setenv("WA_GITLAB", site.url)
    settings = profile("default", "web", step_limit=2)
    config = SessionConfig("web:local-0", "static", "prior/uniform", 2, 1, "default", settings)
    cell = Cell("c", "Static", "prior/uniform", 1, (Leg("web:local-0", "gitlab", TEST, config),))
    told, control = [], Control()

    def leave(message):
        told.append(message)
        if isinstance(message, StepTold) and (message.episode, message.step) == (2, 1):
            control.stop()

    cell_player.play(cell, tmp_path / "c", tmp_path, leave, control)
    assert isinstance(told[-1], Stopped)
    again = []
    cell_player.play(cell, tmp_path / "c", tmp_path, again.append, Control())

    assert isinstance(again[-1], Finished)
    said = [message.message for message in again if isinstance(message, Said)]
    assert any(one.endswith("The episode is played anew.") for one in said)
    assert [(m.episode, m.again) for m in again if isinstance(m, Ended)] == [(1, True), (2, False)]
    rows = [json.loads(line) for line in (tmp_path / "c" / "episodes.jsonl").read_text().splitlines()]
    assert [row["episode"] for row in rows] == [1, 2]
    assert all(len(row["scores"]) == row["steps"] for row in rows)
    torn = (tmp_path / "c" / "000" / "torn-1.jsonl").read_text()
    assert '"event":"EpisodeStarted"' in torn
    assert '"event":"EpisodeEnded"' not in torn

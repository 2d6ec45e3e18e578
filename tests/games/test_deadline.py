"""Valid actions that take long: what is found by a deadline is offered, and the rest is found meanwhile."""

import io

import pytest

from engine.environments import profile
from engine.games.env import GameEnvironment
from engine.games.zmachine.process import StoryWorkerLost
from engine.memory import Memory
from engine.records import Decided, Paused, Stepped
from engine.session import recording
from engine.session import store as sessions
from engine.session.control import Control
from engine.settings import SessionConfig
from jitrl_tui.plain.event_lines import EventLines
from jitrl_tui.runs import steer_texts
from tests.games.proving_ground import compiled, missing, opened
from tests.playing import only, run

pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())
AT_ONCE = 1e-6
"""A deadline in seconds that is over after the first commands."""


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    return compiled("escape", tmp_path_factory.mktemp("stories"))


def config(story, **changes):
    settings = profile("default", step_limit=1, valid_seconds=AT_ONCE, **changes)
    return SessionConfig(game=str(story), model="prior/verbs", episodes=1, settings=settings)


def test_what_is_found_by_the_deadline_is_offered_and_the_rest_comes_while_nothing_is_asked(story):
    game = opened(story)
    game.reset(1)
    every = game.valid_actions()
    game.close()
    game = opened(story)
    game.deadline = AT_ONCE
    game.reset(1)
    first = game.valid_actions()
    assert not game.complete
    assert len(first) < len(every)
    found = first
    while not game.complete:
        found = game.found_so_far()
        assert set(first) <= set(every)
    assert found == every
    game.reset(1)
    assert (game.valid_actions(), game.complete) == (every, True)  # now they are known
    game.close()


def test_a_command_that_breaks_the_story_while_nothing_is_asked_is_not_blamed_on_the_next_step(story, monkeypatch):
    game = opened(story)
    game.deadline = AT_ONCE
    game.reset(1)
    game.valid_actions()
    ask, lost = game._worker.ask, [StoryWorkerLost("the game hung", "eat door", "hung")]

    def hung(*request):
        if lost:
            raise lost.pop()
        return ask(*request)

    monkeypatch.setattr(game._worker, "ask", hung)
    seen = game.step("wait")
    game.close()
    assert "brought back" not in seen.text
    assert game._poison == ["eat door"]


def test_who_waits_is_shown_all_actions_when_they_are_found_and_memory_has_them(story, tmp_path, monkeypatch):
    shown, told, looks, found_so_far = [], io.StringIO(), [], GameEnvironment.found_so_far
    plain = EventLines(told, play=True)

    def slowly(game):
        looks.append(game)
        found = found_so_far(game)
        while len(looks) > 2 and not game.complete:
            found = found_so_far(game)
        game.complete = len(looks) > 2
        return found

    monkeypatch.setattr(GameEnvironment, "found_so_far", slowly)

    def on_event(session, event):
        plain.take_in(event)
        if isinstance(event, Decided):
            shown.append(event.decision)
        waits = isinstance(event, Paused) or (isinstance(event, Decided) and session.control.held is not None)
        if waits and not shown[-1].looking:
            session.control.step_once()

    saved = sessions.create(tmp_path, config(story), "watch")
    control = Control()
    control.pause()
    session, events = run(saved, tmp_path, on_event, control=control)
    assert session.error is None
    first, later = [one for one in shown if one.step == 0][:2]
    assert (first.looking, first.found_later) == (True, ())
    assert (later.looking, later.valid_actions) == (False, first.valid_actions)
    assert later.found_later
    assert not set(later.found_later) & set(first.valid_actions)
    assert steer_texts.LOOKING in steer_texts.all_actions(first)
    assert steer_texts.all_actions(later) == ", ".join(later.possible)
    assert f"({steer_texts.LOOKING}; {len(first.valid_actions)} so far)" in told.getvalue()
    assert f"(all actions are found now, {len(later.found_later)} more)" in told.getvalue()
    assert len(only(events, Stepped)) == 1
    recorded = [event.decision for _, event in recording.read(saved.recording) if isinstance(event, Decided)]
    assert recorded == shown  # what was offered, and what was found after that, is all there to be played back
    with Memory(tmp_path / "memory") as memory:
        (episode,) = memory.scope(memory.scopes()[0]).episodes()
    assert episode.steps[0].valid_actions == later.possible

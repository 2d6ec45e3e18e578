"""Sessions in environments with Gymnasium's interface: learning, taking back, resuming, the command line."""

from __future__ import annotations

import json
import os

import pytest

from engine.environments import profile
from engine.records import Decided, EpisodeEnded, Paused, Stepped, TakenBack
from engine.session import store as sessions
from engine.settings import SessionConfig
from jitrl_tui.cli import main
from tests.playing import run

CORRIDOR = "gym:tinyworlds/tiny/Corridor-v0"


@pytest.fixture(autouse=True)
def on_the_path(with_gymnasium, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", with_gymnasium["PYTHONPATH"])


def config(agent="jitrl", episodes=1, steps=12, game=CORRIDOR):
    settings = profile("default", "game", step_limit=steps)
    return SessionConfig(game=game, agent=agent, model="prior/uniform", episodes=episodes, settings=settings)


def play(saves, saved, on_event=None):
    session, events = run(saved, saves, on_event)
    assert session.error is None
    return events


def steps(events):
    return [(e.episode, e.step, e.action, e.observation) for e in events if isinstance(e, Stepped)]


@pytest.mark.usefixtures("without_process")
def test_memory_makes_the_agent_better(tmp_path):
    scores = {}
    for agent in ("static", "jitrl"):
        saves = tmp_path / agent
        events = play(saves, sessions.create(saves, config(agent, episodes=6, steps=5), "run"))
        scores[agent] = [e.score for e in events if isinstance(e, EpisodeEnded)]
    assert scores["jitrl"][-3:] == [3.0] * 3
    assert sum(scores["static"]) < sum(scores["jitrl"])


@pytest.mark.usefixtures("without_process")
def test_a_session_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path):
    whole = play(tmp_path / "a", sessions.create(tmp_path / "a", config("random", 2), "run"))
    saved = sessions.create(tmp_path / "b", config("random", 2), "run")

    def stop(session, event):
        if isinstance(event, Stepped) and (event.episode, event.step) == (2, 3):
            session.control.stop()

    first = play(tmp_path / "b", saved, stop)
    assert len(steps(first)) < len(steps(whole))
    assert steps(play(tmp_path / "b", saved)) == steps(whole)


@pytest.mark.usefixtures("without_process")
def test_a_step_that_is_taken_back_leaves_the_world_as_it_was(tmp_path):
    saved = sessions.create(tmp_path, config("random"), "play")
    asked = []

    def back(session, event):
        if isinstance(event, Stepped) and event.step == 3 and not asked:
            asked.append(event)
            session.control.pause()
        if isinstance(event, Paused):
            session.control.take_back() if len(asked) == 1 else session.control.resume()
            asked.append(event)

    taken = [e for e in play(tmp_path, saved, back) if isinstance(e, (Stepped, TakenBack))]
    numbers = [e.step for e in taken]
    assert numbers[:6] == [0, 1, 2, 3, 3, 3]  # the second 3 counts the steps that are left
    third, fourth, back_there, again = taken[2:6]
    assert isinstance(back_there, TakenBack)
    assert back_there.observation == third.observation
    assert (again.action, again.observation) == (fourth.action, fourth.observation)


def test_the_command_line_plays_it_and_names_what_is_wrong(tmp_path, capsys):
    out = tmp_path / "result.json"
    options = ["--saves", str(tmp_path), "run", CORRIDOR, "--model", "prior/uniform", "--episodes", "1", "--steps", "4"]
    assert main([*options, "--json", str(out), "--quiet"]) == 0
    result = json.loads(out.read_text())
    assert result["game"] == CORRIDOR
    assert len(result["episodes"]) == 1
    options[3] = "gym:tinyworlds/tiny/Corridr-v0"
    assert main(options) == 2
    assert "it has tiny/Corridor-v0" in capsys.readouterr().err
    assert len(os.listdir(tmp_path / "sessions")) == 1


@pytest.mark.usefixtures("without_process")
def test_where_leaving_kills_no_command_of_text_games_is_offered(tmp_path):
    lake = "gym:gymnasium/FrozenLake-v1?is_slippery=false&ended=reward&ignore=\\(\\w+\\)"
    events = play(tmp_path, sessions.create(tmp_path, config(episodes=4, game=lake), "run"))
    offered = {c.action for e in events if isinstance(e, Decided) for c in e.decision.candidates}
    possible = {action for e in events if isinstance(e, Decided) for action in e.decision.valid_actions}
    assert offered == possible
    assert len(possible) == 4


@pytest.mark.usefixtures("without_process")
@pytest.mark.parametrize(("most", "code"), [("0.1", 1), ("1", 0)])
def test_a_run_in_which_the_environment_fails_too_often_ends_with_1(tmp_path, capsys, most, code):
    command = ["run", "gym:tinyworlds/tiny/Raising-v0", "--saves", str(tmp_path), "--model", "prior/uniform"]
    assert main([*command, "--episodes", "1", "--json", "-", "--set", f"max_failed={most}"]) == code
    told = capsys.readouterr()
    assert ("failed at 1 of 1 actions (100%, more than max_failed=0.1)" in told.err) == bool(code)
    result = json.loads(told.out)
    assert [(e["steps"], e["failed"], e["outcome"]) for e in result["episodes"]] == [(0, 1, "")]
    assert result["memory_entries"] == 0


def test_an_action_at_which_the_environment_failed_is_not_remembered_and_those_before_it_are(tmp_path):
    saved = sessions.create(tmp_path, config("jitrl", 2, 12, "gym:tinyworlds/tiny/Breaking-v0"), "run")
    events = play(tmp_path, saved)
    ended = [e for e in events if isinstance(e, EpisodeEnded) and e.failed]
    failed = {e.episode: e.step for e in events if isinstance(e, Stepped) and e.observation.failed}
    assert [(e.episode, e.steps) for e in ended] == list(failed.items())
    assert sum(failed.values()) > 0
    assert all((e.ended_by, e.entries_added) == ("failure", e.steps) for e in ended)
    assert play(tmp_path, saved)[-1].finished  # it can be resumed

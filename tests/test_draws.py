"""Random draws: those of a web task depend on the task, those of a game do not, and a session goes on with its own."""

from __future__ import annotations

import dataclasses
import zlib

import numpy as np
import pytest

from engine.games.env import GameEnvironment
from engine.records import Decided, SessionStarted, Stepped
from engine.session import recording, whatif
from engine.session import store as sessions
from engine.settings import SessionConfig, Settings
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from tests.playing import only, run

SETTINGS = Settings(step_limit=8)


def play(saves, saved=None, on_event=None):
    config = SessionConfig("pantry", model="prior/uniform", episodes=2, settings=SETTINGS)
    saved = saved or sessions.create(saves, config, "run")
    return saved, run(saved, saves, on_event)[1]


def actions(events):
    return [each.action for each in only(events, Stepped)]


@pytest.fixture
def task(monkeypatch):
    """Let games say that they are a task."""
    plain = GameEnvironment.__init__

    def says(name):
        def made(self, *arguments, **named):
            plain(self, *arguments, **named)
            self.info = dataclasses.replace(self.info, task=name)

        monkeypatch.setattr(GameEnvironment, "__init__", made)

    return says


@pytest.fixture
def seeds(monkeypatch):
    """What the generators of decisions are seeded with."""
    given, make = [], np.random.default_rng

    def noted(seed=None):
        given.append(seed)
        return make(seed)

    monkeypatch.setattr("engine.session.replay.np.random.default_rng", noted)
    return given


def test_a_web_task_says_which_one_it_is():
    def info(name):
        job = Assignment(name, "test", "Find it", ("http://127.0.0.1:9/",), {"shop": "http://127.0.0.1:9"})
        return WebEnvironment(job, "", scope="web/shop", driver=object()).info

    assert [info(name).task for name in ("local-1", "local-2")] == ["local-1", "local-2"]


def test_tasks_that_begin_alike_get_different_draws(tmp_path, task):
    played = []
    for number, name in enumerate(["local-1", "local-2", "local-1"]):
        task(name)
        played.append(actions(play(tmp_path / str(number))[1]))
    assert played[0] == played[2] != played[1]


def test_the_draws_of_a_game_depend_on_seed_episode_and_step_alone(tmp_path, seeds):
    _, events = play(tmp_path)
    wanted = [[1, one.episode, one.decision.step] for one in only(events, Decided)]
    assert [seed for seed in seeds if isinstance(seed, list)] == wanted


def test_a_session_of_an_earlier_version_goes_on_with_the_draws_it_began_with(tmp_path, task, seeds):
    def stop(session, event):
        if isinstance(event, Stepped):
            session.control.stop()

    whole = actions(play(tmp_path / "whole")[1])
    saved, _ = play(tmp_path / "parts", on_event=stop)  # its recording names no task
    task("local-1")
    _, rest = play(tmp_path / "parts", sessions.load(saved.folder))
    assert only(rest, SessionStarted)[0].environment.task == ""
    assert actions(event for _, event in recording.read(saved.folder)) == whole
    seeds.clear()
    task("local-1")
    play(tmp_path / "new")
    assert [1, 1, 0, zlib.crc32(b"local-1")] in seeds


def test_a_recorded_task_is_decided_again_with_its_own_draws(tmp_path, task):
    task("local-1")
    saved, _ = play(tmp_path)
    task("another")
    with whatif.open_recording(saved.folder, tmp_path) as recorded:
        outcome = whatif.what_if(recorded, from_memory=True)
        assert outcome.decisions == len(recorded) == 16
        assert (outcome.differing, outcome.moved, outcome.unlike or 0) == ((), 0, 0)

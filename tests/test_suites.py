"""A suite that was stopped goes on where it was, with one memory for all its tasks."""

from __future__ import annotations

import json

import pytest

from engine.errors import BadFile, UsageError
from engine.memory import Memory
from engine.records import EpisodeEnded, Stepped
from engine.session import store as sessions
from engine.session import suites
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings

TASKS = ("pantry", "pantry", "pantry")


@pytest.fixture
def suite(tmp_path):
    settings = Settings(step_limit=4)
    config = SessionConfig("web:three", "jitrl", "prior/uniform", 2, settings=settings, memory="own")
    return suites.create(tmp_path, config, TASKS)


def play_one(saves, saved, most):
    """Play a session, at most so many steps; return how many were taken."""
    steps = 0

    def emit(event):
        nonlocal steps
        steps += isinstance(event, Stepped)
        if steps == most:
            session.control.stop()

    session = Session(saved, saves, emit)
    session.run()
    assert session.error is None
    return steps


def run(saves, name, most=10_000):
    """Play what is left of a suite, at most so many steps; return the names of the sessions that were played."""
    names = []
    for _, saved in suites.play(saves, suites.load(saves, name)):
        if saved.finished():
            continue
        names.append(saved.name)
        most -= play_one(saves, saved, most)
        if most <= 0:
            break
    return names


def test_all_that_is_left_is_played_and_nothing_twice(tmp_path, suite):
    first = run(tmp_path, suite.name, most=11)  # in the first episode of the second task
    assert len(first) == 2
    begun = suites.load(tmp_path, suite.name)
    assert begun.sessions == tuple(first)
    assert begun.config == suite.config
    rest = run(tmp_path, suite.name)
    assert rest[0] == first[1]
    assert len(rest) == 2
    whole = suites.load(tmp_path, suite.name)
    assert whole.sessions == (first[0], *rest)
    assert run(tmp_path, suite.name) == []
    every = [saved for _, saved in suites.play(tmp_path, whole)]
    assert [[e.episode for e in suites.finished_episodes(saved)] for saved in every] == [[1, 2]] * 3
    assert all(isinstance(e, EpisodeEnded) for saved in every for e in suites.finished_episodes(saved))
    assert len(list((tmp_path / "sessions").iterdir())) == 3
    # One memory, that of the first session.
    assert [saved.config.memory for saved in every] == ["own", f"own:{first[0]}", f"own:{first[0]}"]
    with Memory(tmp_path / "sessions" / first[0] / "memory") as memory:
        assert memory.scope(memory.scopes()[0]).episode_count == 6


def test_a_suite_is_found_by_its_name_or_by_a_session_of_it(tmp_path, suite):
    (name,) = run(tmp_path, suite.name, most=1)
    assert (
        suites.find(tmp_path, suite.name) == suites.find(tmp_path, name) == suites.load(tmp_path, suite.name)
    )
    alone = sessions.create(tmp_path, SessionConfig("pantry"), "run")
    assert suites.find(tmp_path, alone.name) is None
    assert suites.find(tmp_path / "elsewhere", name) is None


def test_what_cannot_be_read_is_one_sentence(tmp_path, suite):
    file = tmp_path / "suites" / f"{suite.name}.json"
    for name in ("none", "../suites/" + suite.name):
        with pytest.raises(UsageError, match="there is no suite"):
            suites.load(tmp_path, name)
    data = json.loads(file.read_text())
    for content, says in [
        ("{", "cannot be read"),
        (json.dumps({**data, "format": 9}), "newer jitrl"),
        ("{}", "format"),
    ]:
        file.write_text(content)
        with pytest.raises(BadFile, match=says):
            suites.find(tmp_path, suite.name)

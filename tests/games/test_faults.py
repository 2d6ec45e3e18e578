"""Faults in small: the same trials as `make soak` runs by the hundred."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest

from engine.games.catalogue import shipped_stories
from engine.games.env import GameEnvironment
from engine.games.zmachine import worker
from engine.games.zmachine.commands import Controls
from tests.games import faults

STORIES = {story.name: story for story in shipped_stories()}
WAYS = json.loads((Path(shipped_stories()[0].path).parent / "walkthroughs.json").read_text())


@pytest.fixture
def told():
    return []


def survived(trials, told):
    results = list(trials)
    assert results
    assert all(results), told


def test_broken_stories_play_or_are_refused(tmp_path, told, monkeypatch):
    monkeypatch.setattr("engine.games.env.LOAD_SECONDS", 6.0)
    monkeypatch.setattr("engine.games.env.COMMAND_SECONDS", 0.5)
    GameEnvironment(STORIES["pantry"]).close()  # starts the process from which stories are forked
    before = set(faults.children())
    stories = faults.sources(None)
    survived(faults.broken_stories(tmp_path, 3, stories, 7, told.append), told)
    refused = int(told[-1].split()[-3])
    assert 0 < refused < 7  # some get past the validation
    harmed = faults.broken_stories(tmp_path, 4, stories, 2, told.append, first=2, validate=False)  # header and code
    survived(harmed, told)
    assert set(faults.children()) <= before


@pytest.mark.parametrize("name", STORIES)
def test_odd_input_yields_observations_only(name, told):
    survived(faults.odd_inputs(STORIES[name], 1, 400, told.append), told)


def test_odd_input_is_odd():
    lines = [faults.odd_input(random.Random(n)) for n in range(300)]
    assert any("\x1b" in line for line in lines)
    assert any("\n" in line for line in lines)
    assert any(len(line) > 1000 for line in lines)
    assert any(ord(c) > 0x1F000 for line in lines for c in line)


def test_a_command_that_never_ends_costs_one_answer_and_is_never_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr("engine.games.env.COMMAND_SECONDS", 0.5)
    monkeypatch.setattr("engine.games.env.STEP_SECONDS", 120.0)  # so long half a second may take on a busy machine
    source = STORIES["pantry"].path
    (tmp_path / "tw-loop.json").write_bytes(source.with_suffix(".json").read_bytes())
    story = faults.looping_story(source, tmp_path / "tw-loop.z8", "jump")
    way = WAYS["pantry"][:3]
    expected = faults.transcript(STORIES["pantry"], way, 1)
    game = GameEnvironment(story)
    try:
        game.reset(1)
        game.step(way[0])
        seen = game.step("jump")
        assert "the game hung; it was brought back" in seen.text  # and did not only keep us waiting
        assert (seen.failed, seen.over) == (True, False)
        assert [game.step(command).text for command in way[1:]] == [o.text for o in expected[2:]]
    finally:
        game.close()


def test_the_time_of_a_command_begins_anew_with_each_and_stands_still_between_them():
    note = os.memfd_create("note")
    os.ftruncate(note, worker.NOTE_SIZE)
    guard = worker._Guard(note)
    guard.seconds = 60.0
    try:
        for command in (b"look", b"jump"):
            signal.setitimer(signal.ITIMER_VIRTUAL, 30.0)
            guard(command)
            assert 30.0 < signal.getitimer(signal.ITIMER_VIRTUAL)[0] <= 60.5
            assert os.pread(note, 5, 0) == command + b"\0"
        guard.rest()
        assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        os.close(note)


def test_a_worker_killed_before_any_step_is_made_good(told):
    survived(faults.killed_at_every_step(STORIES["manor"], WAYS["manor"][:8], 5, told.append), told)


def test_a_worker_killed_at_work_is_made_good(told):
    survived(faults.killed_at_work(STORIES["pantry"], WAYS["pantry"], 1, 4, told.append), told)


def test_four_at_once_go_as_they_go_alone(told):
    jobs = [(story, WAYS[name][:6]) for name, story in STORIES.items()]
    survived(faults.many_at_once(jobs, 4, told.append), told)


def test_memory_stays_flat(tmp_path, told):
    survived(faults.flat_memory(STORIES["pantry"], 24, 12, tmp_path, told.append, grace=8), told)


@pytest.mark.parametrize("command", ["restar", "restor", "unscript", "oops save", "look. restar", 'a "quit'])
def test_words_are_intercepted_as_parsers_read_them(command):
    assert Controls().intercepted(command)


@pytest.mark.parametrize("command", ["savend", "look. savend"])
def test_a_story_whose_grammar_is_unknown_may_have_longer_words_for_them(command):
    assert Controls().intercepted(command)
    assert not Controls().intercepted("savage")

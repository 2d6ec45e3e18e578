"""Runs of small suites, with real workers: what is written, and what an interruption costs."""

from __future__ import annotations

import io
import os
import shutil
import signal
from pathlib import Path

import pytest

import engine.games
from engine.bench.manifest import read_manifest
from engine.bench.progress import RunLimits
from engine.bench.records import CellStepped as StepTold
from engine.bench.records import Ended, Finished, Said
from engine.errors import UsageError
from jitrl_tui.cli import _expanded, main
from tests.arena.running import ALONE, SMALL, bench, planned, play, rows, runner

LEARNER = "Algorithm 1"
LONG = ALONE.replace("episodes = 3", "episodes = 12").replace("steps = 12", "steps = 8")


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A run of the small suite that was never interrupted."""
    saves = tmp_path_factory.mktemp("saves")
    code, folder = play(SMALL, saves)
    assert code == 0
    return folder


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of the long suite, played without an interruption."""
    code, folder = play(LONG, tmp_path_factory.mktemp("whole"))
    assert code == 0
    return (folder / "episodes.jsonl").read_bytes()


def test_each_cell_has_as_many_episodes_as_the_suite_says(played):
    found = rows(played)

    assert len(found) == 2 * 2 * 3
    assert {(row["arm"], row["seed"], row["episode"]) for row in found} == {
        (arm, seed, episode) for arm in ("Static", "Algorithm 1") for seed in (1, 2) for episode in (1, 2, 3)
    }
    assert all(row["steps"] <= 12 and row["scores"][-1] == row["score"] for row in found)


def test_static_remembers_nothing_and_every_life_of_a_learner_begins_with_an_empty_memory(played):
    found = rows(played)

    assert all(row["entries"] == 0 for row in found if row["arm"] == "Static")
    learner = [row for row in found if row["arm"] == "Algorithm 1"]
    assert all(row["entries"] == row["added"] for row in learner if row["episode"] == 1)
    assert all(row["entries"] > row["added"] for row in learner if row["episode"] > 1)


def test_the_same_cell_has_the_same_bytes_again(played, tmp_path):
    _, again = play(ALONE, tmp_path)

    lines = (played / "episodes.jsonl").read_bytes().splitlines()
    same = [line for line, row in zip(lines, rows(played), strict=True) if (row["arm"], row["seed"]) == (LEARNER, 1)]
    assert (again / "episodes.jsonl").read_bytes().splitlines() == same != []


def test_a_killed_worker_is_resumed_and_nothing_is_counted_twice(whole, tmp_path):
    folder, cells = planned(LONG, tmp_path)
    told, killed = [], []

    def tell(message):
        told.append(message)
        if isinstance(message, StepTold) and message.episode == 3 and message.step == 4 and not killed:
            killed.append(message.cell)
            os.kill(run._executor._running[message.cell].pid, signal.SIGKILL)

    run = runner(folder, cells, tmp_path, tell, jobs=1)
    assert run.run() == 0

    assert killed
    assert any(isinstance(message, Said) and "resumed" in message.message for message in told)
    assert (folder / "episodes.jsonl").read_bytes() == whole


def test_a_stopped_run_goes_on_where_it_was_left(whole, tmp_path):
    folder, cells = planned(LONG, tmp_path)

    def tell(message):
        if isinstance(message, Ended) and message.episode == 2:
            first.stop()

    first = runner(folder, cells, tmp_path, tell)
    assert first.run() == 130
    left = rows(folder)
    assert 2 <= len(left) < 12

    again = []
    assert runner(folder, cells, tmp_path, again.append, jobs=0).run() == 0
    assert (folder / "episodes.jsonl").read_bytes() == whole
    assert any(isinstance(message, Ended) and message.again for message in again)


def test_finished_cells_are_not_played_again(played, tmp_path):
    told = []
    shutil.copytree(played.parents[1], tmp_path, dirs_exist_ok=True)
    folder = tmp_path / played.relative_to(played.parents[1])
    _, cells = planned(SMALL, tmp_path, "another")
    assert runner(folder, cells, tmp_path, told.append, jobs=0).run() == 0

    assert sum(isinstance(message, Finished) for message in told) == 4
    assert all(message.again for message in told if isinstance(message, Ended))


def test_a_limit_of_minutes_stops_a_run_and_says_so(tmp_path):
    folder, cells = planned(ALONE, tmp_path)
    run = runner(folder, cells, tmp_path, limits=RunLimits(minutes=0.001), jobs=0)

    assert run.run() == 1
    assert "0.001 minutes" in run.stopped
    assert runner(folder, cells, tmp_path, jobs=0).run() == 0


def test_what_was_spent_is_told_while_a_run_plays(tmp_path, monkeypatch):
    folder, cells = planned(ALONE, tmp_path)
    minutes = []

    def tell(message):
        minutes.append(read_manifest(folder)["spent"]["minutes"])

    monkeypatch.setattr("engine.bench.runner._NOTE_S", 0)
    assert runner(folder, cells, tmp_path, tell, jobs=0).run() == 0
    assert 0 < minutes[-1] <= read_manifest(folder)["spent"]["minutes"]


def test_two_benches_on_one_folder_are_refused(tmp_path):
    from engine.bench import folder as folders

    folder, cells = planned(SMALL, tmp_path)
    with folders.lock_run(folder), pytest.raises(UsageError, match="being played by another process"):
        runner(folder, cells, tmp_path).run()
    assert not (folder / "cells").exists()


def test_a_cell_that_fails_leaves_the_others(tmp_path):
    story = tmp_path / "gone.z8"
    shutil.copy(next((Path(engine.games.__file__).parent / "stories").glob("*pantry.z8")), story)
    text = ALONE.replace('tasks = ["pantry"]', f'tasks = ["{story}", "pantry"]')
    folder, cells = planned(text, tmp_path)
    story.unlink()

    assert runner(folder, cells, tmp_path, jobs=1).run() == 1

    states = {name: cell["state"] for name, cell in read_manifest(folder)["cells"].items()}
    assert {state for name, state in states.items() if "gone" in name} == {"failed"}
    assert {state for name, state in states.items() if "gone" not in name} == {"finished"}
    assert len(rows(folder)) == 3


def test_a_split_learns_in_training_only(tmp_path):
    more = 'seeds = 1\nprotocol = "split"\ntrain = ["pantry"]\ntrain_episodes = 4'
    code, folder = play(ALONE.replace("seeds = 1", more), tmp_path)

    assert code == 0
    found = rows(folder)
    trained = [row for row in found if row["phase"] == "train"]
    tested = [row for row in found if row["phase"] == "test"]
    assert [row["added"] > 0 for row in trained] == [True] * 4
    assert [row["added"] for row in tested] == [0, 0, 0]
    assert {row["entries"] for row in tested} == {trained[-1]["entries"]}
    assert any(row["hits"] for row in tested)
    assert all(row["hits_other"] == 0 for row in found)


def test_the_command_plays_a_suite_and_writes_its_report(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(ALONE)

    done = bench(str(file), "--name", "first", "--quiet", saves=tmp_path, figures=True, workers=True)

    assert done.returncode == 0, done.stderr
    assert "| Algorithm 1 |" in done.stdout
    assert (tmp_path / "bench/first/report/report.html").stat().st_size > 1000
    shown = bench("show", "first", saves=tmp_path)
    assert "1 of 1 finished" in shown.stdout
    assert "first" in bench("ls", saves=tmp_path).stdout
    again = bench(str(file), "--name", "first", "--quiet", saves=tmp_path)
    assert again.returncode == 2
    assert "jitrl bench resume first" in again.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["quik"], "did you mean 'quick'"),
        (["quick", "--arms", "Statik"], "did you mean 'Static'"),
        (["quick", "--max-minutes", "0"], "--max-minutes must be above 0"),
        (["quick", "--max-tokens", "0"], "--max-tokens must be at least 1"),
        (["quick", "--seeds", "x"], "--seeds takes a number"),
        (["quick", "--tasks", "no-such-game"], "no-such-game"),
        (["jericho", "--max-usd", "0", "--tasks", "pantry"], "--max-usd 0"),
        (["jericho", "--tasks", "pantry"], "--yes"),
        (["quick", "--models", "nonsense"], "there is no model 'nonsense'"),
        (["show", "nothing"], "there is no suite 'nothing'"),
        (["resume", "last"], "there is no run"),
    ],
)
def test_bad_input_is_one_sentence_and_begins_nothing(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", io.StringIO())  # no terminal that could be asked

    assert main(["bench", *words, "--saves", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert said in errors
    assert len([line for line in errors.splitlines() if line.startswith("jitrl")]) == 1
    assert not (tmp_path / "bench").exists()


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (["bench", "quick"], ["bench", "run", "quick"]),
        (["--saves", "bench", "bench", "quick"], ["--saves", "bench", "bench", "run", "quick"]),
        (["--saves=x", "bench", "mine.toml"], ["--saves=x", "bench", "run", "mine.toml"]),
        (["bench", "show", "quick"], ["bench", "show", "quick"]),
        (["bench", "--help"], ["bench", "--help"]),
        (["bench"], ["bench"]),
        (["--saves", "bench", "play", "pantry"], ["--saves", "bench", "play", "pantry"]),
        (["play", "bench", "pantry"], ["play", "bench", "pantry"]),
    ],
)
def test_a_suite_without_an_action_is_run(given, meant):
    assert _expanded(given) == meant


def test_a_price_is_that_of_the_list_and_unknown_without_one(tmp_path):
    known = bench("jericho", "--tasks", "pantry", "--dry-run", saves=tmp_path).stderr
    unknown = bench("jericho", "--tasks", "pantry", "--models", "openai/no-such", "--dry-run", saves=tmp_path).stderr

    assert "about $" in known
    assert "price unknown" in unknown
    # A model that its provider retires is told before anything is paid, also one that only litellm's list knows of.
    assert "retired from 2026-12-01 on" in known
    assert "--models gemini/gemini-3.5-flash-lite" in known
    listed = bench("jericho", "--tasks", "pantry", "--models", "deepseek/deepseek-chat", "--dry-run", saves=tmp_path)
    assert "deepseek/deepseek-chat is retired from 2026-07-24 on" in listed.stderr
    assert "retired" not in unknown
    assert "retired from 2026-12-01 on" in bench("show", "jericho", saves=tmp_path).stdout

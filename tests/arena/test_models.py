"""Runs with a model behind a real server: unusable answers, replies from the cache, a full disk."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest

from engine.bench import report
from engine.bench.cell_player import play as play_cell
from engine.bench.progress import RunLimits
from engine.bench.records import Failed
from engine.bench.runner import Runner
from engine.session.control import Control
from tests.arena.running import SMALL, planned, play, rows, runner
from tests.llm import server as bad
from tests.llm.scripted import player
from tests.llm.server import Server

TALKING = """
title = "Talking"
tasks = ["pantry"]
models = ["openai/test"]
episodes = 2
steps = 6

[[arms]]
name = "Static"
agent = "static"
"""
WRITING = (
    TALKING
    + """
[[arms]]
name = "Reflexion"
agent = "reflexion"
"""
)


@pytest.fixture(scope="module")
def served():
    """A server that plays well, for the workers."""
    with Server().running() as one, pytest.MonkeyPatch.context() as patch:
        one.default = player
        patch.setenv("JITRL_API_BASE", one.base)
        patch.setenv("OPENAI_API_KEY", "no-key-at-all-123")
        yield one


@pytest.fixture(scope="module")
def written(served, tmp_path_factory):
    """The saves folder of a run in which a method writes, and the run's folder."""
    saves = tmp_path_factory.mktemp("saves")
    code, folder = play(WRITING, saves, "first")
    assert code == 0
    return saves, folder


def test_replies_from_the_cache_give_the_same_rows_and_are_counted_as_bought(written):
    saves, first = written
    only = WRITING.replace('name = "Reflexion"', 'name = "Another"').replace('agent = "reflexion"', 'agent = "random"')
    code, second = play(only, saves, "second")

    assert code == 0
    static = [row for row in rows(first) if row["arm"] == "Static"]
    assert [row for row in rows(second) if row["arm"] == "Static"] == static
    assert all(row["prompt_tokens"] > 0 for row in static)
    timings = [json.loads(line) for line in (second / "timings.jsonl").read_text().splitlines()]
    assert all(row["paid_tokens"] == 0 for row in timings)


def test_calls_of_a_method_that_writes_are_counted_by_purpose(written):
    found = rows(written[1])

    learnt = [row for row in found if row["arm"] == "Reflexion"]
    assert all(row["calls"].get("reflection") == 1 for row in learnt if row["outcome"] != "won")
    assert all("reflection" not in row["calls"] for row in found if row["arm"] == "Static")


def test_a_model_that_answers_garbage_half_of_the_time_is_no_valid_row(served, tmp_path):
    turn = itertools.count()

    def half(handler, body):
        (player if next(turn) // 8 % 2 else bad.reply("I would rather talk about the weather."))(handler, body)

    served.default = half
    code, folder = play(TALKING.replace("steps = 6", "steps = 12"), tmp_path)

    assert code == 0
    missing = sum(row["answers"]["missing"] for row in rows(folder))
    assert missing > 0.1 * sum(row["answers"]["asked"] for row in rows(folder))
    assert "unusable" in report.markdown(report.load(folder)).lower()


class NoDisk:
    """An executor whose cells all fail because the disk is full."""

    place: ClassVar[dict[str, Any]] = {"on": "local", "nodes": {}}

    @property
    def free(self) -> int:
        return 1 - len(self.left)

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.left: list[str] = []

    def begin(self, job) -> None:
        self.begun.append(job.cell.name)
        self.left.append(job.cell.name)

    def messages(self, timeout: float):
        names, self.left = self.left, []
        return [Failed(name, "the disk is full", everywhere=True) for name in names]

    def stop(self) -> None:
        pass

    def close(self) -> None:
        pass


def test_a_disk_that_is_full_stops_the_run_and_what_is_finished_is_kept(tmp_path):
    folder, cells = planned(SMALL.replace("seeds = 2", "seeds = 1"), tmp_path)
    assert runner(folder, cells[:1], tmp_path, jobs=0).run() == 1  # the other cells are still waiting
    kept = (folder / "episodes.jsonl").read_bytes()
    full = NoDisk()
    run = Runner(folder, cells, full, RunLimits(), lambda message: None, tmp_path)

    assert run.run() == 1
    assert run.stopped == "the disk is full"
    assert full.begun == [cells[1].name]
    assert (folder / "episodes.jsonl").read_bytes() == kept
    assert runner(folder, cells, tmp_path, jobs=0).run() == 0


def test_a_worker_that_cannot_write_says_that_other_cells_would_fail_as_well(tmp_path):
    _, cells = planned(SMALL, tmp_path)
    told = []
    play_cell(cells[0], Path("/dev/full/cell"), tmp_path, told.append, Control())

    assert isinstance(told[-1], Failed)
    assert told[-1].everywhere

"""Small suites that are really played, for tests of the bench."""

from __future__ import annotations

import contextlib
import io
import json
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, ClassVar
from unittest.mock import patch

from engine.bench import cell_player, executor
from engine.bench import folder as folders
from engine.bench import plan as plans
from engine.bench import suite as suites
from engine.bench.executor import LocalPool
from engine.bench.progress import RunLimits
from engine.bench.records import Failed, Finished, Message, Stopped
from engine.bench.report import images
from engine.bench.runner import Runner
from engine.bench.worker import CellJob
from engine.kinds import EnvironmentContext
from engine.session.control import Control
from jitrl_tui.cli import main
from tests.commands import run

SMALL = """
title = "Small"
tasks = ["pantry"]
models = ["prior/verbs"]
seeds = 2
episodes = 3
steps = 12

[[arms]]
name = "Static"
agent = "static"
reference = true

[[arms]]
name = "Algorithm 1"
agent = "jitrl"
settings = { estimator = "knn", selection = "sample", beta = 1.0 }
"""

ONCE = SMALL.replace("seeds = 2", "seeds = 1")
ALONE = "[[arms]]".join(ONCE.split("[[arms]]")[::2])
"""The suite with Algorithm 1 alone: one cell."""


def planned(text: str, saves: Path, name: str = "a run"):
    """Return folder and cells of a new run of a suite."""
    plan = plans.make_plan(suites.parse(text, "small", "small.toml"), EnvironmentContext(saves), "small.toml")
    return folders.create(saves, plan, name.replace(" ", "-"), "jitrl bench run small"), plan.cells


class Here:
    """An executor that plays one cell at a time in this process. Starting one of its own takes longer than a cell."""

    place: ClassVar[dict[str, Any]] = {"on": "local", "nodes": {}}

    def __init__(self) -> None:
        self._told: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._control = Control()
        self._playing: threading.Thread | None = None

    @property
    def free(self) -> int:
        return self._playing is None

    def begin(self, job: CellJob) -> None:
        told = job.cell, Path(job.folder), Path(job.saves), self._told.put, self._control
        self._playing = threading.Thread(target=cell_player.play, args=told)
        self._playing.start()

    def messages(self, timeout: float) -> list[Message]:
        try:
            message = self._told.get(timeout=timeout)
        except queue.Empty:
            return []
        if isinstance(message, (Finished, Failed, Stopped)):
            self.close()
        return [message]

    def stop(self) -> None:
        self._control.stop()

    def close(self) -> None:
        if self._playing is not None:
            self._playing.join()
        self._playing = None


def runner(folder: Path, cells, saves: Path, tell=lambda message: None, limits: RunLimits | None = None, jobs: int = 2):
    """Return a runner with a pool of real processes, or of none (`jobs=0`)."""
    return Runner(folder, cells, LocalPool(jobs) if jobs else Here(), limits or RunLimits(), tell, saves)


def play(text: str, saves: Path, name: str = "a run", jobs: int = 0) -> tuple[int, Path]:
    """Play a new run of a suite, in processes of its own if there are `jobs`; return the exit code and the folder."""
    folder, cells = planned(text, saves, name)
    return runner(folder, cells, saves, jobs=jobs).run(), folder


def rows(folder: Path) -> list[dict]:
    """Return the rows of a run."""
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def bench(*words: str, saves: Path, figures: bool = False, workers: bool = False) -> subprocess.CompletedProcess[str]:
    """Run `jitrl bench` in this process.

    Its reports have no more than an empty picture unless there are `figures`, and its cells are played in this process
    unless there are `workers`.
    """
    out, err = io.StringIO(), io.StringIO()
    empty = patch.object(images, "draw", lambda figure, ending: b"<svg ></svg>")
    drawn = contextlib.nullcontext() if figures else empty
    pool = contextlib.nullcontext() if workers else patch.object(executor, "LocalPool", lambda jobs: Here())
    with drawn, pool, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = main(["bench", *words, "--saves", str(saves)])
        except SystemExit as end:
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def command(*words: str, saves: Path) -> subprocess.CompletedProcess[str]:
    """Run `jitrl bench` as a process of its own."""
    started = [sys.executable, "-m", "jitrl_tui.cli", "bench", *words, "--saves", str(saves)]
    return run(started, capture_output=True, text=True, timeout=120)

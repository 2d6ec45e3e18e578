"""Small suites that are really played, for tests of the bench."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from engine.bench import folder as folders
from engine.bench import plan as plans
from engine.bench import suite as suites
from engine.bench.executor import LocalPool
from engine.bench.progress import Limits
from engine.bench.runner import Runner
from engine.kinds import Places

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


def planned(text: str, saves: Path, name: str = "a run"):
    """Return folder and cells of a new run of a suite."""
    plan = plans.planned(suites.parse(text, "small", "small.toml"), Places(saves), "small.toml")
    return folders.create(saves, plan, name.replace(" ", "-"), "jitrl bench run small"), plan.cells


def runner(folder: Path, cells, saves: Path, tell=lambda message: None, limits: Limits | None = None, jobs: int = 2):
    """Return a runner with a pool of real processes."""
    return Runner(folder, cells, LocalPool(jobs), limits or Limits(), tell, saves)


def play(text: str, saves: Path, name: str = "a run", **more) -> tuple[int, Path]:
    """Play a new run of a suite; return the exit code and the folder."""
    folder, cells = planned(text, saves, name)
    return runner(folder, cells, saves, **more).run(), folder


def rows(folder: Path) -> list[dict]:
    """Return the rows of a run."""
    return [json.loads(line) for line in (folder / "episodes.jsonl").read_text().splitlines()]


def bench(*words: str, saves: Path, **more) -> subprocess.CompletedProcess[str]:
    """Run `jitrl bench` as a command."""
    command = [sys.executable, "-m", "jitrl_tui.cli", "bench", *words, "--saves", str(saves)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, **more)

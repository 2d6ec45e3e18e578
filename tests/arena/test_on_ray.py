"""Runs of small suites on a Ray of this machine, and what is refused before anything is played."""

from __future__ import annotations

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from engine.bench import folder as folders
from engine.bench import plan as plans
from engine.bench import suite as suites
from engine.bench.manifest import read_manifest
from engine.bench.on_ray import guard, hold, needs, nodes, opening, work
from engine.bench.on_ray.address import ray_address
from engine.bench.on_ray.executor import RayExecutor
from engine.bench.progress import Limits
from engine.bench.records import Ended, Said, Stepped
from engine.bench.runner import Runner
from engine.errors import MissingError, StorageError, UsageError
from engine.kinds import Places
from tests.arena.running import SMALL, bench, play, rows
from tests.arena.running import runner as local_runner

pytest.importorskip("ray", reason="Ray is not installed: pip install 'jitrl[ray]'")

TWO = SMALL.replace("seeds = 2", "seeds = 1")


@pytest.fixture(scope="module")
def ray():
    """Ray on this machine for two cells at a time. Nothing of it is left in the end."""
    before = set(Path("/tmp").glob("jitrl-ray-*"))
    with opening.connected("ray", 2) as library:
        mine = set(Path("/tmp").glob("jitrl-ray-*")) - before
        yield library
    for folder in mine:
        assert not folder.exists()
        assert guard.using(folder) == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The rows of the suite, played by processes of this machine."""
    code, folder = play(TWO, tmp_path_factory.mktemp("whole"))
    assert code == 0
    return (folder / "episodes.jsonl").read_bytes()


def planned(saves: Path, text: str = TWO):
    """Return a plan, and the folder of a run of it."""
    plan = plans.planned(suites.parse(text, "small", "small.toml"), Places(saves), "small.toml")
    return plan, folders.create(saves, plan, "run", "jitrl bench run small")


def runner(ray, plan, folder: Path, saves: Path, tell=lambda message: None):
    """Return a runner that plays on Ray."""
    executor = RayExecutor(ray, "ray", nodes.checked(ray, plan, saves), saves, 2)
    return Runner(folder, plan.cells, executor, Limits(), tell, saves)


def workers(cell: str) -> list[int]:
    """Return the processes that play a cell."""
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdecimal() and f"cell {cell}".encode() in _command(process)
    ]


def _command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def test_a_killed_worker_is_taken_up_again_and_the_rows_are_those_of_the_local_pool(ray, whole, tmp_path):
    plan, folder = planned(tmp_path)
    told, killed = [], []

    def tell(message):
        told.append(message)
        if isinstance(message, Stepped) and not killed:
            killed.extend(workers(message.cell))
            for pid in killed:
                os.kill(pid, signal.SIGKILL)

    assert runner(ray, plan, folder, tmp_path, tell).run() == 0

    assert len(killed) == 1
    assert [message.message for message in told if isinstance(message, Said)] == ["its worker died; it is taken up again"]
    assert (folder / "episodes.jsonl").read_bytes() == whole
    manifest = read_manifest(folder)
    host = os.uname().nodename
    assert (manifest["on"], set(manifest["nodes"])) == ("ray", {host})
    assert {cell["node"] for cell in manifest["cells"].values()} == {host}

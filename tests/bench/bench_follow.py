"""What it costs a session that it can be followed and steered: one JSON line a figure.

    python -m tests.bench.bench_follow [--pairs 8] [--episodes 60] [--postgres]

A session without a language model is played again and again: as it is, and with nothing that can be followed, one after
the other. The figure is the median of the ratios of the pairs, in seconds of processor time and of wall time. With
`--postgres` it is the same for a session that can be followed through the database of its memory as well, while nobody
follows and while somebody does. Then, the time to follow a run of 1,000 cells.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

from engine.bench.follower import FollowedRun, RunFolder
from engine.bench.progress import RunLimits
from engine.bench.records import Began, CellStepped, Ended
from engine.bench.run_events import RunWriter
from engine.session import store as sessions
from engine.session.loop import Session
from engine.session.remote.host import SessionHost
from engine.session.remote.relayed import RelayedSession
from engine.settings import SessionConfig, Settings
from tests.arena.running import planned
from tests.bench.bench_memory import say
from tests.memory.postgres import Cluster

STEPS = 60


def play(folder: Path, episodes: int, memory: str = "own") -> tuple[float, float]:
    """Play a new session; return seconds of processor time and of wall time."""
    config = SessionConfig("pantry", agent="static", model="prior/verbs", episodes=episodes, memory=memory,
                           settings=Settings(step_limit=STEPS))  # fmt: skip
    saved = sessions.create(folder, config, "run")
    session = Session(saved, folder, lambda event: None)
    cpu, wall = time.process_time(), time.perf_counter()
    session.run()
    assert session.error is None
    return time.process_time() - cpu, time.perf_counter() - wall


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Play sessions that nobody can follow."""
    with mock.patch.object(SessionHost, "start"), mock.patch.object(SessionHost, "see"):
        yield


@contextlib.contextmanager
def watched(address: str, folder: Path) -> Iterator[None]:
    """Follow each session of a folder that begins, through the database, in another process."""
    words = [sys.executable, "-m", "tests.bench.bench_follow", "--watch", address, str(folder)]
    follower = subprocess.Popen(words)
    try:
        yield
    finally:
        follower.kill()
        follower.wait()


def watch(address: str, folder: Path) -> None:
    """Follow the newest session of a folder until this process is killed."""
    name, session = "", None
    while True:
        playing = [place.parent.name for place in (folder / "sessions").glob("*/live.json")]
        if playing and playing[-1] != name:
            name, session = playing[-1], RelayedSession(address, playing[-1])
        if session is not None:
            session.new()
        time.sleep(0.2)


def ratios(name: str, pairs: int, folder: Path, episodes: int, memory: str = "own") -> None:
    """Say what being followable costs."""
    cpu, wall = [], []
    for number in range(pairs):
        with_it, without = (0.0, 0.0), (0.0, 0.0)
        for turn in (number % 2, 1 - number % 2):
            if turn:
                with_it = play(folder, episodes, memory)
            else:
                with alone():
                    without = play(folder, episodes, memory)
        cpu.append(with_it[0] / without[0])
        wall.append(with_it[1] / without[1])
    say(f"{name}, processor time", statistics.median(cpu), "ratio")
    say(f"{name}, wall time", statistics.median(wall), "ratio")


def grid(folder: Path) -> None:
    """Say what following a run of 1,000 cells takes."""
    seeds = ", ".join(map(str, range(1, 1001)))
    suite = f"""
        title = "Large"
        tasks = ["pantry"]
        models = ["prior/verbs"]
        seeds = [{seeds}]
        episodes = 20
        [[arms]]
        name = "Static"
        agent = "static"
    """
    place, cells = planned(suite, folder)
    telling = RunWriter(place, RunLimits())
    telling.begin(16, {})
    for cell in cells:
        telling.note(Began(cell.name))
        for episode in range(1, 21):
            telling.note(Ended(cell.name, 0, episode, 5.0, 14.0, 60, 0, 0.0, 1.0))
    size = os.path.getsize(place / "told.jsonl")
    began = time.perf_counter()
    run = FollowedRun(RunFolder(place))
    say("1,000 cells: read the plan", 1000 * (time.perf_counter() - began), "ms")
    began = time.perf_counter()
    count = len(run.new())
    while run.files.more:
        count += len(run.new())
    say(f"1,000 cells: read {count:,} messages ({size / 1e6:.1f} MB) once", 1000 * (time.perf_counter() - began), "ms")
    times = []
    for number in range(200):
        telling.note(CellStepped(cells[number].name, 0, 1, number + 1, 0.0, "wait"))
        telling._shown_at = 0.0
        telling.beat()
        began = time.perf_counter()
        assert run.new()
        times.append(time.perf_counter() - began)
    say("1,000 cells: a look with something new", 1000 * statistics.median(times), "ms")
    telling.close("")


def main() -> None:
    """Print all figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=8)
    parser.add_argument("--episodes", type=int, default=60)
    parser.add_argument("--postgres", action="store_true")
    parser.add_argument("--watch", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.watch:
        watch(args.watch[0], Path(args.watch[1]))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        play(folder, 2)  # what is imported, is imported
        ratios("can be followed", args.pairs, folder, args.episodes)
        grid(folder)
        if args.postgres:
            with Cluster() as cluster:
                address = cluster.database()
                ratios("can be followed through a database", args.pairs, folder, args.episodes, address)
                with watched(address, folder):
                    ratios("is followed through a database", args.pairs, folder, args.episodes, address)


if __name__ == "__main__":
    main()

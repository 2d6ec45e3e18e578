"""Long fault trials of benchmarks on Ray: `make soak-ray`.

    python -m tests.bench.soak_ray [--trials 3] [--cells 6] [--episodes 25] [--seed 1]

Each trial plays a suite on a cluster of three nodes of this machine. Meanwhile workers are killed, at most one of each
cell, and a node, which is replaced by a new one. Then the head node is killed in the middle of another run, which is
resumed with the local pool. The rows must be those of a run that nobody disturbed. Ends with `N survived, M lost`.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.bench.on_ray import guard, ray_cluster
from engine.bench.records import Ended, Said
from tests.arena.ray_nodes import cluster, planned, runner, workers
from tests.arena.running import SMALL, play


def suite(cells: int, episodes: int) -> str:
    return SMALL.replace("seeds = 2", f"seeds = {cells // 2}").replace("episodes = 3", f"episodes = {episodes}")


class Blows:
    """Kills workers and a node while a run is played, at counts of finished episodes."""

    def __init__(self, ray, nodes, rng: random.Random, episodes: int) -> None:
        self.ray, self.nodes = ray, nodes
        self.victims = [nodes.add() for _ in range(2)]
        self.at = sorted(rng.randrange(episodes // 10, episodes * 8 // 10) for _ in range(4))
        self.node_at = rng.randrange(episodes // 4, episodes // 2)
        self.hit: set[str] = set()
        self.done = self.resumed = 0

    def __call__(self, message: object) -> None:
        if isinstance(message, Said) and "resumed" in message.message:
            self.resumed += 1
        if not isinstance(message, Ended) or message.again:
            return
        self.done += 1
        if self.at and self.done >= self.at[0] and message.cell not in self.hit:
            self.at.pop(0)
            self.hit.add(message.cell)
            for pid in workers(self.ray, message.cell):
                os.kill(pid, signal.SIGKILL)
        if self.victims and self.done >= self.node_at:
            self.nodes.kill(self.victims.pop(0))
            self.victims.clear()
            self.nodes.add()


def trial(folder: Path, args: argparse.Namespace, seed: int) -> Iterator[str]:
    """Do all of it; yield a sentence for each thing that is wrong."""
    text = suite(args.cells, args.episodes)
    _, whole = play(text, folder / "whole")
    want = (whole / "episodes.jsonl").read_bytes()
    with cluster() as nodes:
        with ray_cluster.connect_ray(nodes.on, 1) as ray:
            blows = Blows(ray, nodes, random.Random(seed), args.cells * args.episodes)
            plan, run = planned(text, folder / "killed")
            code = runner(ray, plan, run, folder / "killed", blows).run()
        print(f"seed {seed}: {len(blows.hit)} workers and a node killed, {blows.resumed} cells resumed",
              file=sys.stderr)  # fmt: skip
        if code or (run / "episodes.jsonl").read_bytes() != want:
            yield f"seed {seed}: the rows of the run with kills differ (code {code})"
        place = nodes.folder
        yield from head(folder / "head", text, nodes, want, seed)
    if left := guard.processes_using(place):
        yield f"seed {seed}: processes are left: {left}"


def head(saves: Path, text: str, nodes, want: bytes, seed: int) -> Iterator[str]:
    """Kill the head node in the middle of a run, and go on with the local pool."""
    saves.mkdir()
    (saves / "small.toml").write_text(text)
    command = [sys.executable, "-m", "jitrl_tui.cli", "bench"]
    more = ["--saves", str(saves), "--quiet"]
    process = subprocess.Popen(
        [*command, str(saves / "small.toml"), "--name", "run", "--on", nodes.on, *more],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while process.poll() is None and not list(saves.glob("bench/run/cells/*/000/events.jsonl")):
        time.sleep(0.05)
    nodes.kill_head()
    said = process.communicate()[1]
    if process.returncode not in (0, 1) or (process.returncode and "head node" not in said):
        yield f"seed {seed}: the command ended with {process.returncode}: {said[-300:]}"
    resumed = subprocess.run(
        [*command, "resume", "run", *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False
    )
    if resumed.returncode or (saves / "bench/run/episodes.jsonl").read_bytes() != want:
        yield f"seed {seed}: the rows differ that were resumed after the head node was killed: {resumed.stderr[-300:]}"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("trials", 3), ("cells", 6), ("episodes", 25), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    args = parser.parse_args(argv)
    lost = 0
    for seed in range(args.seed, args.seed + args.trials):
        with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as folder:
            problems = list(trial(Path(folder), args, seed))
        for problem in problems:
            print(problem, file=sys.stderr)
        lost += bool(problems)
    print(f"{args.trials - lost} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

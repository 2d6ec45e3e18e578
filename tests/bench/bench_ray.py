"""What playing on Ray costs, compared with the local pool in the same run: one JSON line a figure.

    python -m tests.bench.bench_ray [--cells 40] [--rounds 3] [--no-kills]

Cells have no model. The overhead of a cell is the time of a run of very small cells, one at a time and divided by their
number, less what a cell takes when it is played in this process. The same is told of processor time, which depends less
on what else the machine does; on Ray, that is the time of this process, the workers, the raylet and the head. Recovery
begins with a SIGKILL and ends with the next step of the cell, or of any cell where the head node is killed. Each round
prints its own figures, and the load average.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.bench import cell_player
from engine.bench.executor import LocalPool
from engine.bench.on_ray import guard, ray_cluster
from engine.bench.progress import RunLimits
from engine.bench.records import CellStepped
from engine.bench.runner import Runner
from engine.session.control import Control
from tests.arena.ray_nodes import Nodes, cluster, folder_of, planned, runner, workers
from tests.bench.bench_memory import note, say

TINY = """
title = "Tiny cells"
tasks = ["pantry"]
models = ["prior/verbs"]
seeds = {seeds}
episodes = {episodes}
steps = {steps}

[[arms]]
name = "Static"
agent = "static"
"""


@dataclass(frozen=True)
class Spent:
    """What a run took, a cell: milliseconds on the clock and of the processors."""

    wall: float
    processor: float

    def less(self, other: Spent) -> Spent:
        return Spent(self.wall - other.wall, self.processor - other.processor)


def spent(action: Callable[[], object], cells: int, others: Callable[[], float] = lambda: 0.0) -> Spent:
    """Return what an action took, in this process, its children, and other processes."""
    before = sum(os.times()[:4]) + others()
    wall = seconds(action)
    return Spent(1000 * wall / cells, 1000 * (sum(os.times()[:4]) + others() - before) / cells)


def of_ray(ray) -> float:
    """Return the processor time in seconds of the processes of our Ray that have to do with cells."""
    found = 0.0
    for pid in guard.processes_using(folder_of(ray)):
        with contextlib.suppress(OSError):
            text = Path(f"/proc/{pid}/stat").read_text()
            name = text[text.index("(") + 1 : text.rindex(")")]
            if name in ("raylet", "gcs_server") or (name.startswith("ray::") and "Agent" not in name):
                numbers = text[text.rindex(")") + 2 :].split()[11:15]
                found += sum(map(int, numbers)) / os.sysconf("SC_CLK_TCK")
    return found


def tiny(cells: int) -> str:
    return TINY.format(seeds=cells, episodes=1, steps=2)


def long(cells: int, episodes: int = 60) -> str:
    return TINY.format(seeds=cells, episodes=episodes, steps=40)


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def in_this_process(text: str, saves: Path) -> Spent:
    """Return what a suite's cells take, played one after the other in this process."""
    plan, folder = planned(text, saves)
    cells = [(cell, folder / "cells" / cell.name) for cell in plan.cells]
    cell_player.play(*cells[0], saves, lambda message: None, Control())  # imports
    plan, folder = planned(text, saves, "again")
    return spent(lambda: [
        cell_player.play(cell, folder / "cells" / cell.name, saves, lambda message: None, Control())
        for cell in plan.cells
    ], len(plan.cells))  # fmt: skip


def on_ray(ray, text: str, saves: Path, name: str, jobs: int) -> Spent:
    plan, folder = planned(text, saves, name)
    one = runner(ray, plan, folder, saves, jobs=jobs)
    return spent(one.run, len(plan.cells), lambda: of_ray(ray))


def local(text: str, saves: Path, name: str, jobs: int) -> Spent:
    plan, folder = planned(text, saves, name)
    one = Runner(folder, plan.cells, LocalPool(jobs), RunLimits(), lambda message: None, saves)
    return spent(one.run, len(plan.cells))


def bench_costs(saves: Path, cells: int, rounds: int) -> None:
    """Measure the overhead of a cell, and what a second worker gains."""
    with ray_cluster.connect_ray("ray", 2) as ray:
        note("warming up ...")
        on_ray(ray, tiny(4), saves / "warm", "run", 2)
        for number in range(rounds):
            here = saves / str(number)
            bare = in_this_process(tiny(cells), here / "bare")
            played = on_ray(ray, tiny(cells), here / "ray", "one", 1).less(bare)
            pool = local(tiny(cells), here / "pool", "one", 1).less(bare)
            say("cell of 2 steps, played in this process", bare.wall, "ms")
            say("overhead of a cell on Ray", played.wall, "ms", target=50.0, peer="local pool", peer_value=pool.wall)
            say("cell of 2 steps, played in this process: processor time", bare.processor, "ms")
            say("overhead of a cell on Ray: processor time", played.processor, "ms", target=50.0,
                peer="local pool", peer_value=pool.processor)  # fmt: skip
            one = on_ray(ray, long(8, 20), here / "ray", "long-one", 1)
            two = on_ray(ray, long(8, 20), here / "ray", "long-two", 2)
            say("8 cells of 20 episodes, 1 worker over 2 (target: at least 1.8)", one.wall / two.wall, "times")
            say("load average", os.getloadavg()[0], "processes")


class Watch:
    """Kills something at the first chance, and measures until the next step of the cell that was lost.

    Args:
        kill: Kills; gets the name of a running cell, and returns the cells that may be lost.
    """

    def __init__(self, kill: Callable[[str], None]) -> None:
        self._kill = kill
        self._at = 0.0
        self._lost = ""
        self.took = 0.0

    def __call__(self, message: object) -> None:
        name = getattr(message, "cell", "")
        if isinstance(message, CellStepped):
            if not self._at and message.episode >= 3:
                self._at = time.perf_counter()
                self._kill(name)
            elif self._lost == name and not self.took:
                self.took = time.perf_counter() - self._at
        elif "resumed" in getattr(message, "message", ""):
            self._lost = name


def bench_kills(saves: Path, nodes: Nodes, ray) -> None:
    """Measure the time until a cell goes on whose worker or node was killed."""

    def worker(name: str) -> None:
        for pid in workers(ray, name):
            os.kill(pid, signal.SIGKILL)

    victims = [nodes.add(), nodes.add()]
    for what, kill in (("worker", worker), ("node", lambda name: nodes.kill(victims[0]))):
        plan, folder = planned(long(2), saves, what)
        watch = Watch(kill)
        runner(ray, plan, folder, saves, watch).run()
        if watch.took:
            say(f"after SIGKILL of a {what}: until the cell goes on", watch.took, "s")
        else:
            note(f"the {what} that was killed played nothing")
        if what == "node":
            nodes.add()


def bench_head(saves: Path, nodes: Nodes) -> None:
    """Measure the time until the command ends whose head node was killed, and until its run goes on without Ray."""
    suite = saves / "long.toml"
    suite.write_text(long(2, 2000))
    command = [sys.executable, "-m", "jitrl_tui.cli", "bench"]
    begin = [*command, str(suite), "--on", nodes.on, "--name", "head", "--quiet", "--saves", str(saves)]
    process = subprocess.Popen(begin, stderr=subprocess.PIPE, text=True)
    recordings = saves / "bench/head/cells"
    while process.poll() is None and not list(recordings.glob("*/000/events.jsonl")):
        time.sleep(0.1)
    time.sleep(2)
    nodes.kill_head()
    say("after SIGKILL of the head node: until the command ends", seconds(process.communicate), "s")
    before = {path: path.stat().st_size for path in recordings.glob("*/000/events.jsonl")}
    again = subprocess.Popen(
        [*command, "resume", "head", "--quiet", "--saves", str(saves)],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    say("then, with the local pool: until a cell goes on", seconds(lambda: _grown(before)), "s")
    again.send_signal(signal.SIGINT)
    again.wait()


def _grown(before: dict[Path, int]) -> None:
    while all(path.stat().st_size == size for path, size in before.items()):
        time.sleep(0.02)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-kills", action="store_true")
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="jitrl-bench-") as folder:
        saves = Path(folder)
        bench_costs(saves, args.cells, args.rounds)
        if not args.no_kills:
            note("killing ...")
            with cluster() as nodes:
                with ray_cluster.connect_ray(nodes.on, 1) as ray:
                    bench_kills(saves, nodes, ray)
                bench_head(saves, nodes)
    return 0


if __name__ == "__main__":
    sys.exit(main())

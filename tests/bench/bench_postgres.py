"""What a memory on PostgreSQL costs, compared with one on disk in the same run: one JSON line a figure.

    python -m tests.bench.bench_postgres [--entries 100000 1000000] [--workers 16] [--folder DIR]

The server is one of this machine, on a socket, with its usual settings. Data are those of `bench_memory`. The time
until another worker sees an episode begins when its append begins. It is measured with workers that each have a replica
of their own and look every 5 ms.
"""

from __future__ import annotations

import argparse
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.environments import scope_rules
from engine.memory import Memory
from engine.memory.scope import Scope
from engine.memory.shared import carrying
from engine.memory.shared.memory import SharedMemory
from tests.bench.bench_memory import NAME, note, say, size_name
from tests.bench.worlds import World
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster, missing

QUERIES, APPENDS, SEEN = 60, 60, 40
LOOK_S = 0.005


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def p95(times: Sequence[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def bench_size(cluster: Cluster, folder: Path, entries: int) -> None:
    """Measure opening, queries and appends at one size."""
    world, name = World(1), size_name(entries)
    address = cluster.database()
    note(f"{name} entries: making them ...")
    with Memory(folder / "memory", rules=scope_rules) as memory:
        scope = memory.scope(NAME)
        batch = []
        for episode in world.episodes(entries):
            batch.append(episode)
            if len(batch) == 200:
                scope.append_all(batch)
                batch = []
        scope.append_all(batch)
        with SharedMemory(address, folder / "saves", rules=scope_rules) as shared:
            say(f"push of {name}", seconds(lambda: carrying.push(scope, shared)), "s")
            note("opening ...")
            say(f"first open at {name}, without a replica", seconds(lambda: shared.scope(NAME)), "s")
        shared = SharedMemory(address, folder / "saves", rules=scope_rules)
        target = 5.0 if entries >= 1_000_000 else None
        say(f"open at {name}", seconds(lambda: shared.scope(NAME)), "s", target=target)
        with shared:
            note("querying and appending ...")
            bench_queries(scope, shared.scope(NAME), world, name)
            bench_appends(scope, shared.scope(NAME), world, entries)


def bench_queries(scope: Scope, shared: Scope, world: World, name: str) -> None:
    """Ask both the same, in turn."""
    queries = [step.state for step in world.episode(QUERIES).steps]
    times: dict[str, list[float]] = {"disk": [], "server": []}
    wrong = 0
    for query in queries:
        rounds: dict[str, list[float]] = {"disk": [], "server": []}
        for _ in range(5):
            for kind, one in (("disk", scope), ("server", shared)):
                rounds[kind].append(
                    seconds(lambda: one.neighbours(query, k=10, r=0.85, gamma=0.5, history_weight=0.25))  # noqa: B023
                )
        for kind, spent in rounds.items():
            times[kind].append(statistics.median(spent))
        how = {"k": 10, "r": 0.85, "gamma": 0.5, "history_weight": 0.25}
        wrong += scope.neighbours(query, **how) != shared.neighbours(query, **how)
    disk, server = (statistics.mean(times[kind]) * 1e3 for kind in ("disk", "server"))
    say(f"query at {name}, r .85", server, "ms", peer="on disk", peer_value=disk)
    say(f"query at {name}, times that on disk", server / disk, "", target=1.2)
    say(f"mismatches at {name}", wrong, "", target=0)


def bench_appends(scope: Scope, shared: Scope, world: World, entries: int) -> None:
    """Append the same episodes to both, in turn."""
    times: dict[str, list[float]] = {"disk": [], "server": []}
    for number in range(APPENDS + 1):
        episode = world.episode()
        for kind, one in (("disk", scope), ("server", shared)):
            spent = seconds(lambda: one.append(episode)) * 1e3  # noqa: B023
            if number:  # the first append after opening copies the index's arrays
                times[kind].append(spent)
    name = size_name(entries)
    peer = statistics.median(times["disk"])
    target = 25.0 if entries >= 1_000_000 else None
    say(f"append of 60 steps at {name}, median", statistics.median(times["server"]), "ms", target=target,
        peer="on disk", peer_value=peer)  # fmt: skip
    say(f"append of 60 steps at {name}, p95", p95(times["server"]), "ms", peer="on disk", peer_value=p95(times["disk"]))


def look(address: str, saves: str, count: str) -> None:
    """Print the time at which each further episode is seen."""
    with SharedMemory(address, Path(saves)) as memory:
        scope = memory.scope(NAME)
        print("ready", flush=True)
        seen = 0
        while seen < int(count):
            while scope.episode_count > seen:
                seen += 1
                print(time.time(), flush=True)
            time.sleep(LOOK_S)


def bench_seen(cluster: Cluster, folder: Path, workers: int) -> None:
    """Measure how long it takes until all others see an episode."""
    address = cluster.database()
    with SharedMemory(address, folder / "writer") as memory:
        command = [sys.executable, "-m", "tests.bench.bench_postgres", "look", address]
        started = [
            subprocess.Popen([*command, str(folder / f"w{n}"), str(SEEN)], stdout=subprocess.PIPE, text=True)
            for n in range(workers)
        ]
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        sent = []
        scope = memory.scope(NAME)
        for number in range(SEEN):
            episode = make_episode(random.Random(number), f"u{number}", 60)
            sent.append(time.time())
            scope.append(episode)
            time.sleep(0.25)
        times = []
        for one in started:
            out = one.communicate(timeout=60)[0]
            times += [(float(line) - at) * 1e3 for line, at in zip(out.split(), sent, strict=True)]
    name = f"seen by {workers} other workers"
    say(f"{name}, median", statistics.median(times), "ms")
    say(f"{name}, p95", p95(times), "ms", target=100.0)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entries", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 16])
    parser.add_argument("--folder", help="a folder on the disk to be measured", default=None)
    args = parser.parse_args(argv)
    if problem := missing():
        note(problem)
        return 1
    with Cluster() as cluster:
        for workers in args.workers:
            with tempfile.TemporaryDirectory(dir=args.folder, prefix="jitrl-bench-") as folder:
                bench_seen(cluster, Path(folder), workers)
        for entries in args.entries:
            with tempfile.TemporaryDirectory(dir=args.folder, prefix="jitrl-bench-") as folder:
                bench_size(cluster, Path(folder), entries)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["look"]:
        look(*sys.argv[2:])
    else:
        sys.exit(main())

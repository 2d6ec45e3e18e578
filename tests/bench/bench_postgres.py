"""What a memory on PostgreSQL costs, compared with one on disk in the same run: one JSON line a figure.

    python -m tests.bench.bench_postgres [--parts sizes seen notify recovery] [--entries 1000 1000000] [--folder DIR]

A quick run is `--parts sizes --entries 10000`. A million entries take some minutes and 5 GB of disk.

The server is one of this machine, on a socket, with its usual settings. Data are those of `bench_memory`. The time
until another worker sees an episode begins when its append begins. It is measured with workers that each have a replica
of their own and look every 5 ms.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import gc
import importlib
import itertools
import json
import random
import resource
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from engine.environments import scope_rules
from engine.memory import Memory
from engine.memory.disk.document import EPISODES, to_document
from engine.memory.scope import Scope
from engine.memory.shared.log import CHANNEL
from engine.memory.shared.memory import SharedMemory
from engine.memory.shared.rows import Counters, new_row
from engine.wait import readable_of
from tests.bench.bench_memory import NAME, note, say, size_name
from tests.bench.worlds import World
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster, missing

QUERIES, APPENDS, SEEN, COMMITS = 60, 60, 40, 200
PEERS = 1_000_000
"""Largest size that is compared with a memory on disk."""
LOOK_S = 0.005


def seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def p95(times: Sequence[float]) -> float:
    return sorted(times)[int(0.95 * len(times))]


def bench_size(cluster: Cluster, folder: Path, entries: int) -> None:
    """Measure opening, memory, queries, appends and catching up at one size."""
    world, name = World(1), size_name(entries)
    address = cluster.database()
    note(f"{name} entries: making them ...")
    with SharedMemory(address, folder / "saves", follow=False, rules=scope_rules) as shared:
        say(f"fill of {name}, with making them", seconds(lambda: fill(shared, world, entries)), "s")
        size = "SELECT pg_total_relation_size('jitrl.log')"
        (on_server,) = cluster.sql(size, database=address.partition("?")[0].rpartition("/")[2])[0]
    say(f"bytes an entry on the server at {name}", on_server / entries, "B")
    note("opening ...")
    first, again = (asked("open", address, str(folder / "saves")) for _ in range(2))
    target = 5.0 if entries >= 1_000_000 else None
    say(f"first open at {name}, without a replica", first["wall"], "s")
    say(f"first open at {name}, processor", first["cpu"], "s")
    say(f"first open at {name}, largest memory", first["peak"] / 1e6, "MB")
    say(f"open at {name}", again["wall"], "s", target=target)
    base, held = again["base"], again["rss"]
    say(f"memory of a worker at {name}", held / 1e6, "MB", peer="before it opened", peer_value=base / 1e6)
    say(f"memory an entry at {name}", (held - base) / entries, "B",
        peer="index alone", peer_value=again["index"] / entries)  # fmt: skip
    with SharedMemory(address, folder / "saves", rules=scope_rules) as shared:
        place = shared.scope(NAME).folder
        say(f"bytes an entry of the replica at {name}", sum(f.stat().st_size for f in place.iterdir()) / entries, "B")
        if entries > PEERS:
            bench_appends(None, shared.scope(NAME), world, entries)
            return
        # A replica is a usual journal, so a copy of it is the same memory on disk, and the replica of another machine.
        shutil.copytree(place, folder / "memory" / place.name)
        shutil.copytree(folder / "saves", folder / "other")
        note("querying and appending ...")
        with Memory(folder / "memory", rules=scope_rules) as memory:
            bench_queries(memory.scope(NAME), shared.scope(NAME), world, name)
            bench_appends(memory.scope(NAME), shared.scope(NAME), world, entries)
        bench_catching_up(address, folder / "other", shared.scope(NAME), world, name)


def fill(shared: SharedMemory, world: World, entries: int) -> None:
    """Store episodes in a new scope, without a replica."""
    counters = Counters()

    def rows() -> Iterator[tuple[str, int, dict[str, Any]]]:
        for number, episode in enumerate(world.episodes(entries), 1):
            document = to_document(dataclasses.replace(episode, number=number), counters.next_entry)
            counters.count(EPISODES, number, number, counters.next_entry, len(episode.steps))
            yield EPISODES, number, document

    shared.log.fill(NAME, counters, rows())


def asked(*arguments: str) -> dict[str, float]:
    """Return what a process of its own measures."""
    command = [sys.executable, "-m", "tests.bench.bench_postgres", *arguments]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def measure_open(address: str, saves: str) -> None:
    """Open the scope; print how long it took, and the memory of this process before, after and at most, in bytes."""
    with SharedMemory(address, Path(saves), follow=False, rules=scope_rules) as memory:
        importlib.import_module("engine.memory.scope")  # so that it does not count
        base, cpu = resident(), time.process_time()
        wall = seconds(lambda: memory.scope(NAME))
        figures = {"wall": wall, "cpu": time.process_time() - cpu, "base": base, "rss": resident()}
        status = Path("/proc/self/status").read_text()
        peak = int(status.partition("VmHWM:")[2].split()[0]) * 1024  # ru_maxrss would begin with that of the parent
        print(json.dumps({**figures, "peak": peak, "index": memory.scope(NAME).index_bytes()}))


def resident() -> int:
    """Return the memory of this process that is in use, in bytes."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def bench_catching_up(address: str, saves: Path, scope: Scope, world: World, name: str) -> None:
    """Measure how long a worker takes that is some episodes behind."""
    with SharedMemory(address, saves, follow=False, rules=scope_rules) as memory:
        other = memory.scope(NAME)
        other.refresh()
        for behind in (1, 10, 100):
            times, cpu = [], 0.0
            for _ in range(1000 // max(behind, 50)):
                scope.append_all([world.episode() for _ in range(behind)])
                before = time.process_time()
                times.append(seconds(other.refresh) * 1e3)
                cpu += (time.process_time() - before) * 1e3
            assert len(other) == len(scope)
            say(f"catching up {behind} episodes at {name}, median", statistics.median(times), "ms")
            say(f"catching up {behind} episodes at {name}, processor", cpu / len(times) / behind, "ms an episode")


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


def bench_appends(scope: Scope | None, shared: Scope, world: World, entries: int) -> None:
    """Append the same episodes to both, in turn, or only to the shared one."""
    times: dict[str, list[float]] = {"disk": [], "server": []}
    for number in range(APPENDS + 1):
        episode = world.episode()
        for kind, one in (("disk", scope), ("server", shared)):
            if one is None:
                continue
            spent = seconds(lambda: one.append(episode)) * 1e3  # noqa: B023
            if number:  # the first append after opening copies the index's arrays
                times[kind].append(spent)
    name = size_name(entries)
    target = 25.0 if entries >= 1_000_000 else None
    for what, of in (("median", statistics.median), ("p95", p95)):
        peer = of(times["disk"]) if times["disk"] else None
        say(f"append of 60 steps at {name}, {what}", of(times["server"]), "ms", peer="on disk", peer_value=peer,
            target=target if what == "median" else None)  # fmt: skip
    if times["disk"]:
        ratio = statistics.median(times["server"]) / statistics.median(times["disk"])
        say(f"append of 60 steps at {name}, times that on disk", ratio, "")


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


def bench_notify(cluster: Cluster, folder: Path, followers: int) -> None:
    """Measure how long it takes until all listening connections have a message, and what they cost the writer."""
    address = cluster.database()
    with SharedMemory(address, folder / "saves", follow=False) as memory, contextlib.ExitStack() as stack:
        memory.scope(NAME)
        listening = [memory.server.connect() for _ in range(followers)]
        for one in listening:
            stack.callback(one.close)
            one.execute(f"LISTEN {CHANNEL}")
        told, stored = [], []
        for number in range(COMMITS):
            episode = make_episode(random.Random(number), f"u{number}", 60)
            row = new_row(EPISODES, to_document(episode, 0))
            began = time.perf_counter()
            memory.log.append(NAME, [row])
            stored.append((time.perf_counter() - began) * 1e3)
            waiting = {one.fileno(): one for one in listening}
            while waiting:
                for descriptor in readable_of(list(waiting), 5.0):
                    if list(waiting[descriptor].notifies(timeout=0)):
                        told.append((time.perf_counter() - began) * 1e3)
                        del waiting[descriptor]
    name = f"{followers} listening"
    say(f"storing a row with {name}, median", statistics.median(stored), "ms")
    say(f"storing a row with {name}, p95", p95(stored), "ms")
    if told:
        say(f"a message reaches {name}, median", statistics.median(told), "ms")
        say(f"a message reaches {name}, p95", p95(told), "ms")


def bench_recovery(cluster: Cluster, folder: Path, kills: int) -> None:
    """Kill the server, and workers; measure until all goes on."""
    address = cluster.database()
    flows: list[float] = []
    sees: list[float] = []
    with SharedMemory(address, folder / "a") as memory, SharedMemory(address, folder / "b") as other:
        scope, follower = memory.scope(NAME), other.scope(NAME)
        episodes = (make_episode(random.Random(number), f"u{number}", 60) for number in itertools.count())
        scope.append(next(episodes))
        for _ in range(kills):
            cluster.stop(signal.SIGKILL)
            cluster.start()
            began = time.perf_counter()
            while not scope.append(next(episodes)):
                time.sleep(LOOK_S)
            flows.append(time.perf_counter() - began)
            while follower.episode_count < scope.episode_count:
                time.sleep(LOOK_S)
            sees.append(time.perf_counter() - began)
    say("storing goes on after the server is back, median", statistics.median(flows), "s")
    say("storing goes on after the server is back, most", max(flows), "s")
    say("a follower sees it after the server is back, median", statistics.median(sees), "s")
    say("a follower sees it after the server is back, most", max(sees), "s")
    again, others = [], []
    with SharedMemory(address, folder / "a", follow=False) as memory:
        scope = memory.scope(NAME)
        for number in range(kills):
            began = time.perf_counter()
            worker = subprocess.Popen(
                [sys.executable, "-m", "tests.bench.bench_postgres", "store", address, str(folder / "b"), str(number)],
                stdout=subprocess.PIPE, text=True,
            )  # fmt: skip
            assert worker.stdout is not None
            worker.stdout.readline()
            again.append(time.perf_counter() - began)
            time.sleep(random.uniform(0.0, 0.2))
            worker.kill()
            others.append(seconds(lambda: scope.append(next(episodes))) * 1e3)
            worker.communicate()
    say("a worker that is begun again has stored an episode, median", statistics.median(again), "s")
    say("an append right after another worker was killed, median", statistics.median(others), "ms")
    say("an append right after another worker was killed, most", max(others), "ms")


def store(address: str, saves: str, name: str) -> None:
    """Store episodes without end, and say so."""
    with SharedMemory(address, Path(saves)) as memory:
        scope = memory.scope(NAME)
        for number in itertools.count():
            scope.append(make_episode(random.Random(number), f"w{name}-{number}", 60))
            print(number, flush=True)


PARTS = ("sizes", "seen", "notify", "recovery")


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", choices=PARTS, nargs="*", default=PARTS, help="what to measure")
    parser.add_argument("--entries", type=int, nargs="*", default=[1_000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 4, 16])
    parser.add_argument("--followers", type=int, nargs="*", default=[0, 1, 4, 16, 64])
    parser.add_argument("--kills", type=int, default=10)
    parser.add_argument("--folder", help="a folder on the disk to be measured", default=None)
    args = parser.parse_args(argv)
    if problem := missing():
        note(problem)
        return 1
    jobs: dict[str, tuple[Callable[[Cluster, Path, int], None], Sequence[int]]] = {
        "sizes": (bench_size, args.entries),
        "seen": (bench_seen, args.workers),
        "notify": (bench_notify, args.followers),
        "recovery": (bench_recovery, [args.kills]),
    }
    with Cluster() as cluster:
        for part in args.parts:
            measure, amounts = jobs[part]
            for amount in amounts:
                with tempfile.TemporaryDirectory(dir=args.folder, prefix="jitrl-bench-") as folder:
                    measure(cluster, Path(folder), amount)
    return 0


if __name__ == "__main__":
    children = {"look": look, "open": measure_open, "store": store}
    if sys.argv[1:2] and sys.argv[1] in children:
        children[sys.argv[1]](*sys.argv[2:])
    else:
        sys.exit(main())

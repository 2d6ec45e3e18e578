"""Long fault trials of a shared memory: `make soak-postgres`.

    python -m tests.bench.soak_postgres [--writers 16] [--episodes 100] [--kills 20] [--restarts 3] [--seed 1]

Writers on four machines (saves folders) store episodes in one scope. Meanwhile writers are killed with SIGKILL and
begun again from the last episode that they know to be stored, and the server is stopped or killed and started again.
In the end each episode must be there exactly once, in every replica. Ends with `N survived, M lost`.
"""

from __future__ import annotations

import argparse
import random
import selectors
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from engine.memory.shared.memory import SharedMemory
from engine.memory.upkeep import verify
from tests.memory.lives import make_episode
from tests.memory.postgres import Cluster, missing

NAME = "game/soak"
MACHINES = 4


def write(address: str, saves: str, name: str, first: str, count: str) -> None:
    """Store episodes, and say so after each; then wait until none of this machine waits."""
    told: list[str] = []
    with SharedMemory(address, Path(saves), notice=told.append) as memory:
        scope = memory.scope(NAME)
        for number in range(int(first), int(count)):
            scope.append(make_episode(random.Random(number), f"{name}-{number}"))
            print(number, flush=True)
        while memory.waiting:
            time.sleep(0.05)


class Writer:
    """A writer process, and how far it got."""

    def __init__(self, address: str, saves: Path, name: str, count: int) -> None:
        self.name = name
        self.stored = 0
        self.count = count
        self._command = [sys.executable, "-m", "tests.bench.soak_postgres", "write", address, str(saves), name]
        self.start()

    def start(self) -> None:
        command = [*self._command, str(self.stored), str(self.count)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def read(self) -> bool:
        """Read a line; return False at the end, where a writer that is not done is begun again."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if line:
            self.stored = int(line) + 1
            return True
        if self.process.wait() == 0:
            return False
        self.process.stdout.close()
        time.sleep(0.1)
        self.start()
        return True


def trial(cluster: Cluster, folder: Path, args: argparse.Namespace) -> Iterator[str]:
    """Do all of it; yield a sentence for each thing that is wrong."""
    rng = random.Random(args.seed)
    address = cluster.database()
    writers = [
        Writer(address, folder / f"machine{number % MACHINES}", f"w{number}", args.episodes)
        for number in range(args.writers)
    ]
    total = args.writers * args.episodes
    # The blows fall at these counts of stored episodes.
    kills = sorted(rng.randrange(total // 20, total * 9 // 10) for _ in range(args.kills))
    stops = sorted(rng.randrange(total // 10, total * 8 // 10) for _ in range(args.restarts))
    killed = restarted = 0
    running = {writer: writer.process for writer in writers}
    selector = selectors.DefaultSelector()
    for writer in writers:
        selector.register(writer.process.stdout, selectors.EVENT_READ, writer)  # type: ignore[arg-type]
    while running:
        for key, _ in selector.select(timeout=1.0):
            writer = key.data
            selector.unregister(key.fileobj)
            if writer.read():
                selector.register(writer.process.stdout, selectors.EVENT_READ, writer)
            else:
                del running[writer]
        done = sum(writer.stored for writer in writers)
        while kills and done >= kills[0]:
            kills.pop(0)
            alive = [writer for writer in running if writer.process.poll() is None]
            if alive:
                rng.choice(alive).process.kill()
                killed += 1
        while stops and done >= stops[0]:
            stops.pop(0)
            cluster.stop(signal.SIGKILL if restarted % 2 == 0 else signal.SIGINT)
            time.sleep(rng.uniform(0.2, 3.0))
            cluster.start()
            restarted += 1
    print(f"{killed} writers killed, {restarted} restarts of the server", file=sys.stderr)
    want = {f"w{number}-{n}" for number in range(args.writers) for n in range(args.episodes)}
    for place in [*(f"machine{number}" for number in range(MACHINES)), "fresh"]:
        with SharedMemory(address, folder / place, follow=False) as memory:
            scope = memory.scope(NAME)
            found = Counter(episode.uid for episode in scope.episodes())
            yield from (f"{place}: {uid} is lost" for uid in want - found.keys())
            yield from (f"{place}: {uid} is there {times} times" for uid, times in found.items() if times > 1)
            if [episode.number for episode in scope.episodes()] != list(range(1, total + 1)):
                yield f"{place}: the numbers have holes"
            if memory.waiting:
                yield f"{place}: something still waits"
            if not (verify(scope.path).sound and scope.verify().sound):
                yield f"{place}: not sound"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, usual in (("writers", 16), ("episodes", 100), ("kills", 20), ("restarts", 3), ("seed", 1)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    args = parser.parse_args(argv)
    if problem := missing():
        print(problem, file=sys.stderr)
        return 1
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as folder, Cluster() as cluster:
        problems = list(trial(cluster, Path(folder), args))
    for problem in problems[:20]:
        print(problem, file=sys.stderr)
    total = args.writers * args.episodes
    print(f"{total} episodes of {args.writers} writers in {time.monotonic() - began:.0f} s", file=sys.stderr)
    print(f"{total - len(problems)} survived, {len(problems)} lost")
    return 1 if problems else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["write"]:
        write(*sys.argv[2:])
    else:
        sys.exit(main())

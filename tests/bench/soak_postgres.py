"""Long fault trials of a shared memory: `make soak-postgres`.

    python -m tests.bench.soak_postgres [--writers 16] [--episodes 100] [--kills 20] [--restarts 3] [--seed 1]

Writers on four machines (saves folders) store episodes in one scope. Meanwhile writers are killed with SIGKILL and
begun again from the last episode that they know to be stored, and the server is stopped or killed and started again.
In the end each episode must be there exactly once, in every replica.

Then the server's disk gets full: once where the tables are, once where its write-ahead log is, which stops the server.
For that, small file systems are mounted, so this is skipped without the right to mount. Ends with `N survived, M lost`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
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


@contextlib.contextmanager
def small_disk(cluster: Cluster, name: str, megabytes: int) -> Iterator[Path]:
    """Mount a file system of the server's user in the cluster's folder.

    Raises:
        PermissionError: This user cannot mount.
    """
    place = cluster.folder / name
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(place)]
    if subprocess.run(command, stderr=subprocess.DEVNULL, check=False).returncode:
        raise PermissionError(name)
    try:
        owner = (cluster.folder / "data").stat()
        os.chown(place, owner.st_uid, owner.st_gid)
        yield place
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


def fill_up(disk: Path) -> Path:
    """Write a file that takes all the room there is, and return it."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(b"x" * 4096) == 4096:
            pass
    return filler


def full_tables(cluster: Cluster, folder: Path) -> Iterator[str]:
    """Store while the disk with the tables is full; yield a sentence for each thing that is wrong."""
    with small_disk(cluster, "tables", 40) as disk:
        cluster.sql(f"CREATE TABLESPACE small LOCATION '{disk}'")
        address = cluster.database()
        name = address.partition("?")[0].rpartition("/")[2]
        cluster.sql(f"ALTER DATABASE {name} SET TABLESPACE small")
        yield from full(address, folder, lambda: fill_up(disk), Path.unlink, "disk")
        cluster.sql(f"DROP DATABASE {name} WITH (FORCE)", "DROP TABLESPACE small")


def full_log(cluster: Cluster, folder: Path) -> Iterator[str]:
    """Store while the disk with the write-ahead log is full; yield a sentence for each thing that is wrong."""
    address = cluster.database()
    log = cluster.folder / "data" / "pg_wal"
    with small_disk(cluster, "wal", 80) as disk:
        cluster.stop()
        shutil.copytree(log, disk / "pg_wal")
        owner = log.stat()
        for path in (disk / "pg_wal", *(disk / "pg_wal").rglob("*")):
            os.chown(path, owner.st_uid, owner.st_gid)
        shutil.rmtree(log)
        log.symlink_to(disk / "pg_wal")
        cluster.start()

        def fill() -> Path:
            filler = fill_up(disk)
            with contextlib.suppress(Exception):  # the server stops when it finds no room for the next part of its log
                for _ in range(8):
                    cluster.sql("SELECT pg_switch_wal()", "CREATE TABLE more ()", "DROP TABLE more")
            return filler

        def empty(filler: Path) -> None:
            filler.unlink()
            cluster.stop(signal.SIGQUIT)
            cluster.start()

        yield from full(address, folder, fill, empty, "")
        cluster.stop()


def full(
    address: str, folder: Path, fill: Callable[[], Path], empty: Callable[[Path], None], word: str
) -> Iterator[str]:
    """Store before, while and after a disk is full; yield a sentence for each thing that is wrong."""
    rng = random.Random(1)
    told: list[str] = []
    sent: list[str] = []

    def send() -> int:
        sent.append(f"u{len(sent)}")
        return memory.scope(NAME).append(make_episode(rng, sent[-1], 60))

    with SharedMemory(address, folder / "writer", notice=told.append) as memory:
        send()
        filler = fill()
        while not memory.waiting and len(sent) < 1000:
            send()
        stored = len(memory.scope(NAME))
        if memory.waiting != 1 or stored != 60 * (len(sent) - 1):
            yield f"{memory.waiting} of {len(sent)} episodes wait, and {stored} entries are there"
        if len(told) != 1 or word not in told[0]:
            yield f"this was told: {told}"
        print(f"{told[0] if told else 'nothing was told'}", file=sys.stderr)
        send()
        empty(filler)
        deadline = time.monotonic() + 30
        while memory.waiting and time.monotonic() < deadline:
            time.sleep(0.05)
        if not send():
            yield "nothing is stored after there was room again"
    with SharedMemory(address, folder / "fresh", follow=False) as fresh:
        if [episode.uid for episode in fresh.scope(NAME).episodes()] != sent or not fresh.scope(NAME).verify().sound:
            yield "what was sent is not what is there"


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
        for what in (full_tables, full_log):
            try:
                problems += [f"{what.__name__}: {each}" for each in what(cluster, Path(folder) / what.__name__)]
            except PermissionError:
                print("skipped: a trial with a full disk needs the right to mount a file system", file=sys.stderr)
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

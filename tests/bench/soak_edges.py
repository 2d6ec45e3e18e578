"""Long trials of a shared memory at its edges: a server that hangs at any moment, and rows that mean harm.

    python -m tests.bench.soak_edges [TRIES]

Ends with `N survived, M lost`. `run` does the same for the whole soak. Without PostgreSQL it does nothing, and says so.
"""

from __future__ import annotations

import contextlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tests.memory import postgres
from tests.memory.spoiling import BAD, ROWS, SCOPES, spoil
from tests.proxy import Proxy

Tell = Callable[[str], None]
JITRL = str(Path(sys.executable).with_name("jitrl"))
TRIES = 20
ANSWER_S = 2.0
"""In which a run answers Ctrl-C: it ends, or says for what it waits."""
MOST_MB, DISK_MB = 1024, 16
"""Memory of a process that reads bombs of 200 MB, and its disk."""
_READ = """
import sys
from pathlib import Path
from engine.errors import BadFile
from engine.memory.shared.memory import SharedMemory
told = []
with SharedMemory(sys.argv[1], Path(sys.argv[2]), follow=False, notice=told.append) as memory:
    assert len(list(memory.scope("game/good").episodes())) == 3
    try:
        assert len(list(memory.scope("game/bad").episodes())) == 2 and "row 2" in told[0]
    except BadFile as error:
        assert "is damaged in" in str(error)
"""


def run(tell: Tell, tries: int = TRIES) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    if reason := postgres.missing():
        tell(f"shared memory: not tried ({reason})")
        return 0, 0
    with postgres.Cluster() as cluster:
        results = [_interrupted(cluster, number, tell) for number in range(tries)]
        tell(f"a database that hangs, and Ctrl-C: {tries} tries, {results.count(False)} failures")
        spoiled = [_spoiled(cluster, what, tell) for what in (*ROWS, *SCOPES)]
        tell(f"hostile rows: {len(spoiled)} tries, {spoiled.count(False)} failures")
    results += spoiled
    return results.count(True), results.count(False)


def _interrupted(cluster: postgres.Cluster, number: int, tell: Tell) -> bool:
    """Let the server of a run hang at any moment, then interrupt the run at any moment."""
    rng = random.Random(number)
    address = cluster.database()
    name = address.partition("?")[0].rpartition("/")[2]
    with tempfile.TemporaryDirectory() as saves, Proxy(f"{cluster.folder}/.s.PGSQL.5432") as proxy:
        command = [JITRL, "run", "pantry", "--model", "prior/verbs", "--steps", "10", "--episodes", "1000", "--quiet"]
        command += ["--saves", saves, "--memory", f"postgresql://jitrl@127.0.0.1:{proxy.port}/{name}"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            try:
                while not _rows(cluster, name):
                    time.sleep(0.05)
                time.sleep(rng.random())
                proxy.hold()
                time.sleep(3 * rng.random())
                process.send_signal(signal.SIGINT)
                begun = time.monotonic()
                assert process.stderr is not None
                next((line for line in process.stderr if "stop" in line), "")
                answered = time.monotonic() - begun
                process.wait(60)
            finally:
                process.kill()
    good = process.returncode == 130 and answered <= ANSWER_S
    if not good:
        tell(f"a hung database, try {number}: exit code {process.returncode}, answered after {answered:.1f} s")
    return good


def _rows(cluster: postgres.Cluster, name: str) -> int:
    with contextlib.suppress(Exception):  # the tables are not there yet
        return int(cluster.sql("SELECT count(*) FROM jitrl.log", database=name)[0][0])
    return 0


def _spoiled(cluster: postgres.Cluster, what: str, tell: Tell) -> bool:
    """Read a memory with a hostile row in a process of its own."""
    from engine.memory.shared.memory import SharedMemory
    from tests.memory.lives import make_episode

    address, rng = cluster.database(), random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        with SharedMemory(address, Path(folder) / "w", follow=False) as memory:
            for name in (BAD, "game/good"):
                memory.scope(name).append_all([make_episode(rng, f"{name}-{number}") for number in range(3)])
        spoil(cluster, address, what)

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_AS, (MOST_MB << 20, MOST_MB << 20))

        reader = Path(folder) / "r"
        done = subprocess.run(
            [sys.executable, "-c", _READ, address, str(reader)],
            capture_output=True, text=True, check=False, preexec_fn=limited,
        )  # fmt: skip
        size = sum(path.stat().st_size for path in reader.rglob("*") if path.is_file()) >> 20
    good = done.returncode == 0 and size <= DISK_MB
    if not good:
        tell(f"hostile rows, {what}: {size} MB of disk, {done.stderr[-300:]}")
    return good


if __name__ == "__main__":
    survived, lost = run(lambda text: print(text, flush=True), int(sys.argv[1]) if len(sys.argv) > 1 else TRIES)
    print(f"{survived} survived, {lost} lost")
    sys.exit(1 if lost else 0)

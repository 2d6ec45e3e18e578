"""A benchmark on Ray with two hosts, the network between which is cut in the middle.

    python -m tests.bench.soak_hosts [--episodes 60]

The hosts are network namespaces of this machine, joined by a cable, with names and addresses of their own. This needs
Linux, root and `ip` (iproute2). They share the disk, as with a network file system. First a suite is played on both.
Then another one, of which one host is cut off. The rows of both must be those of a run with the local pool.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.bench.bench_memory import note, say

HOSTS = {"one": "10.77.0.1", "two": "10.77.0.2"}
RAY = Path(sys.executable).with_name("ray")
PLAY = [sys.executable, "-m", "jitrl_tui.cli", "bench", "run", "games", "--arms", "JitRL (plans)", "--seeds", "2",
        "--quiet"]  # fmt: skip


def ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True)


def on(host: str, command: Sequence[str]) -> list[str]:
    """Return a command that runs on a host."""
    name = f'hostname host-{host}; exec "$@"'
    return ["ip", "netns", "exec", host, "unshare", "--uts", "sh", "-c", name, "sh", *command]


@contextlib.contextmanager
def hosts(folder: Path) -> Iterator[None]:
    """Bring both hosts up, with a Ray cluster of one core each."""
    for host in HOSTS:
        ip("netns", "add", host)
    try:
        ip("link", "add", "cable", "netns", "one", "type", "veth", "peer", "name", "cable", "netns", "two")
        for host, address in HOSTS.items():
            ip("-n", host, "addr", "add", f"{address}/24", "dev", "cable")
            for device in ("lo", "cable"):
                ip("-n", host, "link", "set", device, "up")
        for host, address in HOSTS.items():
            head = ["--head", "--port=6379", "--include-dashboard=false"]
            place = head if host == "one" else [f"--address={HOSTS['one']}:6379"]
            options = [f"--node-ip-address={address}", "--num-cpus=1", f"--temp-dir={folder / host}"]
            subprocess.run(
                on(host, [str(RAY), "start", *place, *options]),
                check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"},
            )  # fmt: skip
        yield
    finally:
        for host in HOSTS:
            left = subprocess.run(["ip", "netns", "pids", host], capture_output=True, text=True, check=False)
            for pid in left.stdout.split():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), 9)
            ip("netns", "del", host)


def differs(folder: Path, name: str, tasks: str, episodes: int) -> bool:
    """Play the suite with the local pool, and return whether its rows differ from those of a run."""
    subprocess.run(
        [*PLAY, "--tasks", tasks, "--episodes", str(episodes), "--name", f"{name}-local", "--saves", str(folder)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    runs = folder / "bench"
    return (runs / name / "episodes.jsonl").read_bytes() != (runs / f"{name}-local" / "episodes.jsonl").read_bytes()


def begin(folder: Path, name: str, tasks: str, episodes: int) -> subprocess.Popen[bytes]:
    """Begin the suite on both hosts."""
    where = ["--on", f"ray://{HOSTS['one']}:6379", "--saves", str(folder)]
    command = [*PLAY, "--tasks", tasks, "--episodes", str(episodes), "--name", name, *where]
    return subprocess.Popen(on("one", command), stdout=subprocess.DEVNULL)


def cut(folder: Path, episodes: int) -> None:
    """Play a suite, and cut the second host off when both of its cells are played."""
    process = begin(folder, "cut", "manor", episodes)
    cells = folder / "bench/cut/cells"
    while process.poll() is None and len(list(cells.glob("*/000/events.jsonl"))) < 2:
        time.sleep(0.2)
    holders = {holder: holder.read_text() for holder in cells.glob("*/holder")}
    time.sleep(4)
    ip("-n", "two", "link", "set", "cable", "down")
    start = time.monotonic()
    while process.poll() is None and all(holder.read_text() == text for holder, text in holders.items()):
        time.sleep(0.2)
    if process.poll() is None:
        say("after the network of a node is cut: until its cell is begun elsewhere", time.monotonic() - start, "s")
    else:
        note("the run ended before the node was given up; take more --episodes")
    process.wait()


def main(argv: Sequence[str] | None = None) -> int:
    """Play both runs; return 1 if one of them differs from that with the local pool."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=60)
    args = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="jitrl-hosts-") as place:
        folder = Path(place)
        with hosts(folder):
            begin(folder, "both", "pantry,manor", 6).wait()
            cut(folder, args.episodes)
        wrong = [name for name, tasks, episodes in (("both", "pantry,manor", 6), ("cut", "manor", args.episodes))
                 if differs(folder, name, tasks, episodes)]  # fmt: skip
    print(f"{2 - len(wrong)} runs as with the local pool, {len(wrong)} otherwise")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

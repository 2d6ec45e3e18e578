"""The screen in a real terminal, beside a bare Textual app in the same run: `make bench-ui`.

    python -m tests.bench.bench_ui [--repeats 5] [--keys 60] [--steps 2000]

Prints one JSON line a figure: what was measured, the target if there is one, the same of the bare app, and the ratio.
Times are wall-clock times of processes started from here. Other work on the machine shows in both; the ratio says more.
Processor time is given, too, where other work hardly shows in it.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.llm.server import Handler, Server

JITRL = (sys.executable, "-m", "jitrl_tui.cli")
BARE = (
    sys.executable,
    "-c",
    """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("[nothing]", markup=False)
    def on_key(self, event):
        if event.key in "45":
            self.query_one(Static).update("[memory]" if event.key == "4" else "[learning curve]")
Bare().run()
""",
)
"""A Textual app with one widget, which answers the same keys with the same words."""
COLUMNS, ROWS = 100, 30
SEEN = {"4": b"[memory]", "5": b"[learning curve]"}
"""By key: what is seen when it has been taken."""
_ESCAPES = re.compile(rb"\x1b(\[[0-9;?<=>]*[a-zA-Z$]*|[()].|[PX^_\]].*?(\x1b\\|\x07))")
TARGETS = {
    "first paint": 1.0, "help": 0.2, "key to paint, model thinks": 0.05, "key to paint, fast-forward": 0.05,
    "idle": 0.01,
}  # fmt: skip


class Process:
    """A program in a terminal of its own. Its output is read as bytes, without drawing it."""

    def __init__(self, command: Sequence[str], env: dict[str, str] | None = None) -> None:
        self.output = b""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("JITRL_", "TEXTUAL", "NO_COLOR"))}
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            terminal = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
            os.execve(command[0], [*command], {**kept, **terminal, **(env or {})})
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    def send(self, keys: str) -> None:
        """Type."""
        os.write(self._fd, keys.encode())

    def read(self, seconds: float) -> None:
        """Read what comes within some time, or nothing."""
        if select.select([self._fd], [], [], seconds)[0]:
            try:
                self.output += os.read(self._fd, 1 << 16)
            except OSError:
                raise SystemExit(f"the program ended:\n{self.shown()[-2000:]}") from None

    def wait_for(self, wanted: bytes, after: int = 0, seconds: float = 120.0) -> float:
        """Read until `wanted` is in what came behind a position; return the time at which it was there."""
        end = time.perf_counter() + seconds
        while wanted not in self.output[after:]:
            if time.perf_counter() > end:
                raise SystemExit(f"waited in vain for {wanted!r}:\n{self.shown()[-3000:]}")
            self.read(0.5)
        return time.perf_counter()

    def first_paint(self) -> float:
        """Return the seconds from the start to the first word on the screen."""
        while b"\x1b[?1049h" not in self.output or not re.search(
            rb"[A-Za-z]{3}", _ESCAPES.sub(b"", self.output.partition(b"\x1b[?1049h")[2])
        ):
            self.read(0.5)
        return time.perf_counter() - self.began

    def drain(self, seconds: float) -> None:
        """Read for so long."""
        end = time.perf_counter() + seconds
        while (left := end - time.perf_counter()) > 0:
            self.read(left)

    def shown(self) -> str:
        """Return what was written, without escapes."""
        return _ESCAPES.sub(b"", self.output).decode("utf-8", "replace")

    def processor_s(self) -> float:
        """Return the processor time it has used, in seconds."""
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float:
        """Return the memory it holds, in MB."""
        pages = int(Path(f"/proc/{self.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def tell(name: str, value: float, unit: str, bare: float | None = None, **more: object) -> None:
    """Print one figure."""
    figure: dict[str, object] = {"figure": name, "value": round(value, 4), "unit": unit}
    if name in TARGETS:
        figure |= {"target": TARGETS[name], "met": value <= TARGETS[name]}
    if bare is not None:
        figure |= {"bare": round(bare, 4), "ratio": round(value / bare, 2) if bare else None}
    print(json.dumps(figure | more), flush=True)


def p95(values: Sequence[float]) -> float:
    """Return the 95th percentile."""
    return sorted(values)[min(len(values) - 1, int(0.95 * len(values)))]


def latencies(process: Process, keys: int) -> list[float]:
    """Press two keys in turn, and return the seconds from each to the words it brings."""
    found = []
    for number in range(keys):
        key = "45"[number % 2]
        process.drain(0.05)
        at, began = len(process.output), time.perf_counter()
        process.send(key)
        found.append(process.wait_for(SEEN[key], at) - began)
    return found


def steps_of(saves: Path) -> int:
    """Return how many steps the sessions of a saves folder have recorded."""
    return sum(file.read_bytes().count(b'\n{"event":"Stepped"') for file in saves.glob("sessions/*/events.jsonl"))


@contextlib.contextmanager
def watching(saves: Path, *options: str, env: dict[str, str] | None = None) -> Iterator[Process]:
    """Watch the pantry, until the first decision is made or asked for."""
    command = (*JITRL, "watch", "pantry", "--fresh", "--saves", str(saves), *options)
    with Process(command, env) as process:
        process.wait_for(b"Kitchen")
        yield process


def starts(repeats: int) -> None:
    """Measure how long the help, the home screen and the bare app take to appear."""
    helps, pythons, homes, bares, used, bares_used = [], [], [], [], [], []
    for _ in range(repeats):
        for found, command in ((helps, (*JITRL, "--help")), (pythons, (sys.executable, "-c", "import argparse"))):
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            found.append(time.perf_counter() - began)
        with tempfile.TemporaryDirectory() as saves, Process((*JITRL, "--saves", saves)) as process:
            homes.append(process.first_paint())
            used.append(process.processor_s())
        with Process(BARE) as process:
            bares.append(process.first_paint())
            bares_used.append(process.processor_s())
    tell("first paint", statistics.median(homes), "s", statistics.median(bares), repeats=repeats)
    tell("first paint, processor time", statistics.median(used), "s", statistics.median(bares_used), repeats=repeats)
    tell("help", statistics.median(helps), "s", statistics.median(pythons), repeats=repeats, bare_is="python, argparse")


def keys(count: int) -> None:
    """Measure the time from a key to its words while a model thinks and in fast-forward."""
    with Process(BARE) as process:
        process.first_paint()
        process.drain(1.0)
        before = process.processor_s()
        bare = latencies(process, count)
        bare_used = (process.processor_s() - before) / count
    server = Server()

    def silent(handler: Handler, _: object) -> None:
        handler.owner.release.wait(600)

    with server.running(), tempfile.TemporaryDirectory() as saves:
        env = {"OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "none"}
        with watching(Path(saves), "--model", "openai/silent", env=env) as process:
            process.wait_for(b"> ")  # the first action
            server.default, asked = silent, len(server.requests)
            while len(server.requests) == asked:
                process.drain(0.1)
            process.drain(1.0)
            before = process.processor_s()
            thinking = latencies(process, count)
            used = (process.processor_s() - before) / count
    with tempfile.TemporaryDirectory() as saves:
        options = ("--model", "prior/uniform", "--episodes", "900", "--steps", "40")
        with watching(Path(saves), *options) as process:
            process.wait_for(b"episode")
            process.send("f")
            process.wait_for(b"fast-forward")
            process.send("800\r")
            process.drain(1.0)
            hurrying = latencies(process, count)
    tell("a key while a model thinks, processor time", used, "s, mean", bare_used, keys=count)
    for name, found in (("model thinks", thinking), ("fast-forward", hurrying)):
        tell(f"key to paint, {name}", p95(found), "s, p95", p95(bare), median=round(statistics.median(found), 4),
             bare_median=round(statistics.median(bare), 4), keys=count)  # fmt: skip


def held(steps: int) -> None:
    """Measure the memory of the process in fast-forward, early and after many steps."""
    with tempfile.TemporaryDirectory() as saves:
        options = ("--model", "prior/uniform", "--episodes", str(steps // 20), "--steps", "40")
        with watching(Path(saves), *options) as process:
            process.send("f")
            process.wait_for(b"fast-forward")
            process.send(f"{steps // 20}\r")
            early = 0.0
            while (done := steps_of(Path(saves))) < steps:
                process.output = b""
                process.drain(0.3)
                if not early and done >= steps // 4:
                    early, at = process.resident_mb(), done
            tell("memory", process.resident_mb(), "MB", steps=done, early_mb=round(early, 1), early_steps=at,
                 growth_kb_a_step=round((process.resident_mb() - early) * 1000 / max(1, done - at), 2))  # fmt: skip


def idle(seconds: float) -> None:
    """Measure the share of a core that a paused run and the bare app use."""
    with Process(BARE) as process:
        process.first_paint()
        process.drain(2.0)
        before = process.processor_s()
        process.drain(seconds)
        bare = (process.processor_s() - before) / seconds
    with tempfile.TemporaryDirectory() as saves, watching(Path(saves), "--model", "prior/uniform") as process:
        process.send(" ")
        process.wait_for(b"PAUSED")
        process.drain(2.0)
        before = process.processor_s()
        process.drain(seconds)
        tell("idle", (process.processor_s() - before) / seconds, "cores", bare, seconds=seconds)


def main() -> None:
    """Measure everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--keys", type=int, default=60)
    parser.add_argument("--steps", type=int, default=2000)
    parser.add_argument("--idle", type=float, default=20.0, metavar="SECONDS")
    args = parser.parse_args()
    starts(args.repeats)
    keys(args.keys)
    idle(args.idle)
    held(args.steps)


if __name__ == "__main__":
    main()

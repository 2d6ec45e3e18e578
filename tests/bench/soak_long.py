"""A long run: what it remembers may grow, and nothing else.

    python -m tests.bench.soak_long [STEPS]

Plays Zork I where it is there, otherwise a story of this project, for 20,000 steps. It tells the memory of the process
and its processor time for a step, ten times. `run` does the same for the whole soak.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

JITRL = str(Path(sys.executable).with_name("jitrl"))
GAMES = Path(__file__).resolve().parents[3] / "shared" / "games"
STEPS, EPISODE = 20_000, 60
ROOM_MB, STEP_KB, SLOWER = 64, 4, 3
"""What the process may grow by since the first look: its caches fill, and each situation that was never met takes some
kB. A step may take so many times as long: plans take longer until the world is known. See docs/results/memory.md."""


def run(tell: Callable[[str], None], steps: int = STEPS) -> tuple[int, int]:
    """Play; return how many looks survived, and how many were lost."""
    story = ["zork1", "--games", str(GAMES)] if (GAMES / "zork1.z5").is_file() else ["pantry"]
    good = bad = 0
    with tempfile.TemporaryDirectory(prefix="jitrl-long-") as saves:
        command = [JITRL, "run", *story, "--model", "prior/verbs", "--saves", saves, "--quiet"]
        command += ["--json", f"{saves}/result.json", "--steps", str(EPISODE), "--episodes", str(steps)]
        begun, first, first_ms, looked, used = time.monotonic(), 0.0, 0.0, 0, 0.0
        recordings = _Recordings(Path(saves))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                while process.poll() is None and looked < steps:
                    time.sleep(1.0)
                    played = recordings.steps()
                    if played - looked < steps // 10:
                        continue
                    mb, cpu = _size_mb(process.pid), _processor_s(process.pid)
                    ms = 1000 * (cpu - used) / (played - looked)
                    first, first_ms = first or mb, first_ms or ms
                    fine = mb <= first + ROOM_MB + played * STEP_KB / 1024 and ms <= SLOWER * first_ms
                    good, bad = good + fine, bad + (not fine)
                    tell(
                        f"long run: {played:,} steps, {mb:.0f} MB, {ms:.0f} ms of processor time for a step, "
                        f"{time.monotonic() - begun:.0f} s{'' if fine else ': LOST'}"
                    )
                    looked, used = played, cpu
                ended = process.poll() is not None
            finally:
                process.kill()
        if ended:
            tell("long run: it ended before its time: LOST")
    return good, bad + ended


class _Recordings:
    """The recordings in a saves folder, read on from where they were read to."""

    def __init__(self, saves: Path) -> None:
        self._saves = saves
        self._steps = 0
        self._read: dict[Path, int] = {}

    def steps(self) -> int:
        """Return how many steps they have."""
        for path in self._saves.glob("sessions/*/events.jsonl"):
            with path.open("rb") as file:
                file.seek(self._read.get(path, 0))
                whole, _, torn = file.read().rpartition(b"\n")
                self._read[path] = file.tell() - len(torn)
            self._steps += whole.count(b'{"event":"Stepped"')
        return self._steps


def _size_mb(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024


def _processor_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


if __name__ == "__main__":
    survived, lost = run(lambda text: print(text, flush=True), int(sys.argv[1]) if len(sys.argv) > 1 else STEPS)
    print(f"{survived} survived, {lost} lost")
    sys.exit(1 if lost else 0)

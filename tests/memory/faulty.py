"""Lives of a memory on a disk that fails: EIO, no room, a power cut at any moment, and an fsync that lies.

    python -m tests.memory.faulty [STRIDE]

Each trial plays the same life in a process of its own. At one of its operations on the disk something happens
(`faults.c`). Then the memory is opened as the next program would open it. After a power cut that is what the disk had
been told to keep; what came after the last honest fsync is gone, there in part, or zeros. Prints the count and the
problems as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.errors import JitrlError
from engine.memory import Memory
from engine.memory.upkeep import compact, forget_all, plan_forget, undo_last, verify
from engine.records import Kept
from tests.memory.lives import make_episode

NAME = "game/failing"
NOTHING, FAIL, FAIL_ON, FULL, LIE = range(5)
KINDS = {FAIL: "one EIO", FAIL_ON: "EIO from then on", FULL: "no room from then on"}
EPISODES = {f"u{n}": make_episode(random.Random(n), f"u{n}", 1 + n % 3, words=2 + 40 * (n % 2)) for n in range(8)}


def live(root: Path, say: Path, count: Callable[[], int]) -> None:
    """Append, keep, compact, forget and put back; write down what was acknowledged, and after how many operations."""
    with say.open("w", buffering=1) as out, Memory(root / "memory", secrets=()) as memory:

        def tell(kind: str, what: str) -> None:
            print(count(), kind, what, file=out)

        def do(what: str, step: Callable[[], object]) -> None:
            try:
                step()
            except JitrlError:
                tell("failed", what)
            else:
                tell("done", what)

        scope = memory.scope(NAME)
        do("u0", lambda: scope.append(EPISODES["u0"]))
        do("u1", lambda: scope.append(EPISODES["u1"]))
        do("kept", lambda: scope.records.add(Kept("k", "text", uid="kept")))
        do("u2 u3", lambda: scope.append_all([EPISODES["u2"], EPISODES["u3"]]))
        do("-", lambda: compact(scope))
        do("u4", lambda: scope.append(EPISODES["u4"]))
        tell("doubtful", "u1")
        do("-", lambda: forget_all(memory, [(scope, plan_forget(scope, episodes={"u1"}))]))
        do("-", lambda: undo_last(memory) if not scope.knows("u1") else None)
        tell("certain" if scope.knows("u1") else "doubtful", "u1")
        do("u5", lambda: scope.append(EPISODES["u5"]))


def said(say: Path, before: int = 1 << 30) -> tuple[set[str], bool]:
    """Return what was acknowledged before an operation and is not being forgotten, and whether an error was told."""
    done: set[str] = set()
    doubtful: set[str] = set()
    lines = say.read_text().splitlines() if say.exists() else []
    failed = False
    for line in lines:
        count, kind, *names = line.split()
        if int(count) >= before:
            break
        failed |= kind == "failed"
        if kind == "done":
            done |= {name for name in names if name != "-"}
        elif kind == "doubtful":
            doubtful |= set(names)
        elif kind == "certain":
            doubtful -= set(names)
    return done - doubtful, failed


def look(root: Path, wanted: set[str], sound: bool = True) -> Iterator[str]:
    """Open a memory, and yield what is wrong with it."""
    try:
        with Memory(root / "memory", secrets=()) as memory:
            scope = memory.scope(NAME)
            found = {one.uid: one for one in scope.episodes()}
            kept = {one.uid for one in scope.records.all()}
            scope.append(EPISODES["u7"])
            if sound and not (checked := verify(scope.path)).sound:
                yield f"not sound: {checked.problems}"
    except Exception as error:  # whatever it is, it is a finding
        yield f"cannot be opened: {type(error).__name__}: {error}"
        return
    for uid in sorted(wanted - found.keys() - kept):
        yield f"{uid} was acknowledged and is gone"
    for uid, one in found.items():
        same = EPISODES[uid]
        if (one.steps, one.final, one.score) != (same.steps, same.final, same.score):
            yield f"{uid} is another episode"


def left(root: Path, shadow: Path, to: Path, how: str) -> None:
    """Make the folder that a power cut leaves.

    Args:
        how: What became of the bytes of the journal that were written and not synced: "gone", "part" (a random number
            of them is there), "zeros" (its length is, its content is not), "sectors" (some sectors of 512 bytes are
            there, the others are zeros).
    """
    rng = random.Random(f"{root}{how}")

    def folder(number: int, path: Path) -> None:
        path.mkdir()
        names = shadow / f"names.{number}"
        for line in names.read_text().splitlines() if names.exists() else []:
            inode, _, name = line.partition(" ")
            if (shadow / f"names.{inode}").exists():
                folder(int(inode), path / name)
                continue
            data, last = shadow / f"data.{inode}", shadow / f"file.{inode}"
            content = data.read_bytes() if data.exists() else b""
            now = last.read_bytes() if last.exists() else b""
            if how != "gone" and name.endswith(".jnl") and now.startswith(content):
                content += _partly(now[len(content) :], len(content), how, rng)
            (path / name).write_bytes(content)

    folder(root.stat().st_ino, to)


def _partly(rest: bytes, at: int, how: str, rng: random.Random) -> bytes:
    if how == "part":
        return rest[: rng.randrange(len(rest) + 1)]
    if how == "zeros":
        return bytes(len(rest))
    sectors = [rest[: -at % 512], *(rest[i : i + 512] for i in range(-at % 512, len(rest), 512))]
    return b"".join(part if rng.random() < 0.5 else bytes(len(part)) for part in sectors)


class Trials:
    """Plays lives and collects what went wrong."""

    def __init__(self, library: ctypes.CDLL, place: Path) -> None:
        self.count = 0
        self.problems: list[str] = []
        self._library = library
        self._place = place

    def play(self, at: int = 0, kind: int = NOTHING, then: int = 0) -> tuple[Path, Path, Path]:
        """Play a life with a fault at operation `at` and a power cut at operation `then`; return where it left what."""
        self.count += 1
        place = self._place / f"{self.count}"
        root, shadow, say = place / "disk", place / "shadow", place / "said"
        root.mkdir(parents=True)
        shadow.mkdir()
        child = os.fork()
        if child == 0:
            code = 1
            try:
                self._library.fault_set(bytes(root), bytes(shadow), at, kind)
                self._library.fault_cut(then)
                (root / "memory").mkdir(mode=0o700)
                live(root, say, self._library.fault_count)
                code = 0
            except Exception:
                traceback.print_exc()
            finally:
                (place / "count").write_text(str(self._library.fault_count()))
                os._exit(code)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if status not in (0, 77):
            self.problems.append(f"{at} {kind}: the program ended with {status}")
        return root, shadow, say

    def operations(self) -> int:
        """Return how many operations a life has."""
        root, _, say = self.play()
        done, failed = said(say)
        if failed or len(done) != 7:
            self.problems.append(f"an undisturbed life fails: {done}")
        self.problems += look(root, done)
        return int((root.parent / "count").read_text())

    def faults(self, steps: range) -> None:
        """Let operations fail. The program goes on or says so; what it acknowledged is there."""
        for kind, named in KINDS.items():
            for at in steps:
                root, _, say = self.play(at, kind)
                done, _ = said(say)
                self.problems += [f"{named} at {at}: {wrong}" for wrong in look(root, done)]
                shutil.rmtree(root.parent)

    def cuts(self, steps: range) -> None:
        """Cut the power. What was acknowledged is there, whatever the disk kept of the rest."""
        for at in steps:
            root, shadow, say = self.play(then=at)
            done, _ = said(say)
            for how in ("gone", "part", "zeros", "sectors"):
                again = root.parent / how
                left(root, shadow, again, how)
                wrongs = look(again, done, sound=how != "sectors")
                self.problems += [f"power cut at {at}, {how}: {wrong}" for wrong in wrongs]
            shutil.rmtree(root.parent)

    def lies(self, steps: range, last: int) -> None:
        """Let fsync lie from one operation on, and cut the power later. What was acknowledged before is there."""
        for at in steps:
            for then in range(at + 1, last + 2, max(1, (last - at) // 3)):
                root, shadow, say = self.play(at, LIE, then)
                done, _ = said(say, before=at)
                for how in ("gone", "part", "zeros", "sectors"):
                    again = root.parent / how
                    left(root, shadow, again, how)
                    wrongs = look(again, done, sound=how == "gone")
                    self.problems += [f"lies from {at}, cut at {then}, {how}: {wrong}" for wrong in wrongs]
                shutil.rmtree(root.parent)


def run(stride: int) -> dict[str, Any]:
    """Compile `faults.c` and run the trials below it in a process of its own; return what it prints.

    Args:
        stride: Every so many operations are tried.

    Raises:
        FileNotFoundError: There is no gcc.
    """
    with tempfile.TemporaryDirectory() as name:
        library = Path(name) / "faults.so"
        source = Path(__file__).with_name("faults.c")
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"], check=True, timeout=60)
        command = [sys.executable, "-m", "tests.memory.faulty", str(stride), str(library)]
        done = subprocess.run(
            command, env={**os.environ, "LD_PRELOAD": str(library)}, stdout=subprocess.PIPE, text=True, timeout=1800
        )
        found: dict[str, Any] = json.loads(done.stdout)
        return found


def main() -> int:
    """Run the trials, under the library if it is named, and print what came of them."""
    stride = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    if len(sys.argv) < 3:
        print(json.dumps(run(stride), indent=1))
        return 0
    where = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=where) as name:
        trials = Trials(ctypes.CDLL(sys.argv[2]), Path(name).resolve())
        last = trials.operations()
        trials.faults(range(1, last + 1, stride))
        trials.cuts(range(1, last + 2, stride))
        trials.lies(range(1, last + 1, 2 * stride), last)
    print(json.dumps({"operations": last, "trials": trials.count, "problems": trials.problems}))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Long fault trials of memory.

    python -m tests.bench.soak_memory [--kills 1000] [--flips 4000] [--rounds 8] [--seed 1]

Ends with `N survived, M lost`; exits with 1 if any was lost. `run` does the same for the whole soak.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from engine.environments import scope_rules
from engine.errors import BadFile
from engine.memory import Memory
from engine.memory.scope import Scope
from engine.memory.upkeep import verify
from engine.records import Episode
from tests.memory import faulty
from tests.memory.crowd import NAME, STEPS
from tests.memory.killing import Trials
from tests.memory.lives import make_episode

Tell = Callable[[str], None]


def kills(trials: int, seed: int, tell: Tell) -> Iterator[bool]:
    """Kill writers with SIGKILL at random moments, on a real disk."""
    with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as name:
        done = Trials(Path(name), seed)
        done.run(trials)
    for problem in done.problems:
        tell(problem)
    tell(f"kill -9: {done.survived} of {trials}, {done.acknowledged} episodes acknowledged")
    for trial in range(trials):
        yield trial < done.survived


def after_flip(whole: bytes, place: int, lived: list[Episode]) -> list[Episode] | None:
    """Return the episodes that a journal shows with a byte flipped at a place, None if it is refused."""
    line, column = whole.count(b"\n", 0, place), place - whole.rfind(b"\n", 0, place) - 1
    if not line:
        return lived if 8 < column < 17 else None
    lost = {line, line + 1} if whole[place : place + 1] == b"\n" else {line}
    return [one for n, one in enumerate(lived, 1) if n not in lost or 8 < column < 17]


def damage(trials: int, seed: int, tell: Tell) -> Iterator[bool]:
    """Flip one bit, or tear the tail, anywhere in a journal of some size."""
    rng = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as name:
        folder = Path(name)
        scope = Scope(folder, "game/x")
        scope.append_all([make_episode(rng, f"u{n}", rng.randrange(1, 9)) for n in range(6)])
        lived = list(scope.episodes())
        scope.close()
        whole = scope.path.read_bytes()
        last = whole.rindex(b"\n", 0, len(whole) - 1) + 1
        for trial in range(trials):
            content = bytearray(whole)
            if trial % 4:
                place = rng.randrange(len(content))
                content[place] ^= 1 << rng.randrange(8)
                want = after_flip(whole, place, lived)
            else:
                del content[rng.randrange(last, len(content)) :]
                want = lived[:-1]
            scope.path.write_bytes(content)
            try:
                again = Scope(folder, "game/x")
            except BadFile:
                same = want is None
            else:
                same = list(again.episodes()) == want and len(again.notices) <= 1
                again.close()
            if not same:
                tell(f"damage trial {trial}: episodes differ")
            yield same
    tell(f"damage: {trials} trials")


def crowds(rounds: int, tell: Tell) -> Iterator[bool]:
    """Four writers, two of them compacting, and two readers on one memory."""
    for number in range(rounds):
        with tempfile.TemporaryDirectory(prefix="jitrl-soak-") as name:
            command = [sys.executable, "-m", "tests.memory.crowd"]
            writers = [
                subprocess.Popen([*command, "write", name, f"w{i}", "40", "yes" if i < 2 else "no"])
                for i in range(4)
            ]
            readers = [
                subprocess.Popen([*command, "watch", name, "160"], stdout=subprocess.PIPE, text=True)
                for _ in range(2)
            ]
            good = all(writer.wait(600) == 0 for writer in writers)
            for reader in readers:
                out = reader.communicate(timeout=600)[0]
                good &= reader.returncode == 0 and json.loads(out)["wrong"] == []
            with Memory(Path(name), rules=scope_rules) as memory:
                scope = memory.scope(NAME)
                good &= len(scope) == 160 * STEPS and verify(scope.path).sound
        if not good:
            tell(f"crowd {number}: something is missing or was seen out of order")
        yield good
    tell(f"crowds: {rounds} rounds of 160 episodes by 4 writers")


def failing_disks(tell: Tell) -> Iterator[bool]:
    """Let every operation on the disk fail once, cut the power at each, and let fsync lie; needs gcc."""
    if shutil.which("gcc") is None:
        tell("failing disks: not tried, there is no gcc")
        return
    found = faulty.run(stride=1)
    for problem in found["problems"]:
        tell(problem)
    tell(f"failing disks: {found['trials']} lives, {len(found['problems'])} findings")
    for trial in range(found["trials"]):
        yield trial >= len(found["problems"])


def run(tell: Tell, *, kill: int = 1000, flip: int = 4000, rounds: int = 8, seed: int = 1) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    results = [*kills(kill, seed, tell), *damage(flip, seed, tell), *crowds(rounds, tell), *failing_disks(tell)]
    return sum(results), len(results) - sum(results)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the trials and print the count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--flips", type=int, default=4000)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(argv)
    survived, lost = run(
        lambda text: print(text, file=sys.stderr, flush=True),
        kill=args.kills, flip=args.flips, rounds=args.rounds, seed=args.seed,
    )  # fmt: skip
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

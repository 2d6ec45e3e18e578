"""Kill writers at random moments, and look whether anything acknowledged is gone.

    python -m tests.memory.killing TRIALS [SEED]

Each trial forks a writer onto one shared memory, lets it append (and sometimes forget, undo or compact),
kills it with SIGKILL after a random time, and then opens the memory as the next program would. A writer
acknowledges an episode through a pipe once `append` has returned. Killing a process does not test a power
cut: what reached the kernel stays.
"""

from __future__ import annotations

import dataclasses
import functools
import os
import random
import select
import signal
import sys
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from engine.memory import Memory
from engine.memory.upkeep import compact, forget_all, plan_forget, undo_last, verify
from engine.records import Episode
from tests.memory.lives import make_episode

NAME = "game/killed"
FRESH_AFTER = 20
"""Trials on one memory before the next one begins: it gets slow to look at all of it each time."""


@functools.cache
def templates() -> tuple[Episode, ...]:
    """Return a few episodes; one is long, so that writing it takes long enough to be interrupted."""
    rng = random.Random(0)
    shapes = [(1, 5), (5, 5), (5, 20), (30, 20), (60, 10), (60, 40), (400, 40)]
    return tuple(make_episode(rng, "template", steps=steps, words=words) for steps, words in shapes)


def episode(uid: str) -> Episode:
    """Return the episode that goes by this uid: anyone can tell whether it is whole."""
    known = templates()
    return dataclasses.replace(known[zlib.crc32(uid.encode()) % len(known)], uid=uid)


def write(folder: Path, trial: int, pipe: int) -> None:
    """Write until killed; say so after each step that is done."""
    rng = random.Random(trial)
    memory = Memory(folder)
    scope = memory.scope(NAME)
    kept: list[str] = []
    os.write(pipe, b"ready -\n")
    for number in range(1000):
        uid = f"{trial}-{number}"
        os.write(pipe, f"try {uid}\n".encode())
        scope.append(episode(uid))
        os.write(pipe, f"done {uid}\n".encode())
        kept.append(uid)
        draw = rng.random()
        if draw < 0.15:
            victim = rng.choice(kept)
            os.write(pipe, f"forgetting {victim}\n".encode())
            forget_all(memory, [(scope, plan_forget(scope, episodes={victim}))])
            undo_last(memory)
            os.write(pipe, f"done {victim}\n".encode())
        elif draw < 0.3:
            compact(scope)


class Trials:
    """The memory under test and what its writers said.

    Attributes:
        survived: Trials after which everything was as it should be.
        problems: A sentence for each that was not so.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.survived = 0
        self.recovered = 0
        self.acknowledged = 0
        self.problems: list[str] = []
        self._rng = random.Random(seed)
        self._acknowledged: set[str] = set()
        self._possible: set[str] = set()
        self._compared: set[str] = set()

    def run(self, trials: int) -> None:
        """Do so many trials."""
        for trial in range(trials):
            if trial % FRESH_AFTER == 0:
                self.acknowledged += len(self._acknowledged)
                self._acknowledged, self._possible = set(), set()
            place = self.folder / f"{trial // FRESH_AFTER}"
            said = self._one(place, trial)
            doubtful: set[str] = set()  # being forgotten and put back when the blow came: either is right
            for line in said:
                kind, uid = line.split(" ")
                if kind == "ready":
                    continue
                if kind == "done":
                    self._acknowledged.add(uid)
                    doubtful.discard(uid)
                elif kind == "forgetting":
                    doubtful.add(uid)
                self._possible.add(uid)
            self._acknowledged -= doubtful
            wrong = list(self._look(place, thorough=trial % 10 == 9))
            self.survived += not wrong
            self.problems += [f"trial {trial}: {problem}" for problem in wrong]
        self.acknowledged += len(self._acknowledged)

    def _one(self, place: Path, trial: int) -> list[str]:
        templates()
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.close(reading)
                write(place, trial, writing)
            finally:
                os._exit(0)
        os.close(writing)
        said = b""
        if self._rng.random() < 0.9:  # else it may be struck while it opens the memory
            select.select([reading], [], [], 30.0)
        deadline = time.monotonic() + self._rng.uniform(0.0, 0.06)
        while (left := deadline - time.monotonic()) > 0:
            if select.select([reading], [], [], left)[0]:
                said += os.read(reading, 1 << 16)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        while block := os.read(reading, 1 << 16):
            said += block
        os.close(reading)
        return said.decode().split("\n")[:-1]

    def _look(self, place: Path, *, thorough: bool) -> Iterator[str]:
        with Memory(place) as memory:
            scope = memory.scope(NAME)
            self.recovered += len(scope.notices)
            present = {one.uid: one for one in scope.episodes()}
            entries = len(scope)
        for uid in sorted(self._acknowledged - present.keys()):
            yield f"{uid} was acknowledged and is gone"
        for uid in sorted(present.keys() - self._possible):
            yield f"{uid} is there and was never sent"
        for uid, found in present.items():
            if (thorough or uid not in self._compared) and dataclasses.replace(
                found, number=0, scope="game/test"
            ) != episode(uid):
                yield f"{uid} is not whole"
            self._compared.add(uid)
        if entries != sum(len(one.steps) for one in present.values()):
            yield "the index and the journal disagree"
        if thorough and scope.path.exists() and not (checked := verify(scope.path)).sound:
            yield f"the journal is not sound: {checked.problems}"


def main() -> int:
    """Run the trials and print the count."""
    trials = int(sys.argv[1])
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    where = (
        "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    )  # syncing costs nothing there: more blows land
    with tempfile.TemporaryDirectory(dir=where) as name:
        done = Trials(Path(name), seed)
        done.run(trials)
    for problem in done.problems:
        print(problem)
    print(f"kill -9: {done.survived} survived, {trials - done.survived} lost "
          f"({done.acknowledged} episodes acknowledged, {done.recovered} recoveries told)")  # fmt: skip
    return 0 if done.survived == trials else 1


if __name__ == "__main__":
    sys.exit(main())

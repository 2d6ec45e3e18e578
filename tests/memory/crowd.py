"""What several processes do to one memory at once; each function runs in a process of its own."""

from __future__ import annotations

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path

from tinydb.operations import increment

from engine.memory import Memory
from engine.memory.disk.database import JournalDB
from engine.memory.upkeep import compact
from tests.memory.lives import make_episode

NAME = "game/crowd"
STEPS = 6


def write(folder: str, writer: str, episodes: str, compacting: str) -> None:
    """Append episodes; now and then write the whole file anew."""
    rng = random.Random(writer)
    with Memory(Path(folder)) as memory:
        scope = memory.scope(NAME)
        for number in range(int(episodes)):
            scope.append(make_episode(rng, f"{writer}-{number}", STEPS))
            if compacting == "yes" and rng.random() < 0.1:
                compact(scope)


def watch(folder: str, expected: str) -> None:
    """Read until all episodes are there; report what was seen to go wrong on the way."""
    wrong, seen, looks = [], -1, 0
    rng = random.Random(0)
    query = make_episode(rng, "q", 1).steps[0].state
    with Memory(Path(folder)) as memory:
        scope = memory.scope(NAME)
        while seen < int(expected):
            near = scope.neighbours(query, k=5, r=0.8, gamma=0.5)
            count, entries = scope.episode_count, len(scope)
            looks += 1
            if count < seen:
                wrong.append(f"{seen} episodes became {count}")
            if entries != count * STEPS:
                wrong.append(f"{entries} entries in {count} episodes")
            if [n.entry for n in near if n.similarity == 1.0] != sorted(
                (n.entry for n in near if n.similarity == 1.0), reverse=True
            ):
                wrong.append("equals out of order")
            seen = count
        numbers = [episode.number for episode in scope.episodes()]
        if numbers != list(range(1, int(expected) + 1)):
            wrong.append(f"numbers {numbers}")
        print(json.dumps({"wrong": wrong, "looks": looks, "notices": scope.notices}))


def count(path: str, times: str) -> None:
    """Add one to a counter, again and again."""
    db = JournalDB(Path(path))
    for _ in range(int(times)):
        db.update(increment("n"), doc_ids=[1])


if __name__ == "__main__":
    functions: dict[str, Callable[..., None]] = {"write": write, "watch": watch, "count": count}
    functions[sys.argv[1]](*sys.argv[2:])

"""How fast memory is, ours and its peers in one run: one JSON line a figure.

    python -m tests.bench.bench_memory [--entries 2500 100000 1000000] [--folder DIR]

Peers are the stock TinyDB storage, a document for each step, and a scan of all token sets in numpy. Each
query is timed three times and its median counts, so that what else the machine does weighs little; the
figure is the mean over the queries. Answers are compared with the scan's: `mismatches` must be 0. Data are
synthetic (tests/bench/worlds.py): episodes of 60 steps, states of about 44 tokens, histories of about 14.
A million entries take a few minutes to make and 1 GB of disk.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import statistics
import sys
import tempfile
import time
from array import array
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tinydb import TinyDB

from engine.codec import to_plain
from engine.environments import scope_rules
from engine.memory import Memory
from engine.memory.scope import SNAPSHOT, Scope
from engine.records import Episode, State
from tests.bench.worlds import World

NAME = "game/bench"
QUERY_TARGETS_MS = {2_500: 0.2, 100_000: 0.6, 1_000_000: 3.0}
STOCK_LIMIT = 100_000
"""Largest memory that the stock storage is tried on: it rewrites everything with each insert."""


def say(
    figure: str, value: float, unit: str, *, target: float | None = None,
    peer: str = "", peer_value: float | None = None,
) -> None:  # fmt: skip
    """Print one figure. Smaller is better; the ratio says how many times the peer's value ours is worth."""
    print(
        json.dumps({
            "figure": figure, "value": round(value, 4), "unit": unit,
            "peer": peer, "peer_value": None if peer_value is None else round(peer_value, 4),
            "ratio": None if peer_value is None or not value else round(peer_value / value, 1),
            "target": target, "met": target is None or value <= target,
        }),
        flush=True,
    )  # fmt: skip


def note(text: str) -> None:
    """Say what is going on."""
    print(text, file=sys.stderr, flush=True)


def size_name(entries: int) -> str:
    """Return 2.5k, 100k, 1M."""
    return f"{entries / 1e6:g}M" if entries >= 1_000_000 else f"{entries / 1e3:g}k"


class Scan:
    """The brute-force peer: every token set of every entry, compared with each query."""

    def __init__(self) -> None:
        self._words: dict[str, int] = {}
        self._flat = {"state": array("i"), "history": array("i")}
        self._sizes = {"state": array("i"), "history": array("i")}

    def add(self, episode: Episode) -> None:
        """Take an episode."""
        for step in episode.steps:
            for kind, tokens in (("state", step.state.tokens), ("history", step.state.history_tokens)):
                self._flat[kind].extend(self._words.setdefault(token, len(self._words)) for token in tokens)
                self._sizes[kind].append(len(tokens))

    def nearest(self, state: State, k: int, r: float, weight: float) -> list[tuple[int, float]]:
        """Return (entry, similarity) of the best k, the newest first among equals."""
        score = (1 - weight) * self._jaccard("state", state.tokens)
        score = score + weight * self._jaccard("history", state.history_tokens)
        rows = np.flatnonzero(score >= r)
        best = rows[np.lexsort((rows, score[rows]))[::-1][:k]]
        return [(int(row), float(score[row])) for row in best]

    def _jaccard(self, kind: str, tokens: Sequence[str]) -> np.ndarray[Any, Any]:
        known = [self._words[token] for token in tokens if token in self._words]
        mask = np.zeros(len(self._words), np.uint8)
        mask[known] = 1
        sizes = np.frombuffer(self._sizes[kind], np.int32)
        starts = np.cumsum(sizes) - sizes
        common = np.add.reduceat(mask[np.frombuffer(self._flat[kind], np.int32)], starts, dtype=np.int32)
        return common / (sizes + len(tokens) - common)


def timed(action: Callable[[State], Any], queries: Sequence[State], rounds: int = 3) -> float:
    """Return the mean over the queries, in milliseconds, of the median of some rounds each."""
    gc.collect()
    medians = []
    for query in queries:
        times = []
        for _ in range(rounds):
            start = time.perf_counter()
            action(query)
            times.append(time.perf_counter() - start)
        medians.append(statistics.median(times))
    return statistics.mean(medians) * 1e3


def build(scope: Scope, world: World, entries: int) -> Scan:
    """Fill a scope, and the scan beside it."""
    scan = Scan()
    batch: list[Episode] = []
    for episode in world.episodes(entries):
        scan.add(episode)
        batch.append(episode)
        if len(batch) == 200:
            scope.append_all(batch)
            batch = []
    scope.append_all(batch)
    return scan


def bench_queries(scope: Scope, scan: Scan, world: World, entries: int) -> None:
    """Measure retrieval through the face that agents use."""
    name = size_name(entries)
    queries = [step.state for episode in world.episodes(300) for step in episode.steps]
    few = queries[:: max(1, entries // 5_000)][:60]
    wrong = 0
    for r, weight in ((0.95, 0.25), (0.95, 0.0), (0.8, 0.0)):
        for query in few:
            ours = scope.neighbours(query, k=10, r=r, gamma=0.5, history_weight=weight)
            wrong += [(n.entry, n.similarity) for n in ours] != scan.nearest(query, 10, r, weight)
    say(f"mismatches with brute force at {name}", wrong, "queries", target=0)
    for r, weight, what, target in (
        (0.95, 0.25, "combined .75/.25, r .95", QUERY_TARGETS_MS.get(entries)),
        (0.85, 0.25, "combined .75/.25, r .85", None),
        (0.95, 0.0, "state, r .95", None),
        (0.8, 0.0, "state, r .8", None),
    ):
        ours_ms = timed(
            lambda q, r=r, w=weight: scope.neighbours(q, k=10, r=r, gamma=0.5, history_weight=w), queries
        )
        peer_ms = timed(lambda q, r=r, w=weight: scan.nearest(q, 10, r, w), few[:12])
        say(
            f"query at {name}, {what}",
            ours_ms,
            "ms",
            target=target,
            peer="brute-force scan",
            peer_value=peer_ms,
        )
    peer_ms = timed(lambda q: scan.nearest(q, 10, 0.0, 0.0), few[:12])
    ours_ms = timed(lambda q: scope.neighbours(q, k=10, r=0.0, gamma=0.5), queries)
    say(
        f"query at {name}, top 10 without threshold",
        ours_ms,
        "ms",
        peer="brute-force scan",
        peer_value=peer_ms,
    )
    per_entry = scope.index_bytes() / len(scope)
    # Below some thousand entries the vocabulary weighs more than the entries.
    say(f"index at {name}", per_entry, "B/entry", target=600 if entries >= 10_000 else None)


def bench_append(folder: Path, scope: Scope, world: World, entries: int) -> None:
    """Measure storing an episode of 60 steps so that it is on the disk, and what the disk itself takes."""
    name = size_name(entries)
    times = []
    for episode in world.episodes(60 * 25):
        start = time.perf_counter()
        scope.append(episode)
        times.append((time.perf_counter() - start) * 1e3)
    say(
        f"append of 60 steps at {name}, median", statistics.median(times), "ms", target=10,
        peer="" if entries > STOCK_LIMIT else "stock TinyDB",
        peer_value=None if entries > STOCK_LIMIT else stock_insert(folder, world, entries),
    )  # fmt: skip
    say(f"of which the disk takes for as many bytes at {name}, median", bare_sync(folder), "ms")


def bare_sync(folder: Path, size: int = 54_000) -> float:
    """Return the median time of writing and syncing `size` bytes, in milliseconds."""
    path, times = folder / "bare", []
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for _ in range(25):
        start = time.perf_counter()
        os.write(fd, bytes(size))
        os.fsync(fd)
        times.append((time.perf_counter() - start) * 1e3)
    os.close(fd)
    path.unlink()
    return statistics.median(times)


def stock_file(folder: Path, world: World, entries: int) -> Path:
    """Write what the stock storage would have written after so many inserts."""
    path = folder / f"stock-{entries}.json"
    if not path.exists():
        documents: dict[str, Any] = {}
        for episode in world.episodes(entries):
            for step in episode.steps:
                documents[str(len(documents) + 1)] = to_plain(step)
        path.write_text(json.dumps({"_default": documents}))
    return path


def stock_insert(folder: Path, world: World, entries: int) -> float:
    """Return what inserting 60 documents takes with TinyDB's own storage, in milliseconds."""
    with TinyDB(stock_file(folder, world, entries)) as db:
        len(db)
        times = []
        for episode in world.episodes(60 if entries > 20_000 else 300):
            documents = [to_plain(step) for step in episode.steps]
            start = time.perf_counter()
            db.insert_multiple(documents)
            times.append((time.perf_counter() - start) * 1e3)
    return statistics.median(times)


def bench_open(folder: Path, entries: int, world: World) -> None:
    """Measure opening: with the snapshot, and without."""
    name = size_name(entries)

    def opened() -> float:
        start = time.perf_counter()
        with Memory(folder / "memory", rules=scope_rules) as memory:
            scope = memory.scope(NAME)
            scope.neighbours(State("", ("a",)), k=1, r=0.9, gamma=0.5)
            return (time.perf_counter() - start) * 1e3

    peer, peer_ms = "", None
    if entries <= STOCK_LIMIT:
        start = time.perf_counter()
        with TinyDB(stock_file(folder, world, entries)) as db:
            len(db)
        peer, peer_ms = "stock TinyDB", (time.perf_counter() - start) * 1e3
    opened()
    warm = statistics.median(opened() for _ in range(3))
    target = 1000 if entries == 100_000 else None
    say(f"open at {name} with snapshot", warm, "ms", target=target, peer=peer, peer_value=peer_ms)
    if entries <= STOCK_LIMIT:
        for snapshot in (folder / "memory").glob(f"*/{SNAPSHOT}"):
            snapshot.unlink()
        say(f"open at {name} without snapshot", opened(), "ms", peer=peer, peer_value=peer_ms)


def main(argv: Sequence[str] | None = None) -> int:
    """Measure everything."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, nargs="+", default=[1_000, 2_500, 100_000, 1_000_000])
    parser.add_argument("--folder", help="a folder on the disk to be measured (%(default)s)", default=None)
    args = parser.parse_args(argv)
    for entries in args.entries:
        with tempfile.TemporaryDirectory(dir=args.folder, prefix="jitrl-bench-") as name:
            folder, world = Path(name), World(1)
            note(f"{size_name(entries)} entries: making them ...")
            with Memory(folder / "memory", rules=scope_rules) as memory:
                scope = memory.scope(NAME)
                scan = build(scope, world, entries)
                if entries in QUERY_TARGETS_MS or entries > 1_000:
                    note("querying ...")
                    bench_queries(scope, scan, world, entries)
                if entries != 2_500:
                    note("appending ...")
                    bench_append(folder, scope, world, entries)
            del scan
            if entries >= 100_000:
                note("opening ...")
                bench_open(folder, entries, world)
    return 0


if __name__ == "__main__":
    sys.exit(main())

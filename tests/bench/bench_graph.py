"""What the graph estimator takes a step, and what `knn` takes: one JSON line a figure.

    python -m tests.bench.bench_graph [GAME] [--games FOLDER] [--episodes 50] [--known SAVES ...] [--seed 77]
    python -m tests.bench.bench_graph --open 100000 [--folder DIR]

Plays GAME with each estimator and clocks it alone: neighbours, candidates, V and Q, and learning, in processor time of
the process, so that other work on the machine hardly counts. `--known` names homes of earlier runs of GAME: both begin
with a memory of all their episodes, larger than one run fills; how many steps that were is printed, and
the scores that `graph` comes to with that memory.

`--open` measures instead what opening a memory of so many steps takes until the first decision can be made: with all
episodes relived, as at first, and from what was kept of that. Data are synthetic (tests/bench/worlds.py).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from engine.environments import profile, scope_rules
from engine.memory import Memory
from engine.memory.scope import LEARNT
from engine.records import Episode
from engine.settings.plan import OpeningNumbers
from engine.values import learnt
from engine.values.graph import GraphEstimator
from engine.values.knn import KnnEstimator
from jitrl_tui import cli
from tests.bench.bench_memory import NAME, note, say, size_name
from tests.bench.worlds import World

TARGET_MS = 5.0
OPEN_TARGET_S = 3.0
_CLOCKED = ("neighbours", "also", "value", "observe", "begin_episode")


class Clock:
    """Processor time of an estimator, by step."""

    def __init__(self) -> None:
        self.steps: list[float] = []

    @contextlib.contextmanager
    def on(self, kind: type) -> Iterator[None]:
        """Clock the calls of a class of estimators; one that another makes counts as the other's."""
        known = {name: getattr(kind, name) for name in _CLOCKED}
        for name, call in known.items():
            setattr(kind, name, self._clocked(name, call))
        try:
            yield
        finally:
            for name, call in known.items():
                setattr(kind, name, call)

    def _clocked(self, name: str, call: Any) -> Any:
        @functools.wraps(call)
        def clocked(*args: Any, **named: Any) -> Any:
            begun = time.process_time()
            try:
                return call(*args, **named)
            finally:
                if name == "neighbours":
                    self.steps.append(0.0)  # the first thing asked at each step
                if self.steps:
                    self.steps[-1] += time.process_time() - begun

        return clocked


def lived(homes: list[Path]) -> dict[str, list[Episode]]:
    """Return the episodes remembered in earlier homes, by the name of their scope."""
    episodes: dict[str, list[Episode]] = {}
    for folder in sorted(place for home in homes for place in home.glob("**/memory")):
        memory = Memory(folder)
        for name in memory.scopes():
            episodes.setdefault(name, []).extend(memory.scope(name).episodes())
    return episodes


def play(
    game: str, games: Path | None, estimator: str, episodes: int, known: dict[str, list[Episode]], seed: int
) -> tuple[list[float], list[float]]:
    """Return the milliseconds of each step, and the score of each episode, with a memory that begins with `known`."""
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as home,
        clock.on(KnnEstimator if estimator == "knn" else GraphEstimator),
    ):
        memory = Memory(Path(home) / "memory")
        for name, lived_there in known.items():
            memory.scope(name).append_all(lived_there)
        memory.close()
        where = ["--games", str(games)] if games is not None else []
        fresh, result = [] if known else ["--fresh"], Path(home) / "result.json"
        cli.main(["run", game, *where, "--saves", home, *fresh, "--quiet", "--json", str(result), "--model",
                  "prior/verbs", "--estimator", estimator, "--episodes", str(episodes), "--steps", "60",
                  "--seed", str(seed)])  # fmt: skip
        scores = [episode["score"] for episode in json.loads(result.read_text())["episodes"]]
    return [1000.0 * seconds for seconds in clock.steps], scores


def opened(folder: Path) -> tuple[float, float, float]:
    """Open a memory with the graph estimator as a session does; called in a process of its own.

    Returns:
        The processor time and the time on the clock of that, both without keeping what was learnt, and the processor
        time of keeping it, all in seconds.
    """
    kept, keeping, save_learnt = 0.0, 0.0, learnt.save

    def save(*arguments: Any) -> None:
        nonlocal kept, keeping
        begun, wall = time.process_time(), time.perf_counter()
        save_learnt(*arguments)
        kept, keeping = time.process_time() - begun, time.perf_counter() - wall

    learnt.save = save
    begun, wall = time.process_time(), time.perf_counter()
    with Memory(folder, rules=scope_rules) as memory:
        scope = memory.scope(NAME)
        opening = OpeningNumbers(relived_s=0.0)
        estimator = learnt.open_estimator(GraphEstimator, scope, profile("default"), opening=opening)
        spent, wall = time.process_time() - begun, time.perf_counter() - wall
        del estimator
    return spent - kept, wall - keeping, kept


def bench_open(folder: Path, entries: int) -> None:
    """Measure opening a memory, first with nothing kept of what is learnt from it."""
    name = size_name(entries)
    with Memory(folder, rules=scope_rules) as memory:
        memory.scope(NAME).append_all(World(1).episodes(entries))
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        (relived, wall, kept), *again = (pool.submit(opened, folder).result() for _ in range(4))
    note(f"on the clock: {wall:.1f} s all relived, load {os.getloadavg()[0]:.1f}")
    note(f"on the clock: {statistics.median(wall for _, wall, _ in again):.1f} s from what was kept")
    (path,) = folder.glob(f"*/{LEARNT}")
    say(f"open at {name} steps, all relived", relived, "s")
    say(f"keep what was learnt at {name} steps", kept, "s")
    say(f"what is kept at {name} steps", path.stat().st_size / 1e6, "MB")
    figure = f"open at {name} steps, from what was kept"
    loaded = statistics.median(spent for spent, _, _ in again)
    say(figure, loaded, "s", target=OPEN_TARGET_S, peer="reliving", peer_value=relived)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("game", nargs="?", default="feast")
    parser.add_argument("--games", type=Path)
    parser.add_argument("--episodes", type=int, default=50)
    parser.add_argument("--known", type=Path, nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=77)
    parser.add_argument("--open", type=int, nargs="+", default=[], metavar="STEPS")
    parser.add_argument("--folder", help="a folder on the disk to be measured (%(default)s)", default=None)
    args = parser.parse_args()
    for entries in args.open:
        with tempfile.TemporaryDirectory(dir=args.folder, prefix="jitrl-bench-") as name:
            bench_open(Path(name) / "memory", entries)
    if args.open:
        return
    known = lived(args.known)
    if known:
        steps = sum(len(episode.steps) for episodes in known.values() for episode in episodes)
        note(f"{steps:,} steps are known before")
    peer, _ = play(args.game, args.games, "knn", args.episodes, known, args.seed)
    ours, scores = play(args.game, args.games, "graph", args.episodes, known, args.seed)
    mean, ninth = statistics.fmean(ours), statistics.quantiles(ours, n=20)[-1]
    say(
        f"{args.game}: graph, a step",
        mean,
        "ms",
        target=TARGET_MS,
        peer="knn",
        peer_value=statistics.fmean(peer),
    )
    say(f"{args.game}: graph, 95th percentile", ninth, "ms")
    note(f"{len(ours):,} steps clocked, {len(peer):,} of knn")
    note(
        f"scores of graph: {' '.join(f'{score:g}' for score in scores)}; {statistics.fmean(scores):.1f} on average"
    )


if __name__ == "__main__":
    main()

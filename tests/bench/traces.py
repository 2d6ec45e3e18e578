"""Writes every decision of the graph estimator on three games and twelve dungeons, to compare two versions of it.

    python -m tests.bench.traces FOLDER [--jobs 2] [--only NAME ...]

FOLDER gets one text a game or dungeon: a line for each decision with the candidates, the number of times each was
tried, V, Q and its terms, the remembered steps and the plan that they rest on, and a line for each step taken. Printed
is a digest of each text. A change that is not to change decisions leaves all texts the same byte for byte
(`diff -r BEFORE AFTER`).
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

from engine.environments import profile
from engine.records import State, Step, Valuation
from engine.values.base import Query
from engine.values.graph import GraphEstimator
from jitrl_tui import cli
from tests.bench.dungeons import play

GAMES = ("pantry", "manor", "feast")
KINDS: dict[str, frozenset[str]] = {
    "plain": frozenset(),
    "furnished": frozenset({"furnished"}),
    "armed": frozenset({"furnished", "armed"}),
    "untold": frozenset({"untold"}),
    "waking": frozenset({"waking"}),
}
"""Kinds of dungeons, and the options that make them."""
DUNGEONS = (*((kind, seed) for kind in KINDS for seed in (901, 902)), ("furnished", 903), ("untold", 903))
_EPISODES = 12


def record(name: str, folder: Path) -> str:
    """Play a game or a dungeon, write its decisions into a folder, and return a line with their digest."""
    lines: list[str] = []
    value, observe = GraphEstimator.value, GraphEstimator.observe

    def valued(self: GraphEstimator, query: Query, rng: np.random.Generator) -> Valuation:
        found = value(self, query, rng)
        lines.extend(_decision(query, found))
        return found

    def observed(self: GraphEstimator, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        lines.append(f"took {step.action!r} {step.env_reward!r} {terminated} {lost}")
        observe(self, step, then, terminated=terminated, lost=lost)

    GraphEstimator.value, GraphEstimator.observe = valued, observed  # type: ignore[method-assign]
    try:
        if name in GAMES:
            with tempfile.TemporaryDirectory() as home:
                cli.main(["run", name, "--saves", home, "--fresh", "--quiet", "--model", "prior/verbs",
                          "--episodes", str(_EPISODES), "--steps", "60", "--seed", "5"])  # fmt: skip
        else:
            kind, _, seed = name.partition("-")
            options = {one: one in KINDS[kind] for one in ("furnished", "untold", "armed", "waking")}
            play(int(seed), _EPISODES, 60, 99, restless=True, settings=profile("default"), **options)
    finally:
        GraphEstimator.value, GraphEstimator.observe = value, observe  # type: ignore[method-assign]
    text = "\n".join(lines) + "\n"
    (folder / f"{name}.txt").write_text(text)
    return f"{hashlib.sha256(text.encode()).hexdigest()[:16]}  {name}  {len(lines)} lines"


def _decision(query: Query, found: Valuation) -> Iterable[str]:
    yield f"at {query.state.place!r} left {query.steps_left} v {found.v!r}"
    terms = zip(*found.terms.values(), strict=True) if found.terms else iter(())
    for candidate, q, n, how in zip(query.candidates, found.q, found.n, found.how, strict=True):
        yield f"  {candidate.action!r} q {q!r} n {n} {how} {next(terms, ())!r}"
    hits = [(hit.entry, hit.action, hit.similarity, hit.ahead, hit.gain, hit.expected) for hit in found.hits]
    yield f"  hits {hits!r} plan {found.plan!r}"


def main() -> None:
    """Record and print digests."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", nargs="*", default=[])
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    names = args.only or [*GAMES, *(f"{kind}-{seed}" for kind, seed in DUNGEONS)]
    with ProcessPoolExecutor(args.jobs, max_tasks_per_child=1) as pool:
        for line in pool.map(partial(record, folder=args.folder), names):
            print(line, flush=True)


if __name__ == "__main__":
    main()

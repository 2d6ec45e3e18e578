"""How well a model chooses: 24 states of our own, each with an obviously good action.

The result decides how a model is read when the settings say "auto", and is kept in the cache folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from engine.llm.model import Model
from engine.records import ActionRequest

FILE = "capabilities.json"


@dataclass(frozen=True, slots=True)
class Problem:
    """One state with its valid actions, and those of them that are good."""

    state: str
    actions: tuple[str, ...]
    good: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Capability:
    """What was measured.

    Attributes:
        reading: "string", "token" or "verbalized".
        top1: Share of states whose best-rated action is good.
        top3: Share of states with a good action among the best three.
        rank: Mean rank of the best good action, from 1; ties count half.
        chance: The same for a model that guesses.
        position_bias: How far the places of its first choices in the list are from those of the good
            actions: total variation distance over the list's thirds, 0 (none) to 1.
        seconds: Median wall time of a decision.
        failed: States in which it gave nothing usable.
        tokens: Tokens in and out, all states together.
        at: When it was measured, Unix time.
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
    """Let `model` rate every action of every state, the lists in an order drawn from `rng`.

    Raises:
        ModelError: The model cannot be reached, or a call was cancelled.
        MissingError: Likewise.
    """
    tasks = problems() if tasks is None else tasks
    ranks, seconds, first, good_places = [], [], [], []
    failed = 0
    before = model.usage.tokens
    for i, task in enumerate(tasks):
        on_state(i, len(tasks))
        order = tuple(task.actions[j] for j in rng.permutation(len(task.actions)))
        started = time.perf_counter()
        proposal = model.propose(ActionRequest("", "", "", task.state, order, len(order)), rng)
        seconds.append(time.perf_counter() - started)
        z = {c.action: c.z for c in proposal.candidates}
        failed += not z
        ranks.append(min(_rank(good, z, order) for good in task.good))
        if z:
            first.append(_third(order.index(max(z, key=lambda a: z[a])), len(order)))
            good_places += [_third(order.index(good), len(order)) for good in task.good]
    on_state(len(tasks), len(tasks))
    ranks_array = np.asarray(ranks)
    return Capability(
        model=model.name,
        reading=reading,
        states=len(tasks),
        top1=float((ranks_array < 1.5).mean()),
        top3=float((ranks_array <= 3).mean()),
        rank=float(ranks_array.mean()),
        chance=float(np.mean([_chance(len(t.actions), len(t.good)) for t in tasks])),
        position_bias=_distance(first, good_places),
        seconds=float(np.median(seconds)),
        failed=failed,
        tokens=model.usage.tokens - before,
        at=clock(),
    )


def _rank(action: str, z: dict[str, float], order: Sequence[str]) -> float:
    """Return the rank of `action`, from 1; actions without a logit come last, and ties share their ranks."""
    value = z.get(action, -np.inf)
    values = [z.get(a, -np.inf) for a in order]
    return 1 + sum(v > value for v in values) + (sum(v == value for v in values) - 1) / 2


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
    """Return what was measured before; [] if nothing can be read."""
    if cache is None:
        return []
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        return [Capability(**item) for item in json.loads((cache / FILE).read_text(encoding="utf-8"))]
    return []


def record(cache: Path, result: Capability) -> None:
    """Keep `result` in place of an older one of the same model and reading.

    Raises:
        OSError: It cannot be written.
    """
    kept = [c for c in load(cache) if (c.model, c.reading) != (result.model, result.reading)]
    cache.mkdir(mode=0o700, parents=True, exist_ok=True)
    unfinished = cache / f"{FILE}.{os.getpid()}"
    items: list[dict[str, Any]] = [asdict(c) for c in [*kept, result]]
    unfinished.write_text(json.dumps(items, indent=1), encoding="utf-8")
    unfinished.replace(cache / FILE)


def best_reading(cache: Path | None, model: str) -> str | None:
    """Return the reading of `model` with the best mean rank, None if it was never measured."""
    known = [c for c in load(cache) if c.model == model and c.failed <= c.states // 4]
    return min(known, key=lambda c: (c.rank, c.seconds)).reading if known else None

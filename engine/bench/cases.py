"""Case studies: the decisions of a run in which memory turned the choice, with the logits before and after it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.bench.folder import cell_folder
from engine.session import recording
from engine.session.recorded_steps import TakenStep, episodes


@dataclass(frozen=True, slots=True)
class CaseCandidate:
    """A candidate of a case: its action, its logits z and z′, its number of neighbours, and its value Q."""

    action: str
    z: float
    z_prime: float
    n: int
    q: float


@dataclass(frozen=True, slots=True)
class Case:
    """A decision in which an action that neighbours took has the highest logit after the update, and not before it.

    Attributes:
        cell: Name of its cell.
        leg: Number of the session within the cell.
        episode: Number of the episode within the session, from 1.
        step: Step within the episode, from 0.
        state: Where it was.
        before: The action with the highest logit before the update.
        after: The one with the highest logit after it.
        rise: By how much the probability of the latter rose.
        points: Points that it gained, if it was carried out; otherwise 0.
    """

    cell: str
    leg: int
    episode: int
    step: int
    state: str
    before: CaseCandidate
    after: CaseCandidate
    rise: float
    points: float


def read(folder: Path, manifest: Mapping[str, Any]) -> tuple[Case, ...]:
    """Return the cases in the recordings of a run. Cells without a folder have none.

    Raises:
        BadFile: A recording is damaged.
    """
    return tuple(
        case
        for name in manifest["cells"]
        for path in recording.below(cell_folder(folder, name))
        for case in _of(path, name)
    )  # fmt: skip


def _of(path: Path, cell: str) -> Iterator[Case]:
    for past in episodes(recording.read(path)):
        for step, taken in enumerate(past.steps if past.ended else ()):
            found = _turned(taken, cell, int(path.parent.name), past.started.episode, step)
            if found is not None:
                yield found


def _turned(taken: TakenStep, cell: str, leg: int, episode: int, step: int) -> Case | None:
    decision = taken.decision
    update, every = decision.update, decision.candidates
    if update is None or not update.neighbours:
        return None
    before = max(range(len(every)), key=lambda i: every[i].z)
    after = max(range(len(every)), key=lambda i: update.z_prime[i])
    values = update.valuation
    turned = every[after].z < every[before].z and update.z_prime[after] > update.z_prime[before]
    if not turned or not values.n[after]:  # an action that no neighbour took is explored, not remembered
        return None

    def named(i: int) -> CaseCandidate:
        return CaseCandidate(every[i].action, every[i].z, update.z_prime[i], values.n[i], values.q[i])

    return Case(
        cell, leg, episode, step, decision.state.place or decision.state.text, named(before), named(after),
        decision.posterior[after] - decision.prior[after],
        taken.after.score - taken.before.score if decision.chosen == after else 0.0,
    )  # fmt: skip


def best(found: list[Case], most: int) -> list[Case]:
    """Return so many of the most telling cases, each pair of actions once."""
    chosen: dict[tuple[str, str], Case] = {}
    for case in sorted(found, key=lambda case: (case.points <= 0, -case.rise)):
        chosen.setdefault((case.before.action, case.after.action), case)
    return list(chosen.values())[:most]

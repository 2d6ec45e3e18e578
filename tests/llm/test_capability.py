"""The capability test against its definition, with models that are no models."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import pytest

from engine.llm.model import Usage
from engine.llm.priors.wordless import UniformModel
from engine.llm.reading import capability
from engine.records import Candidate, Proposal

TASKS = (
    capability.Problem("A", ("a", "b", "c", "d", "e"), ("a",)),
    capability.Problem("B", ("a", "b", "c", "d"), ("c", "d")),
)


class Opinionated:
    """Rates actions by a table; what is not in it gets no logit."""

    name = "test/table"
    usage = Usage()

    def __init__(self, z: dict[str, float]) -> None:
        self.z = z

    def propose(self, request, rng):
        return Proposal(tuple(Candidate(a, self.z[a]) for a in request.valid_actions if a in self.z))


def by_all_orders(z: dict[str, float], task: capability.Problem) -> tuple[float, float, float]:
    """Average over every order of the actions, each sorted by its logit in a stable way."""
    ranks = []
    for order in itertools.permutations(task.actions):
        ranked = sorted(order, key=lambda a: -z.get(a, -np.inf))
        ranks.append(1 + min(ranked.index(good) for good in task.good))
    array = np.asarray(ranks)
    return float((array == 1).mean()), float((array <= 3).mean()), float(array.mean())


@pytest.mark.parametrize(
    "z", [{}, {"a": 1.0, "b": 1.0}, {"a": -1.0, "b": 2.0, "c": 2.0, "d": 2.0, "e": 2.0}, {"c": 1.0, "e": 1.0}]
)
def test_equals_count_as_they_would_on_average(z):
    found = capability.measure(Opinionated(z), "string", np.random.default_rng(1), tasks=TASKS)
    expected = np.mean([by_all_orders(z, task) for task in TASKS], axis=0)
    assert (found.top1, found.top3, found.rank) == pytest.approx(tuple(expected))
    assert found.failed == (0 if z else 2) + (1 if set(z) == {"e"} else 0)


def test_a_model_without_opinions_is_at_chance():
    found = capability.measure(UniformModel(), "string", np.random.default_rng(1))
    assert found.states == 24
    assert found.rank == pytest.approx(found.chance)


def test_results_are_kept_by_model_and_reading_and_the_best_reading_is_taken(tmp_path: Path):
    table = Opinionated({"a": 2.0, "c": 1.0})
    for reading, z in (("token", {}), ("verbalized", {"a": 2.0, "c": 3.0}), ("string", {"b": 1.0})):
        table.z = z
        found = capability.measure(table, reading, np.random.default_rng(1), tasks=TASKS, clock=lambda: 5.0)
        capability.record(tmp_path, found)
        capability.record(tmp_path, found)
    kept = capability.load(tmp_path)
    assert [c.reading for c in kept] == ["token", "verbalized", "string"]
    assert capability.best_reading(tmp_path, "test/table") == "verbalized"
    assert capability.best_reading(tmp_path, "another") is None
    lines = capability.table(kept).splitlines()
    assert lines[2].startswith("| test/table | verbalized | ")
    assert len(lines) == 5
    (tmp_path / capability.FILE).write_text("[{]")
    assert capability.load(tmp_path) == []


def test_every_state_has_its_good_actions_in_the_list():
    tasks = capability.problems()
    assert len(tasks) == 24
    for task in tasks:
        assert set(task.good) < set(task.actions)
        assert len(set(task.actions)) == len(task.actions) <= 9

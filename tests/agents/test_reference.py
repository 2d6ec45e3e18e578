"""The profile `reference` gives the numbers of the authors' published functions, and the same choices.

`tests/agents/write_reference_cases.py` wrote the numbers and says how to write them anew.
"""

from __future__ import annotations

import csv
import dataclasses
import json
import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

from engine import logits
from engine.agents.base import Turn
from engine.agents.jitrl import JitrlAgent
from engine.environments import profile
from engine.games.states.state import GameAbstractor
from engine.llm.model import Reply
from engine.memory import Memory
from engine.records import (
    Candidate,
    Decision,
    Episode,
    ModelCall,
    Neighbour,
    Observation,
    Proposal,
    State,
    Step,
)
from engine.settings import Settings
from engine.values.knn import KnnEstimator, retriever
from tests.agents.write_reference_cases import DECISIONS, RETRIEVAL
from tests.writing import writing

NEAR = 1e-6
ALL = tuple("abcdefgh")


@pytest.fixture(scope="module")
def cases() -> list[dict[str, str]]:
    with DECISIONS.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def decided(case: dict[str, str], settings: Settings) -> Decision:
    """Return our decision in a case of the table."""
    said = [None if one == "-" else float(one) for one in case["confidences"].split()]
    z = logits.from_confidences(said, settings.transform, settings.unsaid_confidence)
    options = tuple(Candidate(action, float(one)) for action, one in zip(case["actions"], z, strict=True))
    proposal = Proposal(options, best=case["actions"][int(case["best"]) - 1])
    told = case["neighbours"].split()
    near = tuple(Neighbour(entry, 1.0, one[0], float(one[1:]), 1, entry, "") for entry, one in enumerate(told))
    agent = JitrlAgent(Fixed(proposal), KnnEstimator(Fixed(near), settings), settings)
    turn = Turn(0, 60, Observation("Hall"), State("", ()), ALL, episode=int(case["episode"]), episodes=50)
    return agent.decide(turn, Draws([float(one) for one in case["draws"].split()]))


class Fixed:
    """A model or a memory with one answer."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    def propose(self, request: Any, rng: Any) -> Any:
        return self._answer

    def retrieve(self, state: Any, search: Any) -> Any:
        return self._answer


class Draws:
    """Random numbers of a case for the model's options; none are needed for what memory adds."""

    def __init__(self, draws: list[float]) -> None:
        self._draws = draws

    def spawn(self, count: int) -> list[Draws]:
        return [self] * count

    def random(self, size: int | None = None) -> Any:
        return 0.5 if size is None else np.array([*self._draws, *[0.0] * size][:size])


def numbers(text: str) -> list[float]:
    return [float(one) for one in text.split()]


def test_every_value_and_every_choice_is_that_of_the_authors_functions(cases):
    assert Counter(case["kind"] for case in cases) == {"game": 2500, "web": 500}
    settings = {kind: profile("reference", kind) for kind in ("game", "web")}
    for number, case in enumerate(cases):
        made = decided(case, settings[case["kind"]])
        assert made.action == case["chosen"], (number, case)
        if not case["neighbours"]:
            continue
        update = made.update
        assert "".join(candidate.action for candidate in made.candidates) == case["candidates"], number
        found = [update.valuation.v, *update.valuation.q, *update.advantage_normalised, *update.z_prime]
        told = [float(case["v"]), *numbers(case["q"]), *numbers(case["a"]), *numbers(case["z"])]
        assert np.abs(np.array(found) - told).max() <= NEAR, (number, case, found)


@pytest.mark.parametrize(
    "changes",
    [{"baseline": "neighbours"}, {"normalisation": "absolute"}, {"alpha": 5.0}, {"optimism": "fixed"}, {"beta": 1.2},
     {"beta_growth": 0.0}, {"memory_candidates": "all"}, {"unsaid_confidence": "mean"}, {"unremembered": "policy"},
     {"selection": "greedy"}, {"transform": "log"}],
)  # fmt: skip
def test_each_setting_of_the_profile_matters(cases, changes):
    settings = dataclasses.replace(profile("reference"), **changes)

    def agrees(case: dict[str, str]) -> bool:
        made = decided(case, settings)
        same = [c.action for c in made.candidates] == list(case["candidates"])
        near = not case["neighbours"] or (same and np.allclose(made.update.z_prime, numbers(case["z"]), atol=NEAR))
        return near and made.action == case["chosen"]

    assert not all(map(agrees, cases[:600]))


class Saying:
    """A model that gives one answer to everything."""

    name = "saying"
    answer = ""

    def complete(self, question: Any) -> Reply:
        return Reply(self.answer, ModelCall(question.purpose, self.name, "", self.answer))


@pytest.fixture
def memory(tmp_path):
    with Memory(tmp_path) as opened:
        yield opened


def test_every_search_finds_what_the_authors_memory_finds(memory):
    first, *lines = RETRIEVAL.read_text(encoding="utf-8").splitlines()
    texts = json.loads(first)["texts"]
    assert len(lines) > 150
    model = Saying()
    for number, line in enumerate(lines):
        case = json.loads(line)
        # The embedding does not matter: with fewer than 100 remembered steps all are compared by words.
        settings = profile("reference", k=case["k"], r=case["r"])
        told: list[str] = []
        abstractor = GameAbstractor().written(writing(model, told, **_written(settings)))

        def state(step: list[Any], abstractor=abstractor) -> State:
            look, said, carried, progress, route = (texts[one] for one in step[:5])
            model.answer = f"[SUMMARY]\nNothing new.\n\n[PROGRESS]\n{progress}\n\n[LOCATION]\nLocation: {route}"
            return abstractor.advance("wait", Observation(said, look, carried))

        def steps(episode: list[list[Any]], state=state) -> tuple[Step, ...]:
            last = len(episode) - 1
            return tuple(
                Step(state(step), step[5], step[6] or (settings.death_penalty if t == last else 0.0))  # noqa: B023
                for t, step in enumerate(episode)
            )

        abstractor.begin(Observation(""))
        scope = memory.scope(f"game/{number}")
        for at, episode in enumerate(case["episodes"]):
            scope.append(Episode(f"e{number}-{at}", scope.name, steps(episode), State("", ())))
        estimator = KnnEstimator(retriever(scope, settings), settings)
        query = state(case["query"])
        estimator.begin_episode(query)
        for _ in range(case["step"]):
            estimator.observe(Step(query, "wait", 0.0), query, terminated=False, lost=False)
        near = estimator.neighbours(query)
        assert told == []
        found = [(one.episode - 1, one.step, one.similarity, one.g) for one in near]
        expected = [tuple(one) for one in case["found"]]
        assert len(found) == len(expected), (number, found, expected)
        for one, other in zip(found, expected, strict=True):
            assert one == pytest.approx(other, abs=NEAR), (number, found, expected)


def _written(settings: Settings) -> dict[str, Any]:
    """Return the settings of texts."""
    return {name: getattr(settings, name) for name in ("state", "ngram", "history", "history_every", "history_tokens")}


def test_the_tables_name_their_commit_and_the_command():
    heads = DECISIONS.read_text(encoding="utf-8")[:400], RETRIEVAL.read_text(encoding="utf-8")[:400]
    for head in heads:
        assert re.search(r"liushiliushi/JitRL at [0-9a-f]{40}", head)
        assert "python -m tests.agents.write_reference_cases CLONE" in head

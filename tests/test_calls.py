"""How many functions a step and an append call. Counted, not timed, so the machine does not matter."""

from __future__ import annotations

import dataclasses
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import limits
from engine.environments import profile, scope_rules
from engine.memory import Memory
from engine.records import Episode, EpisodeEnded, Stepped
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig

STEPS = 40
MOST_A_STEP = 1_600
"""Calls of a step of the default learner on the Pantry, median of an episode: a third of what they once were."""
MOST_AN_APPEND = 790
"""Calls of an append of an episode of 40 steps: four tenths of what they once were."""


class Calls:
    """Counts calls of Python functions in this thread."""

    def __init__(self) -> None:
        self.made = 0

    def count(self, frame: Any, what: str, arg: Any) -> None:
        self.made += what == "call"

    def of(self, do: Callable[[], Any]) -> int:
        self.made = 0
        sys.setprofile(self.count)
        try:
            do()
        finally:
            sys.setprofile(None)
        return self.made


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[int], Episode]:
    """Calls of each step of the second of two episodes on the Pantry, and that episode."""
    saves = tmp_path_factory.mktemp("saves")
    plan = SessionConfig("pantry", model="prior/verbs", episodes=2, settings=profile("default", step_limit=STEPS))
    saved = sessions.create(saves, plan, "run")
    calls, steps = Calls(), list[int]()

    def emit(event: Any) -> None:
        if isinstance(event, EpisodeEnded):
            steps.append(-1)
        elif isinstance(event, Stepped):
            steps.append(calls.made)
            calls.made = 0

    calls.of(Session(saved, saves, emit).run)
    with sessions.open_memory(saves, saved) as memory:
        (name,) = memory.scopes()
        episode = list(memory.scope(name).episodes())[-1]
    return steps[steps.index(-1) + 2 : -1], episode


def test_a_step_stays_below_its_number_of_calls(played: tuple[list[int], Episode]) -> None:
    steps, _ = played
    assert 0 < statistics.median(steps) <= MOST_A_STEP


def test_an_append_stays_below_its_number_of_calls(played: tuple[list[int], Episode], tmp_path: Path) -> None:
    _, episode = played
    assert len(episode.steps) == STEPS
    with Memory(tmp_path / "memory", rules=scope_rules, secrets=()) as memory:
        scope = memory.scope(episode.scope)
        scope.append(dataclasses.replace(episode, uid="first", number=0))  # makes the file, and imports what it needs
        assert Calls().of(lambda: scope.append(dataclasses.replace(episode, uid="second", number=0))) <= MOST_AN_APPEND
        assert scope.episode_count == 2


@given(st.lists(st.one_of(st.floats(), st.integers(), st.booleans(), st.text(max_size=1)), max_size=4))
def test_many_numbers_are_judged_as_each_of_them(values: list[Any]) -> None:
    assert limits.are_numbers(values, 1e100) == all(limits.is_number(value, 1e100) for value in values)

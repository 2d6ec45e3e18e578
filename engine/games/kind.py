"""Text adventures as a kind of environment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.kinds import EnvironmentContext, Kind
from engine.memory.search import ScopeRules

if TYPE_CHECKING:
    from engine.environment import Environment
    from engine.llm.reading.writer_check import WritingTest

FALLBACK = (
    "north", "south", "east", "west", "northeast", "northwest", "southeast", "southwest",
    "up", "down", "in", "out", "look", "wait",
)  # fmt: skip
"""Actions that every text game understands."""
EVERY = "*"
"""Stands for every story of the folder of stories in a suite."""


def _open(name: str, context: EnvironmentContext) -> Environment:
    from engine.games.catalogue import open_game

    return open_game(name, games=context.games, saves=context.saves)


def _ready(name: str, context: EnvironmentContext) -> tuple[str, ...]:
    from engine.games.catalogue import find_game, stories_in

    if name == EVERY:
        return stories_in(context.games)
    find_game(name, games=context.games, saves=context.saves)
    return (name,)


def _digest(name: str, context: EnvironmentContext) -> str:
    from engine.games.catalogue import find_game

    return find_game(name, games=context.games, saves=context.saves).digest


def _tests() -> Mapping[str, WritingTest]:
    from engine.games.writer_questions import TESTS

    return TESTS


GAMES = Kind(
    name="game",
    about="text adventures: a name from `jitrl games ls`, or the path of a story",
    open=_open,
    fallback=FALLBACK,
    ready=_ready,
    opening="starting the game",
    profiles={
        "default": {"estimator": "graph", "selection": "greedy", "beta": 20.0, "curiosity": 3.0, "settling": 0.2},
        "paper": {
            "retrieval": "hybrid", "history_weight": 0.25, "state": "llm", "history_every": 1, "confidences": "fifty",
        },
        "reference": {
            "retrieval": "recall", "state": "raw", "ngram": 4, "history_tokens": "text",
            "history_weight": 0.3, "history": "llm", "history_every": 1, "keep_above": 0.98, "ties": "return",
            "optimism": "adaptive", "memory_candidates": "positive", "beta_growth": 0.5, "rewards": "llm_or_score",
            "reward_scale": 10.0, "judging_temperature": 0.8, "confidences": "differing", "step_limit": 50,
        },
        "unified": {"history_weight": 0.25, "state": "llm", "history_every": 1, "confidences": "fifty"},
    },
    tests=_tests,
    memory=ScopeRules(forms=False),
    ahead=True,
    digest=_digest,
)  # fmt: skip

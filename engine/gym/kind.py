"""Text environments with Gymnasium's interface as a kind of environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from engine.games.kind import GAMES
from engine.gym import open_gym
from engine.kinds import EnvironmentContext, Kind
from engine.memory.search import ScopeRules

if TYPE_CHECKING:
    from engine.environment import Environment


def _open(name: str, context: EnvironmentContext) -> Environment:
    return open_gym(name, context.saves, context.variables)


def _ready(name: str, context: EnvironmentContext) -> tuple[str, ...]:
    """Open the environment once, because only its process knows whether it can be played."""
    _open(name, context).close()
    return (name,)


GYM = Kind(
    name="gym",
    about="gym:PACKAGE/ENV with a text environment of Gymnasium",
    open=_open,
    fallback=("look", "wait"),
    ready=_ready,
    profiles=GAMES.profiles,
    tests=GAMES.tests,
    memory=ScopeRules(forms=False),
)

"""Checks that a session can be started, before anything is opened or stored."""

from __future__ import annotations

from pathlib import Path

from engine import agents, environments, trust, values
from engine.settings import SessionConfig


def check_game(config: SessionConfig, saves: Path) -> tuple[str, ...]:
    """Check that a game can be started; return its name, or the names of the tasks of a suite.

    Raises:
        JitrlError: There is no such game or task, or something that it needs is missing: its shared memory,
            too. Or it names places that the user has not confirmed.
    """
    from engine.kinds import EnvironmentContext
    from engine.memory.memory_factory import check_address
    from engine.session.store import named_places
    from engine.settings.address import is_address

    trust.require(*named_places(config))
    check_player(config)
    if is_address(config.memory):
        check_address(config.memory, saves)
    return environments.kind_of(config.game).ready(config.game, EnvironmentContext(saves, config.games))


def check_player(config: SessionConfig) -> None:
    """Check that there are the agent, the model and the estimator of a session.

    Raises:
        JitrlError: One is not there.
    """
    from engine.llm import check_name

    if agents.AGENTS.find(config.agent).asks_model:
        check_name(config.model)
    values.ESTIMATORS.find(config.settings.estimator)

"""Text environments with Gymnasium's interface, each in a process of its own.

gym:gymnasium/FrozenLake-v1?is_slippery=false    a package, an id under which it registers, keyword arguments
gym:textworld/tw-simple?rewards=dense&goal=brief one of TextWorld's challenges, made when it is first asked for
gym:textworld/path/to/game.z8                    a game that tw-make made
gym:nle/NetHackStaircase-v0                      a task of the NetHack Learning Environment

`docs/gymnasium.md` says what is understood.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.gym.environment import GymEnvironment


def open_gym(name: str, saves: Path, variables: Mapping[str, str]) -> GymEnvironment:
    """Return the environment of this name.

    Args:
        name: With its `gym:`.
        saves: Folder for all that persists.
        variables: Environment variables; JITRL_GYM names an interpreter that has the package.

    Raises:
        MissingError: The package, or one that it needs, is not installed.
        UsageError: There is no such environment, or it cannot be played as text.
        GameError: It cannot be made, or not in time.
    """
    from engine.gym.environment import GymEnvironment

    return GymEnvironment(name, saves / "cache" / "gym", variables)

"""Text environments with Gymnasium's interface, each in a process of its own.

gym:gymnasium/FrozenLake-v1?is_slippery=false    a package, the id of an environment in it, keyword arguments
gym:textworld/tw-simple?rewards=dense&goal=brief a challenge of TextWorld, made at the first use
gym:textworld/path/to/game.z8                    a game made by tw-make
gym:nle/NetHackStaircase-v0                      a task of the NetHack Learning Environment

`docs/gymnasium.md` describes the names in full.
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
        name: Full name, beginning with `gym:`.
        saves: Folder for persistent data.
        variables: Environment variables. JITRL_GYM names an interpreter that has the package.

    Raises:
        MissingError: The package, or one that it needs, is not installed.
        UsageError: There is no such environment, or it cannot be played as text.
        GameError: Making it failed or took too long.
    """
    from engine.gym.environment import GymEnvironment
    from engine.paths import cache_folder

    return GymEnvironment(name, cache_folder(saves) / "gym", variables)

"""From a package and an id to an environment with Gymnasium's interface. Runs in the worker process only.

`MAKERS` has the packages that need something of their own: a module and a line each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.gym.making import Made, imported, registered

Maker = Callable[[str, Mapping[str, Any], Path], Made]
"""Makes an environment of an id, keyword arguments, and a folder for what is worth keeping."""


def _textworld(env_id: str, given: Mapping[str, Any], cache: Path) -> Made:
    from engine.gym import textworld_games

    return textworld_games.make(env_id, given, cache)


def _nethack(env_id: str, given: Mapping[str, Any], cache: Path) -> Made:
    from engine.gym import nethack

    return nethack.make(env_id, given, cache)


MAKERS: Mapping[str, Maker] = {"textworld": _textworld, "nle": _nethack}


def make(package: str, env_id: str, given: Mapping[str, Any], cache: Path) -> Made:
    """Import a package and make one of its environments.

    Raises:
        NotHere: A module is missing.
        NoSuch: The package has no such environment.
        Unfit: The id or an argument cannot be.
    """
    imported(package)
    maker = MAKERS.get(package)
    return maker(env_id, given, cache) if maker is not None else registered(package, env_id, given)

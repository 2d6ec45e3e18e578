"""Makes environments with Gymnasium's interface from a package and an id. Runs in the worker process only.

`MAKERS` lists the packages that need a module of their own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from engine.gym.maker_base import MadeEnvironment, import_module, make_registered

Maker = Callable[[str, Mapping[str, Any], Path], MadeEnvironment]
"""Makes an environment from an id, keyword arguments, and a folder for cached files."""


def _textworld(env_id: str, given: Mapping[str, Any], cache: Path) -> MadeEnvironment:
    from engine.gym import textworld_games

    return textworld_games.make(env_id, given, cache)


def _nethack(env_id: str, given: Mapping[str, Any], cache: Path) -> MadeEnvironment:
    from engine.gym import nethack

    return nethack.make(env_id, given, cache)


MAKERS: Mapping[str, Maker] = {"textworld": _textworld, "nle": _nethack}


def make(package: str, env_id: str, given: Mapping[str, Any], cache: Path) -> MadeEnvironment:
    """Import a package and make one of its environments.

    Raises:
        ModuleMissing: A module is missing.
        NoSuch: The package has no such environment.
        Unfit: The id or an argument is invalid.
    """
    import_module(package)
    maker = MAKERS.get(package)
    return maker(env_id, given, cache) if maker is not None else make_registered(package, env_id, given)

"""The learner without a screen: records, Algorithm 1, memory, games, models, agents and the session loop.

As a library it has what `engine.library` has. It is imported when it is used.
"""

import sys
from importlib import import_module
from pathlib import Path
from typing import Any

__all__ = ["Play", "Player", "make_agent", "open_environment", "open_memory", "open_play", "play_episodes"]

_CARRIED = Path(__file__).with_name("carried")
"""Packages inside a wheel of jitrl (hatch_build.py). Those that are installed beside it come first."""
if _CARRIED.is_dir() and str(_CARRIED) not in sys.path:
    sys.path.append(str(_CARRIED))


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("engine.library"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

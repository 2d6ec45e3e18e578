"""The NetHack Learning Environment (Kuettler et al., 2020) as text. Runs in the worker process only.

It needs a module of its own for two reasons: seeds are set by a special method instead of `reset`, and
observations are arrays of characters.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.gym.maker_base import MadeEnvironment, make_registered

_STATUS_ROWS = 2
"""Number of rows at the bottom of the screen, with attributes, hit points and the turn."""
_X, _Y, _DEPTH = 0, 1, 12
"""Indices in `blstats`."""


def make(env_id: str, given: Mapping[str, Any], cache: Path) -> MadeEnvironment:
    """Make a task of NLE.

    Raises:
        NoSuch: There is no such task.
    """
    made = make_registered("nle", env_id, given)
    return MadeEnvironment(NetHack(made.env), made.source)


class NetHack:
    """A task of NLE. The observation is the text of the whole screen.

    `info` has NLE's own values, the map as description, the inventory, the level and position of the agent,
    and the outcome of the episode.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self.unwrapped = env.unwrapped
        self.action_space = env.action_space

    def reset(self, seed: int) -> tuple[str, dict[str, Any]]:
        """Begin an episode. The same seed and actions give the same game."""
        with contextlib.suppress(RuntimeError):  # one task allows no seeds
            self.unwrapped.seed(core=seed, disp=seed, reseed=False)
        return self._screen_and_info(*self._env.reset())

    def step(self, action: int) -> tuple[str, float, bool, bool, dict[str, Any]]:
        """Take an action."""
        seen, reward, terminated, truncated, info = self._env.step(action)
        text, details = self._screen_and_info(seen, info)
        return text, reward, terminated, truncated, details

    def close(self) -> None:
        """End the game."""
        self._env.close()

    def _screen_and_info(self, seen: Mapping[str, Any], info: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        screen = [_line(row) for row in seen["tty_chars"]]
        stats = seen["blstats"]
        carried = [
            f"  {chr(letter)} - {_line(name)}"
            for letter, name in zip(seen["inv_letters"], seen["inv_strs"], strict=True) if letter
        ]  # fmt: skip
        end = getattr(info.get("end_status"), "name", "")
        return "\n".join(screen), {
            **info,
            "description": "\n".join(screen[1:-_STATUS_ROWS]),
            "inventory": "\n".join(["You are carrying:", *carried] if carried else ["You are carrying nothing."]),
            "location": f"level {stats[_DEPTH]}, {stats[_X]} {stats[_Y]}",
            "is_success": end == "TASK_SUCCESSFUL",
            "lost": end == "DEATH",
        }


def _line(characters: Any) -> str:
    return bytes(characters).split(b"\0")[0].decode("latin-1").rstrip()

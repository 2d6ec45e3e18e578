"""Brings environments with older forms of Gym's interface to that of Gymnasium. Runs in the worker process only.

What can differ, each by itself:

- `reset` takes no seed; then `seed` is called before, if there is one. It may return an observation without `info`.
- `step` returns four values: observation, reward, done, info.
- It plays several games at once, and all values are lists. One that plays a single game so is played.
- It names no action space, because `info` lists the commands.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from engine.gym.unfit import Unfit


def adapt(creator: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes what `creator` makes, with Gymnasium's interface."""
    import gymnasium

    class Adapted(_Adapted, gymnasium.Env):  # type: ignore[misc]
        """What `gymnasium.make` takes for an environment."""

    def make(**given: Any) -> Any:
        return Adapted(creator(**given))

    make.metadata = getattr(creator, "metadata", {})  # type: ignore[attr-defined]
    return make


class _Adapted:
    """An environment with Gymnasium's `reset` and `step`. All else is that of `env`."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._batch = False
        """Whether all values are lists of one."""
        self.metadata = getattr(env, "metadata", {})
        self.render_mode = getattr(env, "render_mode", None)
        self.action_space = getattr(env, "action_space", None)
        self.observation_space = getattr(env, "observation_space", None)

    def __getattr__(self, name: str) -> Any:
        if name == "_env":
            raise AttributeError(name)
        return getattr(getattr(self._env, "unwrapped", self._env), name)

    @property
    def spec(self) -> Any:
        """Gymnasium's record of it, which some environments read."""
        return getattr(self._env, "spec", None)

    @spec.setter
    def spec(self, spec: Any) -> None:
        getattr(self._env, "unwrapped", self._env).spec = spec

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        """Begin an episode.

        Raises:
            Unfit: It plays several games at once.
        """
        given = {"seed": seed, "options": options}
        taken = _taken(self._env.reset, given)
        if "seed" not in taken and seed is not None and callable(set_seed := getattr(self._env, "seed", None)):
            set_seed(seed)
        seen = self._env.reset(**taken)
        whole = isinstance(seen, tuple) and len(seen) == 2 and isinstance(seen[1], (Mapping, list))
        observation, info = seen if whole else (seen, {})
        self._batch = isinstance(observation, (list, tuple)) and all(isinstance(one, str) for one in observation)
        if self._batch and len(observation) != 1:
            raise Unfit(f"it plays {len(observation)} games at once; needed is one that plays a single game")
        return self._single(observation), self._game_info(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Take an action."""
        observation, reward, *ends, info = self._env.step([action] if self._batch else action)
        details = self._game_info(info)
        done = bool(self._single(ends[0]))
        if len(ends) == 1:
            truncated = done and bool(details.get("TimeLimit.truncated"))
            ends = [done and not truncated, truncated]
        return self._single(observation), self._single(reward), *map(bool, map(self._single, ends)), details

    def render(self) -> Any:
        """Return a drawing."""
        return self._env.render()

    def close(self) -> None:
        """End it."""
        if callable(close := getattr(self._env, "close", None)):
            close()

    def _single(self, value: Any) -> Any:
        """Return what holds for the single game of a batch."""
        return value[0] if self._batch and isinstance(value, (list, tuple)) and len(value) == 1 else value

    def _game_info(self, info: Any) -> dict[str, Any]:
        """Return what `info` tells of the single game. Lists of commands may be lists of one list of them."""
        details = dict(self._single(info) or {})
        for key, value in details.items():
            nested = isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (list, tuple))
            details[key] = value[0] if nested else self._single(value)
        return details


def _taken(reset: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Return those keyword arguments that a function takes."""
    try:
        parameters = inspect.signature(reset).parameters.values()
    except (TypeError, ValueError):
        return dict(given)
    if any(one.kind is one.VAR_KEYWORD for one in parameters):
        return dict(given)
    return {name: value for name, value in given.items() if any(one.name == name for one in parameters)}

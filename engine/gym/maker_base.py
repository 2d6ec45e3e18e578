"""Functions and errors shared by all makers of environments. Runs in the worker process only."""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any


class ModuleMissing(Exception):
    """A module cannot be imported.

    Attributes:
        module: Name of the missing module.
    """

    def __init__(self, module: str) -> None:
        super().__init__(module)
        self.module = module


class NoSuchEnvironment(Exception):
    """The package has no environment of this name.

    Attributes:
        near: Similar names that it has, most similar first.
    """

    def __init__(self, near: list[str]) -> None:
        super().__init__(", ".join(near))
        self.near = near


@dataclass(frozen=True)
class MadeEnvironment:
    """An environment and its origin.

    Attributes:
        env: The environment, with Gymnasium's `reset`, `step` and `close`.
        source: Packages with their versions, or the path of a game.
        digest: md5 of the game file, "" if there is none.
    """

    env: Any
    source: str
    digest: str = ""


def import_module(module: str) -> Any:
    """Import a module and return it.

    Raises:
        ModuleMissing: The module, or one that it imports, is missing.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        raise ModuleMissing(error.name or module) from None


def versions(*modules: str) -> str:
    """Return the distributions that contain these modules, with versions, as one text."""
    known = packages_distributions()
    found = []
    for module in modules:
        for name in known.get(module.partition(".")[0], ())[:1]:
            try:
                found.append(f"{name} {version(name)}")
            except PackageNotFoundError:
                continue
    return ", ".join(dict.fromkeys(found))


def make_registered(package: str, env_id: str, given: Mapping[str, Any]) -> MadeEnvironment:
    """Make an environment that its package has registered with Gymnasium, or with its predecessor Gym.

    Raises:
        ModuleMissing: Gymnasium is missing.
        NoSuch: There is no such environment.
    """
    from engine.gym.older import adapt

    gymnasium = import_module("gymnasium")
    try:
        spec = _spec(gymnasium, env_id)
    except gymnasium.error.Error:
        raise NoSuchEnvironment(_near(gymnasium, package, env_id)) from None
    creator = spec.entry_point
    if isinstance(creator, str):
        creator = gymnasium.envs.registration.load_env_creator(creator)
    options = dict(given)
    if "render_mode" not in options and "ansi" in getattr(creator, "metadata", {}).get("render_modes", ()):
        options["render_mode"] = "ansi"
    spec = dataclasses.replace(spec, entry_point=adapt(creator))
    env = gymnasium.make(spec, disable_env_checker=True, **options)
    return MadeEnvironment(env, versions(package, "gymnasium"))


def _spec(gymnasium: Any, env_id: str) -> Any:
    """Return the record of an environment. One that only Gym has is made known to Gymnasium."""
    try:
        return gymnasium.spec(env_id)
    except gymnasium.error.Error:
        gym = sys.modules.get("gym")  # imported by the package
        try:
            older = gym.spec(env_id)  # type: ignore[union-attr]
        except Exception:
            older = None
        if older is None:
            raise
    given = getattr(older, "kwargs", None) or getattr(older, "_kwargs", {})
    gymnasium.register(env_id, older.entry_point, max_episode_steps=older.max_episode_steps, kwargs=given)
    return gymnasium.spec(env_id)


def _near(gymnasium: Any, package: str, env_id: str) -> list[str]:
    """Return the names that the package registered, most similar to `env_id` first."""
    names = [
        str(name) for name, spec in gymnasium.registry.items()
        if str(spec.entry_point).partition(":")[0].partition(".")[0] == package.partition(".")[0]
    ]  # fmt: skip
    return difflib.get_close_matches(env_id, names, 3, 0.4) or sorted(names)[:3]

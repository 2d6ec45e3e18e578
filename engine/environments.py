"""The kinds of environments, and functions that find the kind of a name or scope."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.games.kind import GAMES
from engine.gym.kind import GYM
from engine.kinds import Kind
from engine.memory.search import ScopeRules
from engine.registry import Registry
from engine.settings import Settings
from engine.web.kind import WEB

BUILT_IN = (GAMES, WEB, GYM)
"""The kinds of this project, in the order of display."""

ENVIRONMENTS = Registry("environment", Kind, "jitrl.environments", BUILT_IN)


def resolve(name: str) -> tuple[Kind, str]:
    """Return the kind of environment that a name belongs to, and the full name.

    The path of a file, and a name that does not begin with the name of a kind, is a text adventure.

    Raises:
        UsageError: There is no such kind, or its package does not load.
    """
    word, colon, _ = name.partition(":")
    for kind in _kinds() if colon else ():
        full = kind.full(name)
        if full is not None:
            return kind, full
    if colon and "/" not in word and not Path(name).exists():
        return ENVIRONMENTS.find(word), name
    return GAMES, name


def kind_of(name: str) -> Kind:
    """Return the kind of environment that a name belongs to.

    Raises:
        UsageError: As `resolve`.
    """
    return resolve(name)[0]


def kind_of_scope(scope: str) -> Kind | None:
    """Return the kind of environment that a scope of memory belongs to, None if it is unknown."""
    word = scope.partition("/")[0]
    for kind in BUILT_IN:
        if kind.name == word:
            return kind
    return ENVIRONMENTS.all().get(word)


def scope_rules(scope: str) -> ScopeRules:
    """Return the rules of memory for the kind of environment that a scope belongs to.

    For an unknown kind, the rules remove the values of fields that look like passwords.
    """
    kind = kind_of_scope(scope)
    return ScopeRules() if kind is None else kind.memory


def profile(name: str, kind: str = "game", /, **changes: Any) -> Settings:
    """Return the settings of a profile for a kind of environment, with `changes` applied.

    Raises:
        UsageError: No such profile, kind or setting, or a value out of range.
    """
    return ENVIRONMENTS.find(kind).profile(name, **changes)


def _kinds() -> Iterator[Kind]:
    """Yield all kinds. Installed packages are searched only after the kinds of this project."""
    yield from BUILT_IN
    yield from ENVIRONMENTS.all().values()

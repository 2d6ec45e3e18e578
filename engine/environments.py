"""The kinds of environments that can be played, and which of them a name belongs to. One line a kind."""

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
"""The kinds of this project, in the order in which they are shown."""

ENVIRONMENTS = Registry("environment", Kind, "jitrl.environments", BUILT_IN)


def resolve(name: str) -> tuple[Kind, str]:
    """Return the kind of environment that a name belongs to, and the full name.

    What begins with no kind's name is a text adventure, and so is the path of a file.

    Raises:
        UsageError: The name is that of a kind which is not there, or whose package does not load.
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
    """Return the kind of environment that a scope of memory belongs to, None where it is not known."""
    word = scope.partition("/")[0]
    for kind in BUILT_IN:
        if kind.name == word:
            return kind
    return ENVIRONMENTS.all().get(word)


def scope_rules(scope: str) -> ScopeRules:
    """Return what memory has to know of the kind of environment that a scope belongs to.

    Of a scope of an unknown kind, the values of password-like fields are taken out.
    """
    kind = kind_of_scope(scope)
    return ScopeRules() if kind is None else kind.memory


def profile(name: str, kind: str = "game", /, **changes: Any) -> Settings:
    """Return the settings of a profile for a kind of environment, with `changes` on top.

    Raises:
        UsageError: No such profile, kind or setting, or a value out of range.
    """
    return ENVIRONMENTS.find(kind).profile(name, **changes)


def _kinds() -> Iterator[Kind]:
    """Yield all kinds; packages are only looked at when those of this project did not do."""
    yield from BUILT_IN
    yield from ENVIRONMENTS.all().values()

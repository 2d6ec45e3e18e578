"""What a kind of environment is: all that the rest of jitrl has to know of it.

A kind of a package of your own is an entry point in the group `jitrl.environments` that names a `Kind`:

    [project.entry-points."jitrl.environments"]
    toy = "toy_world:KIND"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.memory.search import ScopeRules

if TYPE_CHECKING:
    from engine.environment import Environment
    from engine.evaluator import Evaluator
    from engine.llm.asking import Asking
    from engine.llm.model import Model
    from engine.llm.reading.writing import WritingTest
    from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Places:
    """Where an environment finds things.

    Attributes:
        saves: Folder for all that persists.
        games: A folder with more stories, None for the usual ones.
        variables: Environment variables.
    """

    saves: Path
    games: str | None = None
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)


def _itself(name: str, places: Places) -> tuple[str, ...]:
    return (name,)


def _text() -> Asking:
    from engine.llm.asking import TEXT_ASKING

    return TEXT_ASKING


def _score_or_model(settings: Settings, model: Model) -> Evaluator:
    from engine.evaluator import make_evaluator

    return make_evaluator(settings, model)


def _none() -> Mapping[str, WritingTest]:
    return {}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of environment. Its functions import what they need when they are called.

    Attributes:
        name: What it is called. What is played is named `NAME:...`, but for text adventures; the scope of its memory
            begins with `NAME/`.
        about: One line for people.
        open: Returns the environment of a full name. Raises JitrlError where it cannot be had.
        fallback: Actions that are offered where the environment knows no valid one and the episode goes on.
        ready: Returns the names to play: the name itself, or those of all tasks of a suite. Raises JitrlError where
            one of them could not be opened now.
        aliases: Other beginnings of a name, each with what stands for it.
        opening: What is shown while it opens.
        profiles: Settings that a profile changes for this kind, by the profile's name; on top of
            `engine.settings.PROFILES`.
        asking: Returns how a model is asked for actions.
        evaluator: Returns what judges the steps of its episodes.
        tests: Returns what a model is asked before it writes or judges, by the setting; nothing is tested for a
            setting that is not there.
        writes_small: Whether a model that is read by likelihoods alone may be asked to write and to judge.
        memory: What memory has to know.
        ahead: Whether a second copy can be played while a person reads, so that the next prompt is prepared.
        pictures: Whether it may show pictures.
    """

    name: str
    about: str
    open: Callable[[str, Places], Environment]
    fallback: tuple[str, ...]
    ready: Callable[[str, Places], tuple[str, ...]] = _itself
    aliases: Mapping[str, str] = field(default_factory=dict)
    opening: str = "starting the environment"
    profiles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    asking: Callable[[], Asking] = _text
    evaluator: Callable[[Settings, Model], Evaluator] = _score_or_model
    tests: Callable[[], Mapping[str, WritingTest]] = _none
    writes_small: bool = True
    memory: ScopeRules = field(default_factory=ScopeRules)
    ahead: bool = False
    pictures: bool = False

    def full(self, name: str) -> str | None:
        """Return the full name of what a name stands for, None where that is of no such kind."""
        for beginning, whole in self.aliases.items():
            if name.startswith(beginning):
                return whole + name.removeprefix(beginning)
        return name if name.startswith(f"{self.name}:") else None

    def profile(self, name: str, /, **changes: Any) -> Settings:
        """Return the settings of a profile for this kind, with `changes` on top.

        Raises:
            UsageError: No such profile or setting, or a value out of range.
        """
        from engine.settings import make_settings

        return make_settings(name, self.profiles.get(name, {}), changes)

"""The description of a kind of environment. The rest of jitrl uses a kind only through it.

A package of your own adds a kind with an entry point in the group `jitrl.environments` that names a `Kind`:

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
    from engine.llm.dialect import Dialect
    from engine.llm.model import Model
    from engine.llm.questions import Asking
    from engine.llm.reading.writer_check import WritingTest
    from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class EnvironmentContext:
    """Folders and variables for opening an environment.

    Attributes:
        saves: Folder for persistent data.
        games: Additional folder with stories, None for only the usual ones.
        variables: Environment variables.
    """

    saves: Path
    games: str | None = None
    variables: Mapping[str, str] = field(default_factory=lambda: os.environ)


def _itself(name: str, context: EnvironmentContext) -> tuple[str, ...]:
    return (name,)


def _after_colon(name: str, context: EnvironmentContext) -> str:
    return name.partition(":")[2] or Path(name).stem


def _no_original(name: str, context: EnvironmentContext) -> str:
    return ""


def _text() -> Asking:
    from engine.llm.questions import TEXT_ASKING

    return TEXT_ASKING


def _score_or_model(settings: Settings, model: Model) -> Evaluator:
    from engine.evaluator import make_evaluator

    return make_evaluator(settings, model)


def _no_digest(name: str, context: EnvironmentContext) -> str:
    return ""


def _none() -> Mapping[str, WritingTest]:
    return {}


def _no_dialects() -> Mapping[str, Dialect]:
    return {}


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of environment. Its functions import what they need when they are called.

    Attributes:
        name: Name of the kind. Its environments are named `NAME:...` (text adventures need no prefix), and scopes of
            its memories begin with `NAME/`.
        about: A description for people, one line.
        open: Returns the environment with a full name. Raises JitrlError if it cannot be opened.
        fallback: Actions that are offered if the environment lists no valid action and the episode goes on.
        ready: Returns the names to play: the name itself, or those of all tasks of a suite. Raises JitrlError if one
            of them could not be opened now.
        group: Returns the group that a task is reported in, for instance the site of a web task. By default, each
            environment is a group of its own.
        original: Returns the name of the task that a task was taken over from, "" if there is none. A benchmark does
            not train on the originals of its test tasks.
        aliases: Other prefixes of a name, each with the prefix that it stands for.
        opening: Text that is shown while it opens.
        profiles: Settings that a profile changes for this kind, by the profile's name, in addition to
            `engine.settings.PROFILES`.
        asking: Returns how a model is asked for actions.
        evaluator: Returns the evaluator that judges the steps of its episodes.
        tests: Returns the tests that a model must pass before it writes or judges, by the setting. A setting that is
            missing there is not tested.
        writes_small: Whether a model that can only be read by likelihoods may be asked to write and to judge.
        memory: The rules of its memories.
        ahead: Whether a second copy can be opened to prepare the next prompt while a person reads.
        pictures: Whether it may show pictures.
        browser: Whether each of its environments has a browser of its own. A worker on another machine then needs one.
        digest: Returns the digest of what an environment plays without opening it, "" if there is none.
        dialects: Returns the prompts and actions of published checkpoints that can play it, by name.
    """

    name: str
    about: str
    open: Callable[[str, EnvironmentContext], Environment]
    fallback: tuple[str, ...]
    ready: Callable[[str, EnvironmentContext], tuple[str, ...]] = _itself
    group: Callable[[str, EnvironmentContext], str] = _after_colon
    original: Callable[[str, EnvironmentContext], str] = _no_original
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
    browser: bool = False
    digest: Callable[[str, EnvironmentContext], str] = _no_digest
    dialects: Callable[[], Mapping[str, Dialect]] = _no_dialects

    def __post_init__(self) -> None:
        """Let an environment have all that `Environment` has, also where it is not derived from it."""
        made = self.open

        def opened(name: str, context: EnvironmentContext) -> Environment:
            from engine.environment import complete
            from engine.errors import GameError

            try:
                found = made(name, context)
            except TypeError as error:
                if "abstract class" not in str(error):
                    raise
                raise GameError(f"the environment {name} cannot be opened: {error}") from None
            return complete(name, found)

        object.__setattr__(self, "open", opened)

    def full(self, name: str) -> str | None:
        """Return the full name for a name or alias, None if it does not belong to this kind."""
        for beginning, whole in self.aliases.items():
            if name.startswith(beginning):
                return whole + name.removeprefix(beginning)
        return name if name.startswith(f"{self.name}:") else None

    def profile(self, name: str, /, **changes: Any) -> Settings:
        """Return the settings of a profile for this kind, with `changes` applied.

        Raises:
            UsageError: No such profile or setting, or a value out of range.
        """
        from engine.settings import make_settings

        return make_settings(name, self.profiles.get(name, {}), changes)

"""Environments and abstractors: what games, web pages and environments of other packages have in common."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import GameError, JitrlError
from engine.records import EnvironmentInfo, Observation, State

if TYPE_CHECKING:
    from engine.llm.model import Model, Write
    from engine.settings import Settings


class Abstractor(Protocol):
    """Turns observations into abstracted states. It holds the history of the running episode."""

    def begin(self, observation: Observation) -> State:
        """Begin a new episode and return the state of its first observation."""
        ...

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`."""
        ...

    def recent(self, steps: int) -> str:
        """Return the last `steps` steps as text for a prompt, oldest first, one paragraph each."""
        ...

    def situation(self, observation: Observation) -> str:
        """Return the present situation as text for a prompt. It depends only on the observation."""
        ...

    def written(self, writing: Writing) -> Abstractor:
        """Return an abstractor whose states and histories a model writes, as far as the settings demand it.

        If they do not demand it, this one is returned. Call this before the episode begins.
        """
        ...


@dataclass(frozen=True, slots=True)
class Writing:
    """What an abstractor needs to let a model write states and histories.

    Attributes:
        write: Asks the model in words and charges the running episode.
        notice: Called with a sentence when the model failed.
        missed: Called for each text that rules wrote because the model's text was missing.
    """

    write: Write
    settings: Settings
    notice: Callable[[str], None]
    missed: Callable[[], None]


@dataclass(frozen=True, slots=True)
class VisiblePage:
    """The visible page, without secrets.

    Attributes:
        snapshot: The page's elements as text, in the format of `engine.web.browser.snapshot`.
        width: Width of the window in CSS pixels; `height` likewise.
        picture: JPEG data, b"" if no picture could be taken.
        entries: HAR entries since the previous call of `sight`.
    """

    url: str
    title: str
    task: str
    snapshot: str
    width: int
    height: int
    picture: bytes = b""
    entries: tuple[Mapping[str, Any], ...] = ()


class Environment(ABC):
    """A world in which an agent acts. Use it from one thread at a time. Calls may block for seconds.

    One of another package need not be derived from it; what it lacks has the default then (`complete`).

    Attributes:
        info: Description of the environment; it does not change while the environment is open.
        limit: How many commands `valid_actions` tries at most in a situation; None for no limit. Only for environments
            that find them by trying: what they find depends on the situation and the limit alone.
        fallback: Actions to offer where no valid one is found; () for those of its kind.
        resolve: Returns an action in the form in which it is remembered, None if it cannot be taken now. Never raises.
            None in an environment in which no more actions are possible than `valid_actions` lists.
        snapshot: Returns the page's elements as text, with handles and boxes and without secrets, in the format of
            `engine.web.browser.snapshot`. Never raises. None in an environment without pages.
        sight: Returns what is visible now. Never raises. None in an environment that cannot be shown as a picture.
    """

    info: EnvironmentInfo
    limit: int | None = None
    fallback: tuple[str, ...] = ()
    resolve: Callable[[str], str | None] | None = None
    snapshot: Callable[[], str] | None = None
    sight: Callable[[], VisiblePage] | None = None

    @abstractmethod
    def reset(self, seed: int) -> Observation:
        """Begin an episode. The same seed and actions give the same observations."""

    @abstractmethod
    def step(self, action: str) -> Observation:
        """Take one action.

        Raises:
            GameError: The environment crashed or hung and could not be restarted.
        """

    @abstractmethod
    def abstractor(self) -> Abstractor:
        """Return a new abstractor for this kind of environment."""

    def valid_actions(self) -> tuple[str, ...]:
        """Return the actions that would change the world now, in a fixed order; () if the episode is over."""
        return ()

    def save(self) -> bytes:
        """Return the complete situation, for `restore`.

        Raises:
            GameError: It cannot be saved.
        """
        raise GameError("this cannot be saved and gone back to")

    def restore(self, saved: bytes) -> Observation:
        """Go back to a saved situation.

        Raises:
            GameError: That is not possible.
        """
        raise GameError("this cannot be gone back to")

    def conclude(self) -> Observation | None:
        """Return the last observation of an episode that reached the step limit, with a verdict; None without one."""
        return None

    def secrets(self) -> frozenset[str]:
        """Return the secrets that are known now. They are taken out of all that is told, recorded and remembered."""
        return frozenset()

    def judge_with(self, model: Model) -> None:  # noqa: B027 -- not all need it
        """Use `model` to compare answers by meaning where a comparison of texts is not enough."""

    def on_wait(self, say: Callable[[str], None]) -> None:  # noqa: B027 -- not all are slow
        """Call `say` with a sentence, again and again, while an action takes long."""

    def close(self) -> None:  # noqa: B027 -- not all have something open
        """Release all resources; calling this twice is safe."""


_CALLS = ("abstractor", "close", "conclude", "judge_with", "reset", "restore", "save", "step", "valid_actions")
"""What may fail in an environment of another package."""


def _checked(name: str, call: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of an environment that raises nothing but a `JitrlError`."""

    def checked(*given: Any, **named: Any) -> Any:
        try:
            return call(*given, **named)
        except JitrlError:
            raise
        except Exception as error:  # what is not ours may raise anything
            raise GameError(f"the environment {name} failed: {type(error).__name__}: {error}") from error

    return checked


class _AdaptedAbstractor:
    """An abstractor of another package, whose errors are said to be those of its environment."""

    def __init__(self, name: str, made: Any) -> None:
        self._name, self._made = name, made

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._made, name)
        return _checked(self._name, found) if callable(found) else found

    def written(self, writing: Writing) -> Abstractor:
        """Return an abstractor whose texts a model writes."""
        made = _checked(self._name, self._made.written)(writing)
        return self if made is self._made else _AdaptedAbstractor(self._name, made)


class _Adapted(Environment):
    """An environment of another package, with the defaults of what it lacks.

    Args:
        name: What it was opened by.
        made: The environment.
    """

    def __init__(self, name: str, made: Any) -> None:
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_made", made)

    def __getattribute__(self, name: str) -> Any:
        own = functools.partial(object.__getattribute__, self)
        if name[0] == "_" or not hasattr(own("_made"), name):
            return own(name)
        found = getattr(own("_made"), name)
        if name not in _CALLS:
            return found
        call = _checked(own("_name"), found)
        return (lambda: _AdaptedAbstractor(own("_name"), call())) if name == "abstractor" else call

    def __setattr__(self, name: str, value: object) -> None:
        try:
            setattr(object.__getattribute__(self, "_made"), name, value)
        except AttributeError:  # it has no such attribute, and takes no others
            object.__setattr__(self, name, value)


_Adapted.__abstractmethods__ = frozenset()  # what is adapted has them


def complete(name: str, made: Any) -> Environment:
    """Return an environment with the defaults of what it lacks, as it need not be derived from `Environment`.

    What one of another package raises is said to be an error of it.

    Args:
        name: What it was opened by.

    Raises:
        GameError: It lacks something that has no default.
    """
    if lacking := [each for each in ("info", *sorted(Environment.__abstractmethods__)) if not hasattr(made, each)]:
        raise GameError(f"the environment {name} has no {' and no '.join(lacking)}")
    ours = isinstance(made, Environment) and type(made).__module__.partition(".")[0] == __name__.partition(".")[0]
    return made if ours else _Adapted(name, made)  # type: ignore[abstract]

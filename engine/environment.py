"""The one protocol behind which games and web pages stand; agents do not know which they are in."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from engine.records import EnvironmentInfo, Observation, State

if TYPE_CHECKING:
    from engine.llm.model import Model, Write
    from engine.settings import Settings


class Abstractor(Protocol):
    """Turns observations into abstracted states and keeps the episode's history for them."""

    def begin(self, observation: Observation) -> State:
        """Forget the last episode and return the state of the first observation."""
        ...

    def advance(self, action: str, observation: Observation) -> State:
        """Return the state after `action` led to `observation`."""
        ...

    def recent(self, steps: int) -> str:
        """Return the last `steps` steps as text for a prompt, oldest first, a paragraph each."""
        ...

    def situation(self, observation: Observation) -> str:
        """Return what a prompt tells of the present: the same for the same observation."""
        ...

    def written(self, writing: Writing) -> Abstractor:
        """Return an abstractor of which a model writes what the settings ask it to; this one where they ask for none.

        To be called before the episode begins.
        """
        ...


@dataclass(frozen=True, slots=True)
class Writing:
    """What an abstractor needs to let a model write states and histories.

    Attributes:
        write: Asks the model in words, on the account of the running episode.
        notice: Takes a sentence when the model failed.
        missed: Called for every text that rules wrote in the model's place.
    """

    write: Write
    settings: Settings
    notice: Callable[[str], None]
    missed: Callable[[], None]


class Environment(Protocol):
    """A world to act in. Not thread-safe: one thread at a time. Calls may block for seconds."""

    @property
    def info(self) -> EnvironmentInfo:
        """What stays the same while the environment is open."""
        ...

    def reset(self, seed: int) -> Observation:
        """Begin an episode; the same seed and actions give the same observations."""
        ...

    def step(self, action: str) -> Observation:
        """Take one action.

        Raises:
            GameError: The environment crashed or hung and could not be brought back.
        """
        ...

    def valid_actions(self) -> tuple[str, ...]:
        """Return the actions that would change the world now, in a fixed order; () when the episode is over."""
        ...

    def save(self) -> bytes:
        """Return the whole situation, for `restore`."""
        ...

    def restore(self, saved: bytes) -> Observation:
        """Go back to a saved situation."""
        ...

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for this kind of environment."""
        ...

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        ...


@runtime_checkable
class Judged(Protocol):
    """An environment that may have to compare what was said with what is right."""

    def judge_with(self, model: Model) -> None:
        """Let `model` compare by meaning what cannot be compared by letters."""
        ...


@runtime_checkable
class Concluding(Protocol):
    """An environment that can tell what an episode was worth although nobody ended it."""

    def conclude(self) -> Observation:
        """Return the last observation of an episode that ran out of steps, with the verdict if there is one."""
        ...


@runtime_checkable
class OpenActions(Protocol):
    """An environment in which more can be done than `valid_actions` counts: texts to be typed are endless."""

    def resolve(self, action: str) -> str | None:
        """Return an action as it is remembered, None if it cannot be taken now. Never raises."""
        ...


@runtime_checkable
class Discreet(Protocol):
    """An environment in which secrets are typed, such as passwords."""

    def secrets(self) -> frozenset[str]:
        """Return the secrets that are known now. They are taken out of all that is told, recorded and remembered."""
        ...


@dataclass(frozen=True, slots=True)
class Sight:
    """What a person would see now, secrets taken out.

    Attributes:
        snapshot: The page's elements as text, in the format of `engine.web.browser.snapshot`.
        width: Of the window, in CSS pixels, as is `height`.
        picture: JPEG, b"" where none could be taken.
        entries: HAR entries since the last look.
    """

    url: str
    title: str
    task: str
    snapshot: str
    width: int
    height: int
    picture: bytes = b""
    entries: tuple[Mapping[str, Any], ...] = ()


@runtime_checkable
class Visible(Protocol):
    """An environment that looks like something."""

    def sight(self) -> Sight:
        """Return what can be seen now. Never raises."""
        ...

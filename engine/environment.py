"""The protocols of environments and abstractors. Agents use games and web pages through the same ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

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


class Environment(Protocol):
    """A world in which an agent acts. Use it from one thread at a time. Calls may block for seconds."""

    @property
    def info(self) -> EnvironmentInfo:
        """Description of the environment; it does not change while the environment is open."""
        ...

    def reset(self, seed: int) -> Observation:
        """Begin an episode. The same seed and actions give the same observations."""
        ...

    def step(self, action: str) -> Observation:
        """Take one action.

        Raises:
            GameError: The environment crashed or hung and could not be restarted.
        """
        ...

    def valid_actions(self) -> tuple[str, ...]:
        """Return the actions that would change the world now, in a fixed order; () if the episode is over."""
        ...

    def save(self) -> bytes:
        """Return the complete situation, for `restore`."""
        ...

    def restore(self, saved: bytes) -> Observation:
        """Go back to a saved situation."""
        ...

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for this kind of environment."""
        ...

    def close(self) -> None:
        """Release all resources; calling this twice is safe."""
        ...


@runtime_checkable
class JudgedEnvironment(Protocol):
    """An environment that may need a model to compare an answer with the right one."""

    def judge_with(self, model: Model) -> None:
        """Use `model` to compare answers by meaning where a comparison of texts is not enough."""
        ...


@runtime_checkable
class Concluding(Protocol):
    """An environment that can judge an episode that was cut off by the step limit."""

    def conclude(self) -> Observation:
        """Return the last observation of an episode that reached the step limit, with the verdict if there is one."""
        ...


@runtime_checkable
class OpenActions(Protocol):
    """An environment in which more actions are possible than `valid_actions` lists, such as typing any text."""

    def resolve(self, action: str) -> str | None:
        """Return an action in the form in which it is remembered, None if it cannot be taken now. Never raises."""
        ...


@runtime_checkable
class Slow(Protocol):
    """An environment that may need long for an action."""

    def on_wait(self, say: Callable[[str], None]) -> None:
        """Call `say` with a sentence, again and again, while an action takes long."""
        ...


@runtime_checkable
class Searching(Protocol):
    """An environment that finds its valid actions by trying, which may take long.

    Attributes:
        limit: How many commands `valid_actions` tries at most in a situation; None for no limit. What
            it finds depends on the situation and the limit alone.
    """

    limit: int | None


@runtime_checkable
class Worded(Protocol):
    """An environment that knows which of the usual actions it has words for.

    Attributes:
        fallback: Actions to offer where no valid one is found; () for those of its kind.
    """

    fallback: tuple[str, ...]


@runtime_checkable
class Discreet(Protocol):
    """An environment in which secrets are typed, such as passwords."""

    def secrets(self) -> frozenset[str]:
        """Return the secrets that are known now. They are taken out of all that is told, recorded and remembered."""
        ...


@runtime_checkable
class Paged(Protocol):
    """An environment that shows pages of elements."""

    def snapshot(self) -> str:
        """Return the page's elements as text, with handles and boxes and without secrets. Never raises.

        The format is that of `engine.web.browser.snapshot`.
        """
        ...


@dataclass(frozen=True, slots=True)
class Sight:
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


@runtime_checkable
class Visible(Protocol):
    """An environment that can be shown as a picture."""

    def sight(self) -> Sight:
        """Return what is visible now. Never raises."""
        ...

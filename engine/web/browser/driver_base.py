"""What drives a browser for a web environment, and what of a page says how its episode began and what it earned."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from engine.redaction import without_credentials
from engine.web.browser.limits import BrowserLimits
from engine.web.browser.network import Gate, Traffic

if TYPE_CHECKING:
    from engine.web.actions import Call
    from engine.web.browser.snapshot import Seen
    from engine.web.records import Look


class BrowserDriver(ABC):
    """Drives a browser: `engine.web.browser.driver` our own, `engine.web.browsergym.driver` that of BrowserGym.

    A failed action raises no exception; it is reported to the agent as text. Only the loss of the browser is an error.

    Args:
        gate: Limits what may be reached.
        limits: Timeouts, memory and size.

    Attributes:
        traffic: Requests of the episode.
        on_wait: Called with a sentence, again and again, while the browser takes long.
    """

    def __init__(self, gate: Gate, limits: BrowserLimits | None = None) -> None:
        self.gate = gate
        self.traffic = Traffic()
        self.limits = limits or BrowserLimits()
        self.on_wait: Callable[[str], None] = lambda text: None

    @abstractmethod
    def begin(self, urls: Sequence[str]) -> Seen:
        """Begin an episode with a tab for each URL, and show the first one.

        Raises:
            GameError: The browser cannot be started again, or does not answer.
        """

    @abstractmethod
    def act(self, call: Call) -> Seen:
        """Perform an action on the last page seen, and read the page. A failed action is reported in `error`.

        Raises:
            GameError: The browser was lost.
        """

    @abstractmethod
    def look(self) -> Seen:
        """Read the current page."""

    @abstractmethod
    def screenshot(self, quality: int = 60, hidden: Sequence[str] = ()) -> bytes:
        """Return the shown tab as JPEG, b"" if that fails. Elements with the `hidden` handles are painted over."""

    @abstractmethod
    def close(self) -> None:
        """Close the browser; calling this twice is safe."""

    def leave(self) -> None:  # noqa: B027 -- not all need it
        """Close all pages, if they are not closed when the next episode begins."""

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """Run a script of this program (never an agent's) in the shown tab; return its value, None if it cannot."""
        return None

    def find(self, look: Look) -> str:
        """Return as text what a judge looks up on a site, "" if it cannot."""
        return ""

    def refusal(self, url: str) -> str:
        """Return why a URL is not opened, "" if it may be. A refused one is counted."""
        if self.gate.allows(url):
            return ""
        self.gate.count(url)
        return f"{without_credentials(url)[:120]} is outside of the task's sites and cannot be opened"


class PageRules(ABC):
    """Reads an episode's beginning and reward from the page itself."""

    @abstractmethod
    def begin(self, driver: BrowserDriver, seed: int) -> str:
        """Begin an episode and return its task.

        Raises:
            GameError: It cannot begin.
        """

    @abstractmethod
    def reward(self, driver: BrowserDriver) -> float | None:
        """Return the reward when the episode is done, None before."""

    def truncated(self, driver: BrowserDriver) -> bool:
        """Return whether the episode was cut off before the page ended it."""
        return False

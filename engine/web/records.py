"""Records for episodes on web pages: the task to run, what a judge looks up, and the protocol of judges.

`engine.web.tasks.suites.WebTask` is a task as its suite lists it. An `Assignment` is the task prepared for a run:
with the base URLs of the sites, the hosts that may be reached, and the login forms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from engine.llm.model import Model


@dataclass(frozen=True, slots=True)
class SignIn:
    """A form to fill in before the episode begins. Its values are secrets.

    Attributes:
        url: The page with the form.
        labels: Values by the label of a text box, or by its name in the form.
        button: Name of the button that sends the form; "" to press Enter in the last box.
    """

    url: str
    labels: Mapping[str, str]
    button: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """One task, ready to run.

    Attributes:
        id: Unique across suites, such as `local-3` or `miniwob-login-user`.
        suite: Such as "local", "webarena-verified", "miniwob".
        intent: The task in words; "" if the page itself states it (MiniWoB++).
        start_urls: Absolute URLs, each opened in its own tab.
        sites: Base URLs by site name, without a trailing slash.
        template: Number of the template. Tasks of one template differ only in names or numbers.
        hosts: `host:port` that may be reached besides those of `sites` and `start_urls`.
        sign_in: Forms to fill in at the beginning of each episode.
        neighbours: Base URLs by name of all configured sites. They only name pages; a task need not be allowed to
            reach them.
        moved: Where the browser connects to instead of a `host:port`.
    """

    id: str
    suite: str
    intent: str
    start_urls: tuple[str, ...]
    sites: Mapping[str, str] = field(default_factory=dict)
    template: int = 0
    hosts: tuple[str, ...] = ()
    sign_in: tuple[SignIn, ...] = ()
    neighbours: Mapping[str, str] = field(default_factory=dict)
    moved: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Look:
    """Something that a judge looks up on a site when the episode is over.

    Attributes:
        url: Page to open in a tab of its own; "" for the page the episode ended on, in its current state.
        locator: JavaScript expression to evaluate; "" for the whole page.
        prepare: JavaScript statements to run first; those that fail are ignored.
    """

    url: str
    locator: str = ""
    prepare: tuple[str, ...] = ()


class Judge(Protocol):
    """Decides whether an assignment was done.

    Attributes:
        wants_answer: Whether an episode without a final message of the agent counts as failed, whatever the sites
            show.
    """

    @property
    def wants_answer(self) -> bool:
        """See above."""
        ...

    def looks(self, url: str) -> Sequence[Look]:
        """Return what the judge needs to look up for an episode that ended on `url`."""
        ...

    def judge_with(self, model: Model) -> None:
        """Use `model` to compare texts by meaning if they cannot be compared by characters."""
        ...

    def judge(
        self, answer: str, url: str, entries: Sequence[Mapping[str, Any]], texts: Sequence[str]
    ) -> tuple[float | None, str]:
        """Judge an episode.

        Args:
            answer: The agent's last message to the user, "" if none.
            url: URL of the page the episode ended on.
            entries: HAR entries of the episode in order, with posted data.
            texts: The text found for each of `looks`; "" if none was found.

        Returns:
            The score from 0 to 1, None if it cannot be decided; and a sentence on why it is not 1.
        """
        ...

    def begin(self) -> None:
        """Reset the sites for a new episode, as far as that is possible."""
        ...

    def close(self) -> None:
        """Release all resources; calling this twice is safe."""
        ...

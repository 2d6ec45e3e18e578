"""What an episode on web pages needs to know before it begins, and who judges it afterwards.

`engine.web.tasks.suites.WebTask` is a task as its suite lists it; an `Assignment` is the same made ready to run: with
the base URLs of the sites filled in, the hosts that may be reached, and how to get in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from engine.llm.model import Model


@dataclass(frozen=True, slots=True)
class SignIn:
    """A form to fill in before the episode begins; its values are secrets.

    Attributes:
        url: The page with the form.
        labels: Label of a text box, or its name in the form, to value.
        button: Name of the button that sends the form; "" presses Enter in the last box.
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
        intent: What is asked, in words; "" where the page itself says it (MiniWoB++).
        start_urls: Absolute URLs, each opened in a tab of its own.
        sites: Name of each site to its base URL, without a slash at the end.
        template: Tasks of one template differ in a name or a number only.
        hosts: `host:port` that may be reached beside those of `sites` and `start_urls`.
        sign_in: Forms to be filled in at the beginning of each episode.
        neighbours: As `sites`, of all that are configured: what a page of theirs is called, wherever they are served.
            That they have a name does not mean that they may be reached.
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


@dataclass(frozen=True, slots=True)
class Look:
    """Something on a site that a judge wants to know once the episode is over.

    Attributes:
        url: Page to open in a tab of its own; "" is the page the episode ended on, as it stands.
        locator: JavaScript expression whose value counts; "" is the whole page.
        prepare: JavaScript statements to run first; failing ones are passed over.
    """

    url: str
    locator: str = ""
    prepare: tuple[str, ...] = ()


class Judge(Protocol):
    """Says whether an assignment was done.

    Attributes:
        wants_answer: Whether an episode in which nobody said that it is over was not done, whatever the sites show.
    """

    @property
    def wants_answer(self) -> bool:
        """See above."""
        ...

    def looks(self, url: str) -> Sequence[Look]:
        """Return what it must know of the sites to judge an episode that ended on `url`."""
        ...

    def judge_with(self, model: Model) -> None:
        """Let `model` compare by meaning what cannot be compared by letters."""
        ...

    def judge(
        self, answer: str, url: str, entries: Sequence[Mapping[str, Any]], texts: Sequence[str]
    ) -> tuple[float | None, str]:
        """Return the score, 0 to 1, and one sentence why it is not 1; None where it cannot be told.

        Args:
            answer: What the agent told the user last, "" if nothing.
            url: Of the page the episode ended on.
            entries: HAR entries of the episode, in order, posted data included.
            texts: What was found for each of `looks`; "" where nothing was.
        """
        ...

    def begin(self) -> None:
        """Put the sites back to where an episode begins, as far as that is possible."""
        ...

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        ...

"""Records for episodes on web pages: the task to run, and what a judge looks up.

`engine.web.tasks.suites.WebTask` is a task as its suite lists it. An `Assignment` is the task prepared for a run:
with the base URLs of the sites, the hosts that may be reached, and the login forms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


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

"""Reads web tasks (this project's, WebArena's, WebArena-Lite's, WebArena-Verified's) from installed files.

No code of those packages is imported. Their task files are searched for in the folders of Python's path, and in the
environment that `jitrl web up --install` creates.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.disk import read_text
from engine.errors import BadFile, MissingError, UsageError
from engine.web.sites.site import Login, venv_python

FILES: Mapping[str, tuple[str, str]] = {
    # suite: file below site-packages, package that has it
    "webarena": ("webarena/test.raw.json", "libwebarena"),
    "webarena-lite": ("browsergym/webarenalite/test_webarena_lite.raw.json", "browsergym-webarenalite"),
    "webarena-verified": ("webarena_verified/assets/dataset/webarena-verified.json", "webarena-verified"),
}
SUITES = ("local", *FILES)
COUNTS: Mapping[str, int] = {"webarena": 812, "webarena-lite": 165, "webarena-verified": 812}
LOCAL = Path(__file__).parents[1] / "sites" / "tasks"
"""Files with our own tasks, one or more for each site. Numbers are unique across all of them."""

VARIABLES: Mapping[str, str] = {
    "shopping": "WA_SHOPPING", "shopping_admin": "WA_SHOPPING_ADMIN", "reddit": "WA_REDDIT",
    "gitlab": "WA_GITLAB", "wikipedia": "WA_WIKIPEDIA", "map": "WA_MAP", "homepage": "WA_HOMEPAGE",
}  # fmt: skip
"""Environment variables with the base URLs, by WebArena's site names."""

LOGINS: Mapping[str, Login] = {
    "shopping": Login(
        "/customer/account/login/", {}, {"Email": "emma.lopez@gmail.com", "Password": "Password.123"}, "Sign In"
    ),
    "shopping_admin": Login("", {}, {"Username": "admin", "Password": "admin1234"}, "Sign in"),
    "reddit": Login("/login", {}, {"Username": "MarvelsGrantMan136", "Password": "test1234"}, "Log in"),
    "gitlab": Login(
        "/users/sign_in", {}, {"Username or email": "byteblaze", "Password": "hello1234"}, "Sign in"
    ),
}  # fmt: skip
"""Accounts of WebArena's published images, by the labels of their forms. Paths are relative to the base URL."""


@dataclass(frozen=True, slots=True)
class WebTask:
    """A task on one or more sites.

    Attributes:
        id: Unique across suites, such as `local-3` or `webarena-lite-82`.
        suite: One of SUITES.
        number: `task_id` within the suite.
        sites: WebArena's names of the sites it may use, the main one first.
        intent: The task in words.
        start_urls: URLs of its first pages, with placeholders such as `__SHOPPING__/basket/`.
        kind: "retrieve", "mutate" or "navigate"; "" if the suite does not say.
        template: Number of the template. Tasks of one template differ only in names or numbers.
        login: Whether the sites expect a user who is logged in.
        raw: The task in its suite's format, which scoring reads.
    """

    id: str
    suite: str
    number: int
    sites: tuple[str, ...]
    intent: str
    start_urls: tuple[str, ...]
    kind: str = ""
    template: int = 0
    login: bool = False
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def site(self) -> str:
        """The sites in one word, such as `shopping+gitlab`."""
        return "+".join(self.sites)


def load(suite: str, saves: Path | None = None) -> tuple[WebTask, ...]:
    """Return the tasks of a suite, in its order.

    Args:
        suite: One of SUITES.
        saves: The saves folder; its sites' environment is searched, too.

    Raises:
        UsageError: There is no such suite.
        MissingError: Its package is not installed.
        BadFile: Its file cannot be read, or has another number of tasks than published.
    """
    if suite not in SUITES:
        raise UsageError(f"there is no suite {suite!r}; there are: {', '.join(SUITES)}")
    paths = find(suite, saves)
    if not paths:
        package = FILES[suite][1]
        raise MissingError(
            f"the tasks of {suite} are in the package {package}, which is not here; get it with: "
            f"jitrl web up --install"
        )
    tasks: tuple[WebTask, ...] = ()
    for path in paths:
        try:
            tasks += tuple(_task(suite, item) for item in json.loads(read_text(path)))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise BadFile(f"the tasks in {path} cannot be read ({error}); install the package again") from None
    if len(tasks) != COUNTS.get(suite, len(tasks)):
        raise BadFile(f"{paths[0]} has {len(tasks)} tasks, not {COUNTS[suite]}; install the package again")
    return tasks


def find(suite: str, saves: Path | None = None) -> tuple[Path, ...]:
    """Return the files with a suite's tasks, none if its package is not installed."""
    if suite == "local":
        return tuple(sorted(LOCAL.glob("*.json")))
    for folder in _package_folders(saves):
        path = folder / FILES[suite][0]
        if path.is_file():
            return (path,)
    return ()


def get(task_id: str, saves: Path | None = None) -> WebTask:
    """Return the task with this id.

    Raises:
        UsageError: There is none.
        MissingError: Its suite's package is not installed.
    """
    suite = task_id.rpartition("-")[0]
    for task in load(suite, saves) if suite in SUITES else ():
        if task.id == task_id:
            return task
    raise UsageError(f"there is no web task {task_id!r}; see: jitrl web ls")


def user_sites(variables: Mapping[str, str]) -> dict[str, str]:
    """Return base URLs by WebArena's site names, as far as the environment variables WA_* give them."""
    given = {site: variables.get(name, "").strip().rstrip("/") for site, name in VARIABLES.items()}
    return {site: url for site, url in given.items() if url and url.lower() != "todo"}


def render(text: str, urls: Mapping[str, str]) -> str:
    """Return `text` with every placeholder such as `__SHOPPING__` replaced by the site's base URL.

    Raises:
        MissingError: A site it names has no URL.
    """
    for site in VARIABLES:
        mark = f"__{site.upper()}__"
        if mark in text:
            if site not in urls:
                raise MissingError(how_to_start(site))
            text = text.replace(mark, urls[site].rstrip("/"))
    return text


def how_to_start(site: str, suite: str = "local") -> str:
    """Return a sentence that says how to start a site of a suite."""
    from engine.web.sites.manager import SITES

    local = next((own.name for own in SITES.values() if site in own.keys), None)
    variable = VARIABLES[site]
    if local is None or suite != "local":
        return f"no address of the site {site} is known; set {variable} to the address of your copy"
    return f"the site {site} is not running; start it with: jitrl web up {local} (or set {variable})"


def _package_folders(saves: Path | None) -> list[Path]:
    folders = [Path(entry) for entry in sys.path if entry]
    if saves is not None:
        folders += sorted((venv_python(saves).parent.parent / "lib").glob("python3*/site-packages"))
    return folders


def _task(suite: str, item: Mapping[str, Any]) -> WebTask:
    starts: Any = item.get("start_urls") or item["start_url"].split(" |AND| ")
    evaluation: Any = item["eval"]
    kind = ""
    if isinstance(evaluation, Sequence):
        answers = [each for each in evaluation if each["evaluator"] == "AgentResponseEvaluator"]
        kind = str(answers[0]["expected"]["task_type"]).lower()
    return WebTask(
        id=f"{suite}-{item['task_id']}",
        suite=suite,
        number=int(item["task_id"]),
        sites=tuple(item["sites"]),
        intent=str(item["intent"]),
        start_urls=tuple(starts),
        kind=kind,
        template=int(item["intent_template_id"]),
        # WebArena-Verified does not say. All of its sites have accounts, except the encyclopedia and the map.
        login=bool(item.get("require_login", any(site in LOGINS for site in item["sites"]))),
        raw=dict(item),
    )

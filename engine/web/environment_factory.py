"""Opens web environments by name.

web:local-3                a task
web:local                  all tasks of a suite, one after the other; also web:miniwob, web:webarena-lite
web:local-shop             the tasks of a suite that need only this site
web:browsergym-miniwob.X   a task of BrowserGym, through `engine.web.browsergym.adapter`
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from engine.errors import MissingError, UsageError
from engine.web.browser.chromium import require_browser
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment, SignIn

if TYPE_CHECKING:
    from engine.web.tasks.suites import WebTask

PREFIX = "web:"


def expand(name: str, saves: Path) -> tuple[str, ...]:
    """Return the names of the tasks for a name: itself, or all tasks of a suite or of a site in it.

    Raises:
        UsageError: There is no such task, suite or site.
        MissingError: The suite's package is not installed.
    """
    from engine.web.tasks import miniwob
    from engine.web.tasks import suites as tasks

    wanted = name.removeprefix(PREFIX)
    if wanted.startswith("browsergym-"):
        from engine.web.browsergym import adapter as browsergym

        return browsergym.expand(wanted, saves, os.environ)
    if wanted == "miniwob":
        return tuple(f"{PREFIX}miniwob-{page}" for page in miniwob.TASKS)
    if wanted.startswith("miniwob-"):
        if wanted.removeprefix("miniwob-") in miniwob.TASKS:
            return (name,)
        raise UsageError(f"there is no web task {wanted!r}; see: jitrl web ls --suite miniwob")
    if wanted in tasks.SUITES:
        return tuple(PREFIX + task.id for task in tasks.load(wanted, saves))
    suite, _, rest = wanted.rpartition("-")
    if suite in tasks.SUITES and not rest.isdigit():
        keys = _keys(rest)
        found = [task for task in tasks.load(suite, saves) if keys and set(task.sites) <= keys]
        if found:
            return tuple(PREFIX + task.id for task in found)
        raise UsageError(
            f"the suite {suite} has no tasks on a site {rest!r}; see: jitrl web ls --suite {suite}"
        )
    tasks.get(wanted, saves)
    return (name,)


def group(name: str, saves: Path) -> str:
    """Return the group that a task is reported in: its sites, or the suite of tasks that need no site.

    Raises:
        UsageError: There is no such task.
        MissingError: The suite's package is not installed.
    """
    from engine.web.tasks import suites as tasks

    wanted = name.removeprefix(PREFIX)
    if wanted.startswith(("browsergym-", "miniwob-")):
        return wanted.partition("-")[0]
    return tasks.get(wanted, saves).site


def original(name: str, saves: Path) -> str:
    """Return the task of WebArena that a task of WebArena-Lite was taken over from; "" for any other task.

    Raises:
        UsageError: There is no such task.
        MissingError: The suite's package is not installed.
    """
    from engine.web.tasks import suites as tasks

    wanted = name.removeprefix(PREFIX)
    if not wanted.startswith("webarena-lite-"):
        return ""
    return f"{PREFIX}webarena-{tasks.get(wanted, saves).raw['old_task_id']}"


def _keys(site: str) -> frozenset[str]:
    """Return WebArena's names of a site, given one of them or the name of a local site."""
    from engine.web.sites.manager import SITES
    from engine.web.tasks.suites import VARIABLES

    if site in SITES:
        return frozenset(SITES[site].keys)
    return frozenset({site}) & frozenset(VARIABLES)


def check(name: str, saves: Path) -> None:
    """Check that a task of this name exists, without starting anything.

    Raises:
        UsageError: There is no such task.
        MissingError: A package, the browser or Playwright is missing.
    """
    if expand(name, saves) != (name,):
        raise UsageError(f"{name} is a suite, and this takes one task; see: jitrl web ls")
    require_browser()


def ready(name: str, saves: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the result of `expand`, after checking that all of these tasks can be started now.

    Raises:
        UsageError: There is no such task, suite or site.
        MissingError: A package, the browser, a site or the evaluator is missing. The message says how to get
        it.
    """
    from engine.web.sites.manager import Sites
    from engine.web.tasks import miniwob
    from engine.web.tasks import suites as tasks
    from engine.web.tasks.verdict import require_verified

    names = expand(name, saves)
    if names[0].startswith(f"{PREFIX}browsergym-"):
        return names
    require_browser()
    if names[0].startswith(f"{PREFIX}miniwob-"):
        miniwob.require_pages(saves)
        return names
    wanted = [tasks.get(each.removeprefix(PREFIX), saves) for each in names]
    if any(not isinstance(task.raw["eval"], Mapping) for task in wanted):
        require_verified(saves)
    running = Sites(saves).urls()
    for task in wanted:
        _begins_at(task, _addresses(task, running, variables))
    return names


def _addresses(task: WebTask, running: Mapping[str, str], variables: Mapping[str, str]) -> dict[str, str]:
    """Return the base URLs of a task's sites.

    Our own tasks are about the data of our sites, so they use these if they run, and WA_* otherwise.
    WebArena's tasks only use WA_*.
    """
    from engine.web.tasks.suites import user_sites

    return {**user_sites(variables), **running} if task.suite == "local" else user_sites(variables)


def _begins_at(task: WebTask, urls: Mapping[str, str]) -> tuple[str, ...]:
    """Return the URLs at which a task begins.

    Raises:
        MissingError: A site of the task has no URL.
    """
    from engine.web.tasks.suites import VARIABLES, how_to_start, render

    missing = [site for site in task.sites if site not in urls and site in VARIABLES]
    if missing:
        raise MissingError(how_to_start(missing[0], task.suite))
    return tuple(render(url, urls) for url in task.start_urls)


def open_web(name: str, saves: Path, variables: Mapping[str, str]) -> WebEnvironment:
    """Return the environment of a task.

    Args:
        name: `web:` and the id of the task.
        variables: Environment variables. WA_* name the user's sites.

    Raises:
        UsageError: There is no such task.
        MissingError: A site is not running; a package, the browser or Playwright is missing.
        GameError: The browser does not start.
    """
    task = name.removeprefix(PREFIX)
    if task.startswith("browsergym-"):
        from engine.web.browsergym.adapter import open_gym

        return open_gym(task, saves, variables)
    check(name, saves)
    if task.startswith("miniwob-"):
        return _open_miniwob(task.removeprefix("miniwob-"), saves)
    return _open_task(task, saves, variables)


def _open_miniwob(page: str, saves: Path) -> WebEnvironment:
    from engine.web.tasks.miniwob import PageServer, Rules, require_pages

    executable, server = require_browser(), PageServer(require_pages(saves))
    assignment = Assignment(
        f"miniwob-{page}",
        "miniwob",
        "",
        (f"{server.url}/miniwob/{page}.html",),
        {"miniwob": f"{server.url}/miniwob"},
    )
    return WebEnvironment(
        assignment, executable, scope="web/miniwob", rules=Rules(), on_close=server.close, repeatable=True
    )


def _open_task(task_id: str, saves: Path, variables: Mapping[str, str]) -> WebEnvironment:
    from engine.web.sites.manager import SITES, Sites
    from engine.web.tasks import suites as tasks
    from engine.web.tasks.judge import TaskJudge
    from engine.web.tasks.verdict import Scorer

    task = tasks.get(task_id, saves)
    sites = Sites(saves)
    running = sites.urls()
    urls = _addresses(task, running, variables)
    starts = _begins_at(task, urls)
    mine = {site: urls[site] for site in task.sites if site in urls}
    ours = task.suite == "local" and all(running.get(site) == url for site, url in mine.items())
    browser = require_browser()
    wanted = [name for name, site in SITES.items() if set(site.keys) & set(task.sites)]
    lent = sites.lend(wanted, f"web:{task.id}") if ours else None
    assignment = Assignment(
        task.id, task.suite, task.intent, starts, mine, task.template,
        sign_in=_forms(task, mine, running), neighbours=urls, moved=lent.moved if lent else {},
    )  # fmt: skip
    return WebEnvironment(
        assignment,
        browser,
        scope=f"web/{task.site}",
        judge=TaskJudge(task, Scorer(saves, urls), lent),
        on_close=lent.close if lent else None,
        repeatable=ours,
    )


def _forms(task: WebTask, urls: Mapping[str, str], running: Mapping[str, str]) -> tuple[SignIn, ...]:
    """Return the sign-in forms: those of our own sites if they run there, otherwise WebArena's published ones."""
    from engine.web.sites.manager import SITES
    from engine.web.tasks.suites import LOGINS

    if not task.login:
        return ()
    local = {key: site for site in SITES.values() for key in site.keys}
    forms = []
    for name, url in urls.items():
        ours = task.suite == "local" and running.get(name) == url
        login = local[name].logins.get(name) if ours else LOGINS.get(name)
        if login is not None and login.labels:
            # Paths of our own sites are relative to the server's root, WebArena's to the base URL. Our
            # buttons have internal names in the form, so Enter is used instead.
            page = urljoin(url, login.path) if ours else url + login.path
            forms.append(SignIn(page, login.labels, "" if ours else login.button))
    return tuple(forms)

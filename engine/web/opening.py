"""From a name such as `web:local-3` or `web:miniwob-login-user` to an environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import JitrlError, UsageError
from engine.web.chromium import require_browser
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment, SignIn

if TYPE_CHECKING:
    from engine.web.scoring import Scorer
    from engine.web.tasks import WebTask

PREFIX = "web:"


def is_web(name: str) -> bool:
    """Whether a session's `game` names a web task."""
    return name.startswith(PREFIX)


def check(name: str, saves: Path) -> None:
    """Refuse a name that no task has, without starting anything.

    Raises:
        UsageError: There is no such task.
        MissingError: A package, the browser or Playwright is missing.
    """
    from engine.web import miniwob, tasks

    task = name.removeprefix(PREFIX)
    if task.startswith("miniwob-"):
        if task.removeprefix("miniwob-") not in miniwob.TASKS:
            raise UsageError(f"there is no web task {task!r}; see: jitrl web ls")
    else:
        tasks.get(task, saves)
    require_browser()


def open_web(name: str, saves: Path, variables: Mapping[str, str]) -> WebEnvironment:
    """Return the environment of a task.

    Args:
        name: `web:` and the id of the task.
        variables: Environment variables, for WA_* that name the user's sites.

    Raises:
        UsageError: There is no such task.
        MissingError: A site is not running; a package, the browser or Playwright is missing.
        GameError: The browser does not start.
    """
    check(name, saves)
    task = name.removeprefix(PREFIX)
    if task.startswith("miniwob-"):
        return _open_miniwob(task.removeprefix("miniwob-"))
    return _open_task(task, saves, variables)


def _open_miniwob(page: str) -> WebEnvironment:
    from engine.web.miniwob import Rules, Server

    executable, server = require_browser(), Server()
    assignment = Assignment(
        f"miniwob-{page}",
        "miniwob",
        "",
        (f"{server.url}/miniwob/{page}.html",),
        {"miniwob": f"{server.url}/miniwob"},
    )
    return WebEnvironment(assignment, executable, scope="web/miniwob", rules=Rules(), on_close=server.close)


def _open_task(task_id: str, saves: Path, variables: Mapping[str, str]) -> WebEnvironment:
    from engine.web import tasks
    from engine.web.scoring import Scorer
    from engine.web.sites.manager import Sites

    task = tasks.get(task_id, saves)
    sites = Sites(saves)
    urls = {**sites.urls(), **tasks.user_sites(variables)}
    starts = tuple(tasks.render(url, urls) for url in task.start_urls)
    mine = {site: urls[site] for site in task.sites if site in urls}
    assignment = Assignment(
        task.id, task.suite, task.intent, starts, mine, task.template, sign_in=_forms(task, mine, sites)
    )
    return WebEnvironment(
        assignment,
        require_browser(),
        scope=f"web/{task.site}",
        judge=TaskJudge(task, Scorer(saves, urls), sites if task.suite == "local" else None),
    )


def _forms(task: WebTask, urls: Mapping[str, str], sites: Any) -> tuple[SignIn, ...]:
    """Return the forms to fill in: of our own sites where they run there, else WebArena's published ones."""
    from engine.web.sites.manager import SITES
    from engine.web.tasks import LOGINS

    if not task.login:
        return ()
    local = {key: site for site in SITES.values() for key in site.keys}
    running = sites.urls() if task.suite == "local" else {}
    forms = []
    for name, url in urls.items():
        login = local[name].logins.get(name) if running.get(name) == url else LOGINS.get(name)
        if login is not None and login.labels:
            forms.append(SignIn(url + login.path, login.labels, login.button))
    return tuple(forms)


class TaskJudge:
    """Judges an episode by its suite's own evaluator; local sites are put back before each."""

    def __init__(self, task: WebTask, scorer: Scorer, sites: Any = None) -> None:
        self._task = task
        self._scorer = scorer
        self._sites = sites

    def begin(self) -> None:
        """Put the local sites that run back to the beginning."""
        if self._sites is not None:
            from engine.web.sites.manager import SITES

            wanted = [n for n, site in SITES.items() if set(site.keys) & set(self._task.sites)]
            self._sites.reset(wanted)

    def judge(self, answer: str, url: str, entries: Sequence[Mapping[str, Any]]) -> tuple[float | None, str]:
        """Return the verdict; what cannot be judged has none."""
        from engine.web.scoring import Outcome

        try:
            verdict = self._scorer.score(self._task, Outcome(answer, url, list(entries)))
        except JitrlError as error:
            return None, str(error)
        return verdict.score, verdict.why

    def close(self) -> None:
        """End the evaluator."""
        self._scorer.close()

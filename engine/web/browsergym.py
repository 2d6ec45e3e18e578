"""BrowserGym's benchmarks, by an adapter: its tasks are sessions as all others (Le Sellier De Chezelles et al., 2024).

web:browsergym-miniwob.click-test     one of its tasks; `browsergym:miniwob.click-test` is the same
web:browsergym-miniwob                all of a benchmark, one after the other

BrowserGym wants an old Playwright, so it lives in an environment of its own, `saves/web/browsergym`, and runs in a
process of its own. What its tasks may reach is what they are about where that is known (MiniWoB++, sites named by
WA_*); benchmarks of the open web reach the open web.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

from engine.errors import MissingError, UsageError
from engine.web.browsergym_driver import OPEN_S, GymDriver, GymProcess, GymRules
from engine.web.chromium import VARIABLE, find_browser
from engine.web.driver import Driver
from engine.web.environment import WebEnvironment
from engine.web.miniwob import Rules, Server, require_pages
from engine.web.records import Assignment
from engine.web.tasks import user_sites

PREFIX = "browsergym-"
PYTHON = "JITRL_BROWSERGYM"
"""Names an interpreter that has BrowserGym."""
PACKAGES = ("browsergym-core==0.14.3", "browsergym-miniwob==0.14.3")
"""What the extra `browsergym` has, too."""
_OF_SITES = ("webarena", "webarenalite", "visualwebarena", "webarena_verified")
"""Benchmarks that are about sites of the user's."""


def folder(saves: Path) -> Path:
    """Return where BrowserGym's environment is made."""
    return saves / "web" / "browsergym"


def find_python(saves: Path, variables: Mapping[str, str]) -> Path | None:
    """Return an interpreter that has BrowserGym: JITRL_BROWSERGYM, its own environment's, or this one."""
    given = variables.get(PYTHON)
    if given:
        return Path(given) if os.access(given, os.X_OK) else None
    own = folder(saves) / "bin" / "python"
    if any((folder(saves) / "lib").glob("python3*/site-packages/browsergym/core")):
        return own
    # Not the module itself: importing it would load Playwright.
    spec = importlib.util.find_spec("browsergym") if "browsergym" not in sys.modules else None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(sys.executable) if any((Path(place) / "core").is_dir() for place in places) else None


def require(saves: Path, variables: Mapping[str, str]) -> tuple[Path, str]:
    """Return an interpreter that has BrowserGym, and a browser.

    Raises:
        MissingError: One of them is not here; says how to get it.
    """
    python, browser = find_python(saves, variables), find_browser()
    if python is None:
        own = folder(saves)
        raise MissingError(
            f"BrowserGym is not here; get it with: {sys.executable} -m venv {own} && "
            f"{own}/bin/pip install {' '.join(PACKAGES)}   (or set {PYTHON} to a Python that has it)"
        )
    if browser is None:
        raise MissingError(
            "web sessions need a browser; get one with: apt install chromium "
            f"(or set {VARIABLE} to the path of a Chromium)"
        )
    return python, browser


def listed(saves: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of all tasks of the benchmarks that are installed beside BrowserGym.

    Raises:
        MissingError: BrowserGym is not here.
        GameError: Its process failed.
    """
    process = GymProcess(require(saves, variables)[0], _environment(variables, None))
    try:
        return tuple(map(str, process.ask(OPEN_S, op="list")["tasks"]))
    finally:
        process.end()


def expand(name: str, saves: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the sessions' names that a name without its `web:` stands for: itself, or a benchmark's tasks.

    Raises:
        MissingError: BrowserGym or a browser is not here.
        UsageError: There is no such benchmark.
    """
    task = name.removeprefix(PREFIX)
    require(saves, variables)
    if "." in task or task == "openended":
        return (f"web:{name}",)
    found = [each for each in listed(saves, variables) if each.startswith(f"{task}.")]
    if not found:
        raise UsageError(
            f"BrowserGym has no benchmark {task!r} here; its tasks are called as in "
            "browsergym:miniwob.click-test, and `jitrl web ls --suite browsergym` lists them"
        )
    return tuple(f"web:{PREFIX}{each}" for each in found)


def open_gym(name: str, saves: Path, variables: Mapping[str, str]) -> BrowserGymEnvironment:
    """Return the environment of a task, named without its `web:`.

    Raises:
        MissingError: BrowserGym, a browser or MiniWoB++'s pages are not here.
        UsageError: There is no such task.
        GameError: Its process does not start.
    """
    python, browser = require(saves, variables)
    task = name.removeprefix(PREFIX)
    family = task.partition(".")[0]
    sites: dict[str, str] = {}
    server: Server | None = None
    if family == "miniwob" and "MINIWOB_URL" not in variables:
        server = Server(require_pages(saves))
        sites = {"miniwob": f"{server.url}/miniwob"}
    elif family == "miniwob":
        sites = {"miniwob": variables["MINIWOB_URL"].rstrip("/")}
    elif family in _OF_SITES:
        sites = user_sites(variables)
    close = server.close if server is not None else _nothing
    try:
        hosts = [urlsplit(url).netloc for url in sites.values()] if sites else None
        pages = sites.get("miniwob") if server is not None else None
        driver = GymDriver(python, task, browser, hosts, _environment(variables, pages))
    except BaseException:
        close()
        raise
    return BrowserGymEnvironment(task, driver, sites, close, repeatable=family == "miniwob")


class BrowserGymEnvironment(WebEnvironment):
    """One of BrowserGym's tasks. Implements `engine.environment.Environment`.

    An episode ends when the task says so. A message to the user goes to the task, which may judge it, or not care.
    """

    def __init__(
        self,
        task: str,
        driver: GymDriver,
        sites: Mapping[str, str],
        on_close: Callable[[], None],
        *,
        repeatable: bool,
    ) -> None:
        family = task.partition(".")[0]
        start = next(iter(sites.values()), "about:blank")
        super().__init__(
            Assignment(f"{PREFIX}{task}", "browsergym", "", (start,), dict(sites)),
            "",
            scope=f"web/{PREFIX}{family}",
            rules=cast("Rules", GymRules()),
            driver=cast("Driver", driver),
            on_close=on_close,
            repeatable=repeatable,
        )
        self._answers = family != "miniwob"
        self._passes_on = True

    def _worth(self, reward: float) -> float:
        """Return the score of a task's reward; some benchmarks give parts."""
        return min(1.0, max(0.0, reward))


def _environment(variables: Mapping[str, str], pages: str | None) -> dict[str, str]:
    given = {"MINIWOB_URL": f"{pages}/"} if pages else {}
    return {**variables, **given, "PYTHONDONTWRITEBYTECODE": "1"}


def _nothing() -> None:
    """Nothing is to be closed."""

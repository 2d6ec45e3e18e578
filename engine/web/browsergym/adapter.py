"""An adapter for BrowserGym's benchmarks (Le Sellier De Chezelles et al., 2024).

web:browsergym-miniwob.click-test     a task; `browsergym:miniwob.click-test` is the same
web:browsergym-miniwob                all tasks of a benchmark, one after the other
web:browsergym-openended URL GOAL     a goal of the user, on a site of the user

BrowserGym needs an old Playwright, so it is installed in a Python environment of its own,
`saves/web/browsergym`, and runs in its own process. If the sites of a task are known (MiniWoB++, sites named
by WA_*, the host of an open-ended task), only these can be reached. Benchmarks of the open web can reach the
open web.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import urlsplit

from engine import children, trust
from engine.errors import MissingError, UsageError
from engine.web.browser.chromium import VARIABLE, find_browser
from engine.web.browser.url import origin
from engine.web.browsergym.driver import OPEN_S, GymDriver, GymProcess, GymRules, does_not_load
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from engine.web.tasks.miniwob import PageServer, require_pages
from engine.web.tasks.suites import VARIABLES

PREFIX = "browsergym-"
PYTHON = "JITRL_BROWSERGYM"
"""The variable that names an interpreter with BrowserGym."""
PASSED = "JITRL_BROWSERGYM_PASS"
"""Names further variables, with commas between them, that BrowserGym gets, such as the key of a benchmark's judge."""
PACKAGES = ("browsergym-core==0.14.3", "browsergym-miniwob==0.14.3")
"""The packages to install, the same as in the extra `browsergym`."""
OPEN_ENDED = "openended"
_SERVICE_NOW = ("SNOW_INSTANCE_URL", "SNOW_INSTANCE_UNAME", "SNOW_INSTANCE_PWD")
"""Variables of WorkArena's site, with the password of its user."""
_SITES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("webarena", "webarenalite", "webarena_verified"), tuple(VARIABLES.values())),
    "visualwebarena": (
        "VWA_SHOPPING", "VWA_REDDIT", "VWA_WIKIPEDIA", "VWA_HOMEPAGE", "VWA_CLASSIFIEDS", "VWA_CLASSIFIEDS_RESET_TOKEN",
    ),
    "timewarp": ("TW_WIKI", "TW_WEBSHOP", "TW_NEWS"),
}  # fmt: skip
"""Benchmarks for the user's own sites, with the variables that name these. All of them are required."""


def folder(saves: Path) -> Path:
    """Return the folder of BrowserGym's Python environment."""
    return saves / "web" / "browsergym"


def find_python(saves: Path, variables: Mapping[str, str]) -> Path | None:
    """Return an interpreter with BrowserGym: JITRL_BROWSERGYM, that of its own environment, or this one."""
    given = variables.get(PYTHON)
    if given:
        return Path(given) if os.access(given, os.X_OK) else None
    own = folder(saves) / "bin" / "python"
    if any((folder(saves) / "lib").glob("python3*/site-packages/browsergym/core")):
        return own
    # The module is not imported here, because that would load Playwright.
    spec = importlib.util.find_spec("browsergym") if "browsergym" not in sys.modules else None
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(sys.executable) if any((Path(place) / "core").is_dir() for place in places) else None


def require(saves: Path, variables: Mapping[str, str]) -> tuple[Path, str]:
    """Return an interpreter with BrowserGym, and the path of a browser.

    Raises:
        MissingError: One of them is missing. The message says how to get it.
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


def list_tasks(saves: Path, variables: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of all tasks of the installed benchmarks, and a sentence for each benchmark that does not load.

    Raises:
        MissingError: BrowserGym is not installed.
        GameError: Its process failed.
    """
    python = require(saves, variables)[0]
    process = GymProcess(python, _environment(variables, None))
    try:
        reply = process.ask(OPEN_S, op="list")
    finally:
        process.end()
    broken = {family: does_not_load(family, why, python) for family, why in reply["broken"].items()}
    return tuple(map(str, reply["tasks"])), broken


def expand(name: str, saves: Path, variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names to play for a name without its `web:`: itself, or all tasks of a benchmark.

    Raises:
        MissingError: BrowserGym or a browser is missing, or the benchmark does not load.
        UsageError: There is no such benchmark, or an open-ended task lacks something.
    """
    task = name.removeprefix(PREFIX)
    require(saves, variables)
    if "." in task_name(task)[0] or task.startswith(OPEN_ENDED):
        return (f"web:{name}",)
    names, broken = list_tasks(saves, variables)
    found = [each for each in names if each.startswith(f"{task}.")]
    if not found:
        if task in broken:
            raise MissingError(broken[task])
        raise UsageError(
            f"BrowserGym has no benchmark {task!r} here; its tasks are called as in "
            "browsergym:miniwob.click-test, and `jitrl web ls --suite browsergym` lists them"
        )
    return tuple(f"web:{PREFIX}{each}" for each in found)


def task_name(task: str) -> tuple[str, dict[str, str]]:
    """Return BrowserGym's name of a task, and the arguments for making it, which `openended URL GOAL` has.

    Raises:
        UsageError: The URL or the goal of an open-ended task is missing.
    """
    name, _, rest = task.partition(" ")
    if name != OPEN_ENDED:
        return task, {}
    url, _, goal = rest.strip().partition(" ")
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname or not goal.strip():
        raise UsageError(
            "an open-ended task needs an address and what is to be done there, as in: jitrl watch "
            f"'browsergym:{OPEN_ENDED} http://127.0.0.1:8080/ Find the cheapest kettle'"
        )
    return name, {"start_url": url, "goal": goal.strip()}


def open_gym(name: str, saves: Path, variables: Mapping[str, str]) -> BrowserGymEnvironment:
    """Return the environment of a task, named without its `web:`.

    Raises:
        MissingError: BrowserGym, a browser, pages or sites are missing, or the benchmark does not load.
        UsageError: There is no such task.
        GameError: Its process does not start.
    """
    task, given = task_name(name.removeprefix(PREFIX))
    for site in trust.sites_in(given.get("start_url", "")):
        trust.require(site)
    python, browser = require(saves, variables)
    family = task.partition(".")[0]
    sites: dict[str, str] = {}
    server: PageServer | None = None
    if family == "miniwob" and "MINIWOB_URL" not in variables:
        server = PageServer(require_pages(saves))
        sites = {"miniwob": f"{server.url}/miniwob"}
    elif family == "miniwob":
        sites = {"miniwob": variables["MINIWOB_URL"].rstrip("/")}
    elif family in _SITES:
        sites = _sites(family, variables)
    close = server.close if server is not None else _nothing
    try:
        start = given.get("start_url", next(iter(sites.values()), "about:blank"))
        hosts = [_place(url) for url in (*sites.values(), start)] if sites or given else None
        pages = sites.get("miniwob") if server is not None else None
        driver = GymDriver(python, task, browser, hosts, _environment(variables, pages), given)
    except BaseException:
        close()
        raise
    return BrowserGymEnvironment(task, driver, start, sites, close, repeatable=family == "miniwob")


class BrowserGymEnvironment(WebEnvironment):
    """A task of BrowserGym.

    The task decides when an episode ends. It receives messages to the user and may judge them. An open-ended
    task has no judge, so a message ends it.
    """

    def __init__(
        self,
        task: str,
        driver: GymDriver,
        start: str,
        sites: Mapping[str, str],
        on_close: Callable[[], None],
        *,
        repeatable: bool,
    ) -> None:
        family = task.partition(".")[0]
        super().__init__(
            Assignment(f"{PREFIX}{task}", "browsergym", "", (start,), dict(sites)),
            "",
            scope=f"web/{PREFIX}{family}",
            rules=GymRules(driver),
            driver=driver,
            on_close=on_close,
            repeatable=repeatable,
        )
        self._answers = family != "miniwob"
        self._passes_on = task != OPEN_ENDED

    def _page_score(self, reward: float) -> float:
        """Return the score for a task's reward. Some benchmarks give partial rewards."""
        return min(1.0, max(0.0, reward))


def _environment(variables: Mapping[str, str], pages: str | None) -> dict[str, str]:
    """Return the variables of BrowserGym's process: the addresses of its sites, and what the user names for it."""
    named = (name.strip() for name in variables.get(PASSED, "").split(","))
    sites = [name for names in _SITES.values() for name in names]
    given = {"PYTHONDONTWRITEBYTECODE": "1", **({"MINIWOB_URL": f"{pages}/"} if pages else {})}
    further = ("BROWSERGYM_", "PLAYWRIGHT_", "XDG_", "MINIWOB_URL", *_SERVICE_NOW, *sites, *named)
    return children.environment(given, further, variables=variables)


def _sites(family: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the base URLs of a benchmark's sites by name, for sites that have one.

    Raises:
        MissingError: A required variable is not set.
    """
    missing = [name for name in _SITES[family] if not variables.get(name, "").strip()]
    if missing:
        raise MissingError(
            f"BrowserGym's benchmark {family} runs on sites of yours; set {', '.join(missing)} to their addresses, "
            "those that you have not to todo"
        )
    given = {name.partition("_")[2].lower(): variables[name].strip().rstrip("/") for name in _SITES[family]}
    return {site: url for site, url in given.items() if urlsplit(url).scheme in ("http", "https")}


def _place(url: str) -> str:
    """Return the `host:port` of a URL."""
    _, host, port = origin(url)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _nothing() -> None:
    """Do nothing."""

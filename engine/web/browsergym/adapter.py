"""BrowserGym's benchmarks, by an adapter: its tasks are sessions as all others (Le Sellier De Chezelles et al., 2024).

web:browsergym-miniwob.click-test     one of its tasks; `browsergym:miniwob.click-test` is the same
web:browsergym-miniwob                all of a benchmark, one after the other
web:browsergym-openended URL GOAL     no benchmark: what a person asks for, on a site of theirs

BrowserGym wants an old Playwright, so it lives in an environment of its own, `saves/web/browsergym`, and runs in a
process of its own. What its tasks may reach is what they are about where that is known (MiniWoB++, sites named by
WA_*, the host of an open-ended task); benchmarks of the open web reach the open web.
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
from engine.web.browser.chromium import VARIABLE, find_browser
from engine.web.browser.driver import Driver
from engine.web.browser.url import origin
from engine.web.browsergym.driver import OPEN_S, GymDriver, GymProcess, GymRules, does_not_load
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from engine.web.tasks.miniwob import Rules, Server, require_pages
from engine.web.tasks.suites import VARIABLES

PREFIX = "browsergym-"
PYTHON = "JITRL_BROWSERGYM"
"""Names an interpreter that has BrowserGym."""
PACKAGES = ("browsergym-core==0.14.3", "browsergym-miniwob==0.14.3")
"""What the extra `browsergym` has, too."""
OPEN_ENDED = "openended"
_SITES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("webarena", "webarenalite", "webarena_verified"), tuple(VARIABLES.values())),
    "visualwebarena": (
        "VWA_SHOPPING", "VWA_REDDIT", "VWA_WIKIPEDIA", "VWA_HOMEPAGE", "VWA_CLASSIFIEDS", "VWA_CLASSIFIEDS_RESET_TOKEN",
    ),
    "timewarp": ("TW_WIKI", "TW_WEBSHOP", "TW_NEWS"),
}  # fmt: skip
"""Benchmarks that are about sites of the user's: the variables in which they look for them, all of which they want."""


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


def listed(saves: Path, variables: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Return the names of all tasks of the benchmarks beside BrowserGym, and for those that do not load a sentence.

    Raises:
        MissingError: BrowserGym is not here.
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
    """Return the sessions' names that a name without its `web:` stands for: itself, or a benchmark's tasks.

    Raises:
        MissingError: BrowserGym or a browser is not here, or the benchmark does not load.
        UsageError: There is no such benchmark, or an open-ended task lacks something.
    """
    task = name.removeprefix(PREFIX)
    require(saves, variables)
    if "." in asked(task)[0] or task.startswith(OPEN_ENDED):
        return (f"web:{name}",)
    names, broken = listed(saves, variables)
    found = [each for each in names if each.startswith(f"{task}.")]
    if not found:
        if task in broken:
            raise MissingError(broken[task])
        raise UsageError(
            f"BrowserGym has no benchmark {task!r} here; its tasks are called as in "
            "browsergym:miniwob.click-test, and `jitrl web ls --suite browsergym` lists them"
        )
    return tuple(f"web:{PREFIX}{each}" for each in found)


def asked(task: str) -> tuple[str, dict[str, str]]:
    """Return the name that BrowserGym has for a task, and what the task is to be made with: `openended URL GOAL`.

    Raises:
        UsageError: What is open-ended lacks its address, or what is to be done there.
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
        MissingError: BrowserGym, a browser, pages or sites are not here, or the benchmark does not load.
        UsageError: There is no such task.
        GameError: Its process does not start.
    """
    python, browser = require(saves, variables)
    task, given = asked(name.removeprefix(PREFIX))
    family = task.partition(".")[0]
    sites: dict[str, str] = {}
    server: Server | None = None
    if family == "miniwob" and "MINIWOB_URL" not in variables:
        server = Server(require_pages(saves))
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
    """One of BrowserGym's tasks. Implements `engine.environment.Environment`.

    An episode ends when the task says so. A message to the user goes to the task, which may judge it, or not care; an
    open-ended one has nobody who would, so the message is the end.
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
            rules=cast("Rules", GymRules()),
            driver=cast("Driver", driver),
            on_close=on_close,
            repeatable=repeatable,
        )
        self._answers = family != "miniwob"
        self._passes_on = task != OPEN_ENDED

    def _worth(self, reward: float) -> float:
        """Return the score of a task's reward; some benchmarks give parts."""
        return min(1.0, max(0.0, reward))


def _environment(variables: Mapping[str, str], pages: str | None) -> dict[str, str]:
    given = {"MINIWOB_URL": f"{pages}/"} if pages else {}
    return {**variables, **given, "PYTHONDONTWRITEBYTECODE": "1"}


def _sites(family: str, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the names of the sites that a benchmark is about to their base URLs, of those that have one.

    Raises:
        MissingError: A variable that it wants is not set.
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
    """Nothing is to be closed."""

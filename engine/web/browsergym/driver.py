"""Drives BrowserGym in its own process."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from engine import waits
from engine.errors import GameError, MissingError, UsageError
from engine.redaction import without_credentials
from engine.web.actions import Call, resolve
from engine.web.browser import private
from engine.web.browser.chromium import why_no_sandbox
from engine.web.browser.driver_base import BrowserDriver, PageRules
from engine.web.browser.limits import MOST_EVENTS, BrowserLimits, end_browser, hold_memory, new_mark
from engine.web.browser.network import NO_WEBRTC, Gate, Traffic, gate_for
from engine.web.browser.snapshot import Page, Seen, parse
from engine.workers import LineWorker

OPEN_S = waits.BROWSERGYM_OPEN.seconds
"""Time limit in seconds for importing BrowserGym and its benchmarks. Some try for a minute to reach a server."""
RESET_S = waits.BROWSERGYM_RESET.seconds
"""Time limit in seconds for the beginning of an episode. A browser starts, and a task may log in and create data."""
STEP_S = waits.BROWSERGYM_STEP.seconds
_MOST_REQUESTS = 10 * MOST_EVENTS["requests"]
"""Requests of pages from one action to the end of the next one."""
_PAUSE_MS = 100


class GymProcess(LineWorker):
    """BrowserGym's worker process. Requests have deadlines.

    Args:
        python: An interpreter with BrowserGym.
        environment: Environment variables of the process.

    Raises:
        GameError: The process cannot be started.
    """

    def __init__(self, python: Path, environment: Mapping[str, str]) -> None:
        worker = Path(__file__).with_name("worker.py")
        super().__init__("BrowserGym", [str(python), "-I", str(worker)], environment)


class WideGate(Gate):
    """The gate for benchmarks of the open web. It allows all http and https URLs."""

    __slots__ = ()

    def allows(self, url: str) -> bool:
        """Whether `url` may be requested."""
        return urlsplit(url).scheme in ("http", "https", "about")


class GymDriver(BrowserDriver):
    """Drives BrowserGym's browser.

    Args:
        python: An interpreter with BrowserGym.
        task: BrowserGym's name of the task, for instance "miniwob.click-test".
        executable: Path of a Chromium.
        hosts: The `host:port` that may be reached; None for the open web.
        environment: Environment variables of the process. Benchmarks find their sites there.
        given: Arguments for making the task.

    Raises:
        GameError: The process does not start.
        UsageError: There is no such task.
        MissingError: Its benchmark does not load.
    """

    def __init__(
        self,
        python: Path,
        task: str,
        executable: str,
        hosts: Sequence[str] | None,
        environment: Mapping[str, str],
        given: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(WideGate(frozenset()) if hosts is None else gate_for((), hosts))
        self.reward: float | None = None
        """The reward of the episode, None until it is over."""
        self.truncated = False
        """Whether BrowserGym cut the episode off."""
        self._how = python, dict(environment)
        self._mark, marked = new_mark()
        self._open = {
            "op": "open", "task": task, "given": dict(given or {}), "executable": executable, "hosts": hosts,
            "arguments": [*NO_WEBRTC, *marked], "sandbox": not why_no_sandbox(executable),
            "secrets": private.IN_FRAME, "requests": _MOST_REQUESTS,
        }  # fmt: skip
        self._process: GymProcess | None = None
        self._seen = Seen(Page())
        self._private: set[tuple[str, str]] = set()
        """Addresses and handles of the boxes that took secrets when they were last seen."""
        self._best = 0.0
        self._fresh = False
        self._start()

    def begin(self, urls: Sequence[str]) -> Seen:
        """Reset the driver for a new episode, which begins with `start`."""
        self.traffic, self.reward, self._best, self.truncated = Traffic(), None, 0.0, False
        self._seen, self._fresh = Seen(Page()), False
        self._private.clear()
        return self._seen

    def start(self, seed: int) -> str:
        """Begin an episode of the task and return its goal.

        Raises:
            GameError: The process ended, or the task could not be set up.
        """
        reply = self._ask(RESET_S, op="reset", seed=seed)
        hold_memory(self._mark, self.limits.memory)
        self._see(reply)
        self._fresh = True
        return " ".join(str(reply["goal"]).split())

    def act(self, call: Call) -> Seen:
        """Take an action on the present page and return the result. If it fails, `error` says why.

        Raises:
            GameError: The process ended.
        """
        try:
            action = spoken(call, self._seen.page)
            if call.name == "goto" and (refused := self.refusal(str(call.arguments[0]))):
                raise UsageError(refused)
        except UsageError as wrong:
            self._seen = Seen(self._seen.page, str(wrong), (), self._seen.tabs, self._seen.active)
            return self._seen
        return self._step(action)

    def look(self) -> Seen:
        """Return the page as it is now."""
        if self._fresh:
            self._fresh = False
            return self._seen
        return self._step(f"noop({_PAUSE_MS})")

    def screenshot(self, quality: int = 60, hidden: Sequence[str] = ()) -> bytes:
        """Return the visible tab as JPEG, b"" if no picture can be taken. Elements in `hidden` are covered."""
        return base64.b64decode(self._ask(STEP_S, op="picture", hidden=list(hidden))["picture"])

    def close(self) -> None:
        """End the process; calling this twice is safe."""
        process, self._process = self._process, None
        if process is not None:
            process.end()
            end_browser(self._mark)

    def _start(self) -> GymProcess:
        process = GymProcess(*self._how)
        try:
            reply = process.ask(OPEN_S, **self._open)
            if reply.get("broken"):
                ((family, why),) = reply["broken"].items()
                raise MissingError(does_not_load(family, why, self._how[0]))
            if "missing" in reply:
                raise UsageError(_no_such(str(reply["missing"]), reply["tasks"]))
        except BaseException:
            process.end()
            raise
        self._process = process
        return process

    def _ask(self, seconds: float, **request: object) -> dict[str, Any]:
        process = self._process
        try:
            if process is None:
                process = self._start()  # It ended in an earlier episode.
            process.on_wait = self.on_wait
            return process.ask(seconds, **request)
        except GameError:
            self.close()  # Its state is unknown, so the next episode starts a new one.
            raise

    def _step(self, action: str) -> Seen:
        self._fresh = False
        reply = self._ask(STEP_S, op="step", action=action)
        self._best = max(self._best, float(reply["reward"]))
        if reply["terminated"] or reply["truncated"]:
            self.reward, self.truncated = self._best, not reply["terminated"]
        return self._see(reply)

    def _see(self, reply: Mapping[str, Any]) -> Seen:
        text, url, title = str(reply["snapshot"]), without_credentials(str(reply["url"])), str(reply["title"])
        self._private |= {(url, str(bid)) for bid in reply.get("secret", ())}
        refs = frozenset(bid for place, bid in self._private if place == url)
        self.traffic.fields.update(map(str, reply.get("fields", ())))
        secrets = private.typed_in(parse(text, url, title), refs)
        page = parse(text, url, title, refs)
        error = str(reply["error"]).strip()
        self.limits = BrowserLimits(width=int(reply["width"]), height=int(reply["height"]))
        self._seen = Seen(
            page,
            error.splitlines()[0] if error else "",
            tuple(f"the task says: {' '.join(str(said).split())[:300]}" for said in reply.get("said", ())),
            tuple(map(str, reply["tabs"])),
            int(reply["active"]),
            secrets,
        )
        return self._seen


class GymRules(PageRules):
    """The beginning and the reward of BrowserGym's episodes.

    Args:
        driver: What drives it.
    """

    def __init__(self, driver: GymDriver) -> None:
        self._driver = driver

    def begin(self, driver: BrowserDriver, seed: int) -> str:
        """Begin an episode and return its goal."""
        return self._driver.start(seed)

    def reward(self, driver: BrowserDriver) -> float | None:
        """Return the task's best reward, None until the episode is over."""
        return self._driver.reward

    def truncated(self, driver: BrowserDriver) -> bool:
        """Return whether BrowserGym cut the episode off before the task ended it."""
        return self._driver.truncated


def spoken(call: Call, page: Page) -> str:
    """Return an action in BrowserGym's grammar, with its element by bid.

    Raises:
        UsageError: The element is not on the page.
    """
    arguments = [repr(argument) for argument in call.arguments]
    if call.target is not None:
        arguments.insert(0, repr(resolve(call.target, page).ref))
    return f"{call.name}({', '.join(arguments)})"


def does_not_load(family: str, why: str, python: Path) -> str:
    """Return a sentence about a benchmark that is installed but cannot be imported."""
    lacks = f"; it lacks packages: {python} -m pip install browsergym-{family.replace('_', '-')}"
    return f"BrowserGym's benchmark {family} does not load here ({why}){lacks if 'ModuleNotFound' in why else ''}"


def _no_such(task: str, tasks: Sequence[str]) -> str:
    import difflib

    family = task.partition(".")[0]
    near = difflib.get_close_matches(task, tasks, 3, 0.4)
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    if not any(name.startswith(f"{family}.") for name in tasks):
        return (
            f"BrowserGym has no task {task!r} here: the benchmark {family!r} is not installed beside it (packages are "
            f"called browsergym-{family})"
        )
    return f"BrowserGym has no task {task!r}{hint or f'; it has {len(tasks)}'}"

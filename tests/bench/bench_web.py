"""What a step on the web costs without a model, on the local shop: one JSON line a figure.

    python -m tests.bench.bench_web [--rounds N]

Ours and plain Playwright take the same actions on the same server with the same browser, in turns, in one process.
Plain Playwright acts by role and name and waits for the page; with "snapshot" it also reads the page as text once.
Ours does all that a session does but for the model: the action by role and name, the page as a tree, gate, traffic,
secrets, state, possible actions, and a look into a memory of 2000 steps.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from playwright.sync_api import Error, sync_playwright

from engine.environments import profile
from engine.errors import GameError, JitrlError
from engine.memory import Memory
from engine.paths import saves_folder
from engine.records import Episode, Observation, State, Step
from engine.values.knn import KnnEstimator
from engine.web.actions import parse
from engine.web.browser.chromium import require_browser
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment
from engine.web.sites.manager import Sites
from engine.web.states.state import WebAbstractor
from tests.bench.bench_llm import say
from tests.web.solving import borrow

ACTIONS = (
    "click(<link[Kettles]>)",
    "click(<link[Eider Kettle 131]>)",
    "click(<button[Add to basket]>)",
    "fill(<textbox[Search]>, 'lamp')",
    "click(<button[Search]>)",
    "go_back()",
    "click(<link[Kettles]>)",
    "click(<link[Home]>)",
)
INTENT = "Add the Eider Kettle 131 to the basket, then search for 'lamp'"
REMEMBERED = 2000


class Plain:
    """Playwright as a script would use it."""

    def __init__(self, page) -> None:
        self._page = page

    def act(self, action: str) -> None:
        """Take one action and wait for the page."""
        call = parse(action)
        if call.target is None:
            self._page.go_back(wait_until="domcontentloaded")
            return
        element = self._page.get_by_role(call.target.role, name=call.target.name, exact=True).first
        if call.name == "fill":
            element.fill(call.arguments[0])
        else:
            element.click()
            self._page.wait_for_load_state("domcontentloaded")

    def read(self) -> int:
        """Read the page as text."""
        return len(self._page.locator("body").aria_snapshot(mode="ai"))


class Ours:
    """A session's step without the model."""

    def __init__(self, url: str, executable: str, estimator: KnnEstimator) -> None:
        job = Assignment("bench", "bench", INTENT, (f"{url}/catalogue/",), {"shopping": url})
        self.environment = WebEnvironment(job, executable, scope="web/shopping")
        self._estimator = estimator
        self._abstractor: WebAbstractor = self.environment.abstractor()  # type: ignore[assignment]
        self.hits = 0

    def begin(self) -> None:
        """Begin an episode."""
        self._abstractor.begin(self.environment.reset(1))

    def act(self, action: str) -> None:
        """Take one action and be ready to ask a model for the next."""
        seen = self.environment.step(action)
        if "Error" in seen.text:
            raise GameError(seen.text)
        state = self._abstractor.advance(action, seen)
        self.environment.valid_actions()
        self.hits += len(self._estimator.neighbours(state))


def main() -> int:
    """Print the figures; return the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    try:
        executable = require_browser()
        with tempfile.TemporaryDirectory() as folder:
            saves = borrow(saves_folder(), Path(folder) / "saves")
            with Sites(saves) as sites, Memory(Path(folder) / "memory") as memory:
                (status,) = sites.up(("shop",), stay=False)
                if status.state != "up":
                    print(f"bench-web measures the local shop: {status.note}", file=sys.stderr)
                    return 3
                measure(status.url, executable, memory, args.rounds)
    except JitrlError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


def measure(url: str, executable: str, memory: Memory, rounds: int) -> None:
    """Take the actions in turns and say what they cost."""
    scope = memory.scope("web/shopping")
    remember(scope)
    ours = Ours(url, executable, KnnEstimator(scope, profile("default", "web")))
    step, plain, read, reset, valid = [], [], [], [], []
    failed = 0
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=executable, headless=True)
            page = browser.new_context(viewport={"width": 1280, "height": 720}).new_page()
            peer = Plain(page)
            for number in range(rounds + 1):  # The first round warms up server and caches.
                reset.append(seconds(ours.begin))
                page.goto(f"{url}/catalogue/", wait_until="domcontentloaded")
                for action in ACTIONS:
                    try:
                        mine = seconds(lambda a=action: ours.act(a))
                        theirs = seconds(lambda a=action: peer.act(a))
                        reading = seconds(peer.read)
                    except (
                        GameError,
                        Error,
                    ) as error:  # A busy machine: the rest of this round has no start.
                        print(f"{action}: {error}", file=sys.stderr)
                        failed += 1
                        break
                    if number:
                        step.append(mine)
                        plain.append(theirs)
                        read.append(theirs + reading)
                        valid.append(seconds(ours.environment.valid_actions))
            browser.close()
    finally:
        ours.environment.close()
    over = [mine - theirs for mine, theirs in zip(step, plain, strict=True)]
    say("web_step_s_median", statistics.median(step), "s", peer="plain Playwright, page read once",
        peer_value=statistics.median(read))  # fmt: skip
    say("web_step_overhead_s_median", statistics.median(over), "s", target=0.5)
    say("web_step_overhead_s_p95", float(np.quantile(over, 0.95)), "s")
    say("web_plain_action_s_median", statistics.median(plain), "s")
    say("web_valid_actions_s_median", statistics.median(valid), "s")
    say("web_rounds_broken_off", failed, "rounds")
    say("web_reset_s_median", statistics.median(reset[1:]), "s")


def remember(scope) -> None:
    """Fill a memory with walks through a shop."""
    rng = np.random.default_rng(1)
    places = ("shopping/catalogue", "shopping/catalogue/category/SLUG", "shopping/catalogue/SLUG", "shopping")
    episodes = []
    for number in range(REMEMBERED // 10):
        intent = f"{INTENT} for customer {number % 7}"
        abstractor = WebAbstractor(lambda intent=intent: intent, lambda: ())
        state, steps = abstractor.begin(Observation("x", place=places[0])), []
        for _ in range(10):
            action = str(rng.choice(ACTIONS))
            steps.append(Step(state, action, float(rng.integers(-3, 4))))
            state = abstractor.advance(action, Observation("x", place=str(rng.choice(places))))
        episodes.append(Episode(f"e{number}", "web/shopping", tuple(steps), State("end", ("end",))))
    scope.append_all(episodes)


def seconds(work) -> float:
    """Return how long something takes."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())

"""Long trials of the local sites: every form is sent, the site is reset, and then it must be as a fresh one.

    python -m tests.bench.soak_sites [--sites shop fossil ...]

Ends with `N survived, M lost`; exits with 1 if any was lost. `run` does the same for the whole soak. A page is lost
if it differs from the same page of a site that was never changed. A task is lost if its solution does not score 1
after all that. The sites must have been built (`jitrl web up --install`, then `jitrl web down`).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from engine.paths import saves_folder
from engine.web.sites import encyclopedia_data
from engine.web.sites.manager import SITES, Sites
from engine.web.sites.site import VERSION
from engine.web.tasks.suites import load
from engine.web.tasks.verdict import Scorer
from tests.web.restoring import differences, people, send_all, visit
from tests.web.solving import borrow, borrowable, solutions, trial
from tests.web.test_sites_reset import elsewhere, written

Tell = Callable[[str], None]


def _starts(name: str) -> tuple[str, ...]:
    if name == "encyclopedia":
        return ("/", *(f"/varland/{page.path}" for page in encyclopedia_data.articles()))
    return ("/miniwob/",) if name == "miniwob" else ("/",)


def written_and_reset(sites: Sites, name: str, tell: Tell) -> tuple[int, int]:
    """Send every form of a site as each person, reset it, and compare all its pages with those of a fresh one."""
    site, web = SITES[name], sites.saves / "web"
    before = elsewhere(web)
    used, fresh = sites.lend((name,), "soak"), sites.lend((name,), "fresh")
    try:
        ((host, other),) = fresh.moved.items()
        base, other_base, good, bad = f"http://{host}", f"http://{other}", 0, 0
        used.reset()
        read, forms, sent = [], 0, 0
        for client in people(site, base):
            found = visit(client, base, _starts(name))
            read.append(found.pages)
            forms += len(found.forms)
            sent += send_all(client, base, found.forms)
        used.reset()
        for pages, one, another in zip(read, people(site, base), people(site, other_base), strict=True):
            different = differences(one, base, another, other_base, pages)
            for line in different:
                tell(f"{name}: {line}")
            good, bad = good + len(pages) - len(different), bad + len(different)
        used.reset()
        places = web / "sites" / name
        if elsewhere(web) != before or written(places / "live") != written(places / f"pristine-{VERSION}"):
            tell(f"{name}: a file is not as before")
            bad += 1
        tell(f"{name}: {forms} forms, sent {sent} times without an error; {good} pages as before, {bad} not")
        return good, bad
    finally:
        fresh.close()
        used.close()


def scored(sites: Sites, tell: Tell) -> tuple[int, int]:
    """Score the solution of every task of the sites that run."""
    known, good, bad = solutions(), 0, 0
    with Scorer(sites.saves, sites.urls()) as scorer:
        for task in load("local", sites.saves):
            if not scorer.urls.keys() >= set(task.sites):
                continue
            verdict = trial(task, "right", sites, scorer, known)
            good, bad = good + (verdict.score == 1.0), bad + (verdict.score != 1.0)
            if verdict.score != 1.0:
                tell(f"{task.id}: {verdict.score}: {verdict.why}")
    tell(f"tasks: {good} score 1, {bad} do not")
    return good, bad


def run(tell: Tell, *, names: Sequence[str] = tuple(SITES)) -> tuple[int, int]:
    """Do all trials; return how many survived and how many were lost."""
    if len(names) == len(SITES) and not borrowable(saves_folder()):
        tell("the local sites are not here, so they are left out")
        return 0, 0
    with (
        tempfile.TemporaryDirectory(prefix="jitrl-soak-") as folder,
        Sites(borrow(saves_folder(), Path(folder) / "saves")) as sites,
    ):
        for status in sites.up(names, stay=False):
            if status.state != "up":
                tell(f"{status.name}: {status.note}")
                return 0, 1
        counts = [written_and_reset(sites, name, tell) for name in names]
        counts.append(scored(sites, tell))
    return sum(good for good, _ in counts), sum(bad for _, bad in counts)


def main() -> int:
    """Do the trials and print how they ended."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sites", nargs="+", choices=tuple(SITES), default=tuple(SITES))
    survived, lost = run(lambda text: print(text, file=sys.stderr, flush=True), names=parser.parse_args().sites)
    print(f"{survived} survived, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())

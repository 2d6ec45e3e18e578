"""Plays scripted solutions over HTTP, as a list of small steps:

["get", URL], ["follow", PATTERN] (its group is the URL), ["submit", FIELDS, FORM, BUTTON], ["read", PATTERN] (its
group is the answer), ["all", PATTERN] (all its groups are), ["count", PATTERN] (how often it is there is the answer),
["answer", TEXT]. An empty list does nothing at all. Over several pages: ["sum", PATTERN, URLS] (how often it is there
in all), ["least", PATTERN, URLS] (the name of the page with the smallest distance or time), ["total", PATTERN, URLS,
UNIT, SIGN] (the first distance or time and the others, with that sign).
"""

from __future__ import annotations

import html
import json
import re
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine.web.sites.manager import SITES, Sites
from engine.web.sites.site import VERSION
from engine.web.tasks.suites import WebTask, render
from engine.web.tasks.verdict import EpisodeOutcome, Scorer, Verdict, verified_python
from tests.web.site_client import SiteClient

HOW = (
    "the local sites are not here; get them with JITRL_TEST_SITES=install before the tests (250 MB from the package "
    "index), or once with: jitrl web up --install, then jitrl web down"
)
"""Why tests of the sites are left out, for `pytest -rs`."""
UNITS = {"m": 1.0, "km": 1000.0, "min": 1.0, "h": 60.0}
SOLUTIONS = Path(__file__).with_name("solutions")
LOGINS = {key: login for site in SITES.values() for key, login in site.logins.items()}


def solutions() -> dict[int, dict[str, Any]]:
    """Return task number to its right and its wrong steps."""
    files = sorted(SOLUTIONS.glob("*.json"))
    return {item["task_id"]: item for file in files for item in json.loads(file.read_text())}


def play(task: WebTask, steps: list[Any], urls: Mapping[str, str]) -> EpisodeOutcome:
    """Do `steps` as somebody who is logged in; what logging in asked for is no part of the record."""
    client = SiteClient()
    if task.login:
        for site in task.sites:
            if site in LOGINS:
                client.login(urls[site], LOGINS[site])
    client.entries.clear()
    answer = ""
    for start in task.start_urls:
        client.get(render(start, urls))
    for step in steps:
        if step[0] == "get":
            client.get(render(step[1], urls))
        elif step[0] == "follow":
            found = re.search(step[1], html.unescape(client.text), re.DOTALL)
            assert found, f"{client.url} has no {step[1]!r}"
            client.get(found[1])
        elif step[0] == "submit":
            fields, form, button = [*step[1:], *("", "")][:3]
            client.submit(fields, form=form, button=button)
        elif step[0] == "read":
            text = html.unescape(client.text)
            found = re.search(step[1], text, re.DOTALL)
            assert found, f"{client.url} has no {step[1]!r}"
            answer = " ".join(found[1].split())
        elif step[0] == "count":
            answer = str(len(re.findall(step[1], html.unescape(client.text))))
        elif step[0] == "all":
            answer = json.dumps(re.findall(step[1], html.unescape(client.text), re.DOTALL))
        elif step[0] == "sum":
            answer = str(
                sum(len(re.findall(step[1], html.unescape(client.get(render(url, urls))))) for url in step[2])
            )
        elif step[0] == "least":
            found = {name: _amount(client.get(render(url, urls)), step[1]) for name, url in step[2].items()}
            answer = min(found, key=found.__getitem__)
        elif step[0] == "total":
            first, *rest = (_amount(client.get(render(url, urls)), step[1]) for url in step[2])
            answer = f"{(first + step[4] * sum(rest)) / UNITS[step[3]]:.1f} {step[3]}"
        elif step[0] == "answer":
            answer = step[1]
        else:
            raise ValueError(f"unknown step {step}")
    return EpisodeOutcome(answer, client.url, client.entries)


def _amount(page: str, pattern: str) -> float:
    """Return the distance or time that a page has, in metres or minutes."""
    found = re.search(pattern, html.unescape(page))
    assert found, f"there is no {pattern!r}"
    return sum(
        float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+) (km|min|m|h)\b", found[1])
    )


def trial(
    task: WebTask, which: str, sites: Sites, scorer: Scorer, known: dict[int, dict[str, Any]]
) -> Verdict:
    """Play the `which` ("right" or "wrong") solution of a task and judge it; puts changed sites back."""
    urls = sites.urls()
    try:
        done = play(task, known[task.number][which], urls)
        return scorer.score(task, replace(done, databases=sites.state()))
    finally:
        if task.kind == "mutate":
            keys = set(task.sites)
            sites.reset([site.name for site in SITES.values() if keys & set(site.keys)])


def borrow(saves: Path, folder: Path) -> Path:
    """Make `folder` a saves folder that has the environment and the pristine data of `saves`, and nothing live.

    Building the shop takes half a minute; the copy here is only read.
    """
    web = folder / "web"
    web.mkdir(parents=True)
    if (saves / "web" / "venv").is_dir():
        (web / "venv").symlink_to((saves / "web" / "venv").resolve())
    for site in SITES:
        pristine = saves / "web" / "sites" / site / f"pristine-{VERSION}"
        if pristine.is_dir():
            (web / "sites" / site).mkdir(parents=True)
            shutil.copytree(pristine, web / "sites" / site / pristine.name)
    return folder


def borrowable(saves: Path) -> bool:
    """Return whether everything that tests of the sites need is there."""
    return verified_python(saves) is not None and built("shop", saves) and built("forum", saves)


def built(site: str, saves: Path) -> bool:
    """Return whether the pristine data of a site are there."""
    return (saves / "web" / "sites" / site / f"pristine-{VERSION}").is_dir()

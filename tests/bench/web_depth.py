"""How deep the local tasks are, and which are hard to guess, computed from their scripted solutions.

    python -m tests.bench.web_depth --json depth.json [--sample 5 --seed 52]

The sites have to be up (`jitrl web up`). Depth is the least number of actions in a browser before the answer: a link
is one, a form one for each field that is changed and one to send it, a page that is more than two links away and not
the result of a form three, as a search takes to type, to send and to follow. A task is deep from three on.

It is hard to guess if no way over at most two links begins with a link or menu that shares a word with the task, though
others on that page do, and the site has no search that would find the page by its name. With `--sample N` it draws N
tasks of each kind of site, of the three sorts (easy, deep, hard to guess) in turns.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import urllib.parse
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from engine.errors import GameError
from engine.paths import saves_folder
from engine.web.sites.manager import Sites
from engine.web.states.words import stems
from engine.web.tasks.suites import WebTask, load, render
from tests.web.site_client import SiteClient
from tests.web.solving import LOGINS, solutions

DEEP = 3
"""Actions before the answer from which a task counts as deep."""
FAR = 3
"""Actions to a page that is more than two links away."""
UNSAFE = re.compile(r"log-?o(ut|ff)|delete|remove|/like|static/|\.(css|js|png|ico|svg|zip|gz)\b")
"""Addresses that are not opened, because opening them might change something, or because they are no pages."""
SEARCHED = frozenset({"q", "s", "search", "query"})
"""Names of fields for a search of the whole site."""
SORTS = ("easy", "deep", "hard")
KINDS = {"shopping": "shop", "shopping_admin": "admin", "gitlab": "code", "reddit": "forum", "map": "map"}
"""The paper's five kinds, by the site that a task begins on or is mainly about."""


class _Links(HTMLParser):
    """Collects links with their texts, those in menus that open by a click with the name of the menu."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[list[str]] = []
        """Address, text, and name of the menu or ""."""
        self.searches = False
        self._open = False
        self._menu, self._inside = "", 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if self._inside:
            self._inside += tag in ("div", "ul")
        elif "dropdown-menu" in given.get("class", "").split() and self.found:
            self._menu, self._inside = self.found[-1][1], 1
        if tag == "a" and given.get("href"):
            said = f"{given.get('title', '')} {given.get('aria-label', '')}"
            self.found.append([given["href"], said, self._menu if self._inside else ""])
            self._open = True
        elif tag == "img" and self._open:
            self.found[-1][1] += f" {given.get('alt', '')}"
        elif tag == "input" and given.get("name") in SEARCHED:
            self.searches = True

    def handle_endtag(self, tag: str) -> None:
        if tag == "a":
            self._open = False
        self._inside -= bool(self._inside) and tag in ("div", "ul")

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[-1][1] += f" {data}"


@dataclass(frozen=True)
class Way:
    """A way to a page: its actions, the words of the first one, and the words of the link to the page itself."""

    actions: int
    first: str
    last: str


class Walker:
    """Sites as somebody sees them who is logged in where the task is; pages are read once."""

    def __init__(self, task: WebTask, urls: dict[str, str]) -> None:
        self.client = SiteClient()
        if task.login:
            for site in task.sites:
                if site in LOGINS:
                    self.client.login(urls[site], LOGINS[site])
        self._hosts = {urllib.parse.urlsplit(url).netloc for url in urls.values()}
        self._pages: dict[str, dict[str, list[Way]]] = {}
        self._near: dict[str, dict[str, list[Way]]] = {}
        self.searches: dict[str, bool] = {}

    def links(self, url: str) -> dict[str, list[Way]]:
        """Return the ways from a page to those that it has links to, by address."""
        url = plain(url)
        if url not in self._pages:
            try:
                text = self.client.get(url)
            except GameError:
                text = ""
            parser = _Links()
            parser.feed(text)
            found: dict[str, list[Way]] = {}
            for href, said, menu in parser.found:
                whole = plain(urllib.parse.urljoin(self.client.url, href))
                if urllib.parse.urlsplit(whole).netloc in self._hosts and not UNSAFE.search(whole):
                    found.setdefault(whole, []).append(Way(1 + bool(menu), menu or said, said))
            self._pages[url], self.searches[url] = found, parser.searches
        return self._pages[url]

    def near(self, start: str) -> dict[str, list[Way]]:
        """Return the ways over at most two links, by the page that they lead to."""
        start = plain(start)
        if start not in self._near:
            found = {url: list(ways) for url, ways in self.links(start).items()}
            for ways, further in [(ways, self.links(url)) for url, ways in self.links(start).items()]:
                for target, more in further.items():
                    found.setdefault(target, []).extend(
                        Way(one.actions + two.actions, one.first, two.last) for one in ways for two in more
                    )
            self._near[start] = found
        return self._near[start]


def plain(url: str) -> str:
    """Return an address without its fragment and an empty query, with a path."""
    parts = urllib.parse.urlsplit(url)
    return urllib.parse.urlunsplit((parts.scheme, parts.netloc, parts.path or "/", parts.query, ""))


def measured(task: WebTask, steps: list[Any], urls: dict[str, str], walker: Walker) -> dict[str, Any]:
    """Return depth and hardness of a task."""
    starts = [plain(render(start, urls)) for start in task.start_urls]
    here, cost, hard = starts[-1], 0, False
    words = set(stems(task.intent))
    for step in steps:
        match step[0]:
            case "get" | "sum" | "least" | "total":
                given = [step[1]] if step[0] == "get" else step[2]
                for url in given.values() if isinstance(given, dict) else given:
                    target = plain(render(url, urls))
                    more, guess = _way(walker, starts, here, target, words)
                    cost, hard, here = cost + more, hard or guess, target
            case "submit":
                cost += len(step[1]) + 1
            case "follow":
                cost += 1
    return {"kind": kind(task), "actions": cost, "deep": cost >= DEEP, "hard": hard}


def _way(walker: Walker, starts: list[str], here: str, target: str, words: set[str]) -> tuple[int, bool]:
    """Return the least number of actions to a page, and whether the way to it is hard to guess."""
    if target in (here, *starts):
        return int(target != here), False
    if here not in starts and target in walker.links(here):
        return min(way.actions for way in walker.links(here)[target]), False
    for start in starts:
        ways = walker.near(start).get(target, [])
        if not ways:
            continue
        searched = walker.searches[start] and any(len(set(stems(way.last)) & words) > 1 for way in ways)
        named = any(set(stems(way.first)) & words for way in ways)
        others = any(set(stems(way.first)) & words for each in walker.links(start).values() for way in each)
        return min(way.actions for way in ways), others and not named and not searched
    query = urllib.parse.parse_qs(urllib.parse.urlsplit(target).query)
    return (1 + len(query) if query else FAR), False


def kind(task: WebTask) -> str:
    """Return the paper's name of the kind of site, "" for the encyclopedia."""
    return next((KINDS[site] for site in reversed(task.sites) if site in KINDS), "")


def sort(found: dict[str, Any]) -> str:
    """Return which sort a task is of."""
    return "hard" if found["hard"] else "deep" if found["deep"] else "easy"


def table(found: dict[str, dict[str, Any]]) -> str:
    """Return the counts by kind, in Markdown."""
    rows = ["| kind | tasks | actions, median | deep | hard to guess |", "|---|---|---|---|---|"]
    for name in ["all", *KINDS.values()]:
        mine = [each for each in found.values() if each["kind"] and name in ("all", each["kind"])]
        actions = sorted(each["actions"] for each in mine)
        rows.append(
            f"| {name} | {len(mine)} | {actions[len(actions) // 2] if actions else '-'} "
            f"| {sum(each['deep'] for each in mine)} | {sum(each['hard'] for each in mine)} |"
        )
    return "\n".join(rows)


def sample(found: dict[str, dict[str, Any]], count: int, seed: int) -> list[str]:
    """Return `count` tasks of each kind, one of each sort in turns as far as there are any."""
    drawn: list[str] = []
    for name in KINDS.values():
        rng = random.Random(f"{seed} {name}")
        pools = {s: sorted(t for t, each in found.items() if each["kind"] == name and sort(each) == s) for s in SORTS}
        for pool in pools.values():
            rng.shuffle(pool)
        mine: list[str] = []
        while len(mine) < count and any(pools.values()):
            for s in SORTS:
                if pools[s] and len(mine) < count:
                    mine.append(pools[s].pop())
        drawn += sorted(mine, key=lambda task: int(task.rpartition("-")[2]))
    return drawn


def main() -> int:
    """Measure all tasks and print the table; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--saves")
    parser.add_argument("--json", type=Path, help="what was found; if it is there, it is read and nothing is opened")
    parser.add_argument("--sample", type=int, default=0)
    parser.add_argument("--seed", type=int, default=52)
    args = parser.parse_args()
    if args.json and args.json.is_file():
        found = json.loads(args.json.read_text())
    else:
        saves, known, found = saves_folder(args.saves), solutions(), {}
        sites = Sites(saves)
        urls, walkers = sites.urls(), dict[str, Walker]()
        for task in load("local", saves):
            key = f"{task.sites} {task.login}"
            walker = walkers.setdefault(key, None) or Walker(task, urls)  # type: ignore[arg-type]
            walkers[key] = walker
            found[task.id] = measured(task, known[task.number]["right"], urls, walker)
            print(task.id, found[task.id], file=sys.stderr, flush=True)
        if args.json:
            args.json.write_text(json.dumps(found, indent=1))
    print(table(found))
    if args.sample:
        print(",".join(f"web:{name}" for name in sample(found, args.sample, args.seed)))
    return 0


if __name__ == "__main__":
    sys.exit(main())

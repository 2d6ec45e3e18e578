"""Reads all pages of a local site, and sends every form on them, as each person who may use it."""

from __future__ import annotations

import contextlib
import re
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from urllib.parse import parse_qsl, urldefrag, urljoin, urlsplit

from engine.errors import GameError
from engine.web.sites.site import Site
from tests.web.site_client import PageForm, SiteClient

_LINK = re.compile(r"""<a\b[^>]*?\bhref=["']([^"']+)""")
_NOISE = re.compile(
    r"""name=["']?csrf\w*["']?[^>]*|csrf_?token[^<;]+|nonce[-=]["']?[0-9a-f]+|(?<=name="created" content=)[^>]*"""
    r"""|(?<=captcha-audio/)\d+|name=["']?captchaseed["']?[^>]*|<pre class="captcha">.*?</pre>|Suggestion: \w+"""
    r"|[\d.]+s by|in about [\d.]+s|(?<=losing edits\?\) )\[\d+\]|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
    r"|\b\d+(?:\.\d+)? (?:second|minute|hour)s?\b|cap-[0-9a-f]+|name=.cs. value=.\d+|<!--[0-9A-F]{64}-->",
    re.IGNORECASE | re.DOTALL,
)
"""What differs between two answers of the same server: tokens against forgery, times, puzzles and suggestions."""
_LEAVES = re.compile(r"log-?out", re.IGNORECASE)
_RANDOM = re.compile(r"/(cookies|technoteedit|test-captcha|random)\b")
"""Pages of Fossil and Kiwix that are new each time."""


@dataclass
class Visit:
    """What somebody found on a site.

    Attributes:
        pages: The pages by path with query.
        forms: Path of the page and the form, for each form that is unlike those before.
    """

    pages: list[str] = field(default_factory=list)
    forms: list[tuple[str, PageForm]] = field(default_factory=list)


def people(site: Site, base: str) -> Iterator[SiteClient]:
    """Yield somebody who is not logged in, then each person who may log in."""
    yield SiteClient()
    for login in site.logins.values():
        client = SiteClient()
        client.login(base, login)
        yield client


def differences(one: SiteClient, base: str, other: SiteClient, other_base: str, paths: Iterable[str]) -> list[str]:
    """Return the paths at which two sites show two people different pages, with the first line that differs."""
    found = []
    for path in paths:
        for _ in range(3):  # a minute may end between the two answers
            ours, theirs = _read(one, base, path), _read(other, other_base, path)
            if ours == theirs:
                break
        else:
            lines = zip(ours.splitlines(), theirs.splitlines(), strict=False)
            found.append(
                f"{path}: {next((pair for pair in lines if pair[0] != pair[1]), (len(ours), len(theirs)))}"
            )
    return found


def _read(client: SiteClient, base: str, path: str) -> str:
    try:
        return _NOISE.sub("", client.get(base + path).replace(base.partition("//")[2], "HOST"))
    except GameError as error:
        return str(error).replace(base, "")


def visit(client: SiteClient, base: str, starts: tuple[str, ...] = ("/",), most: int = 10_000) -> Visit:
    """Follow all links from the start pages; of pages that differ only in numbers or in their query, three are read."""
    found, waiting, known = Visit(), deque(starts), set(starts)
    shapes: dict[str, int] = {}
    while waiting and len(found.pages) < most:
        path = waiting.popleft()
        with contextlib.suppress(GameError):
            text = client.get(base + path)
            found.pages.append(path)
            seen = {_like(form) for _, form in found.forms}
            found.forms += [(path, form) for form in client.forms() if _like(form) not in seen]
            for link in _LINK.findall(text):
                target = urldefrag(urljoin(client.url, link.replace("&amp;", "&"))).url
                path = target.removeprefix(base) or "/"
                if not target.startswith(base) or path in known or _LEAVES.search(path) or _RANDOM.match(path):
                    continue
                known.add(path)
                shape = _shape(path)
                shapes[shape] = shapes.get(shape, 0) + 1
                if shapes[shape] <= 3:
                    waiting.append(path)
    return found


def send_all(client: SiteClient, base: str, forms: list[tuple[str, PageForm]]) -> int:
    """Fill in and send every form; return how many the site took without an error."""
    taken = 0
    for path, form in forms:
        if _LEAVES.search(f"{form.action} {form.buttons}"):
            continue
        with contextlib.suppress(GameError):
            client.get(base + path)
            same = next((each for each in client.forms() if _like(each) == _like(form)), None)
            if same is None:
                continue
            filled = {name: _filled(name, value) for name, value in same.fields.items()}
            for button, value in [*same.buttons.items()][:3] or [("", "")]:
                client.post(same.action or client.url, {**filled, **({button: value} if button else {})})
                taken += client.entries[-1]["response"]["status"] < 400
    return taken


def _filled(name: str, value: str) -> str:
    if value or "csrf" in name:
        return value
    low = name.lower()
    return (
        "ana@quayside.example"
        if "mail" in low
        else "3"
        if re.search("score|quantity|num|price", low)
        else "Xylo"
    )


def _like(form: PageForm) -> tuple[str, str, tuple[str, ...]]:
    return form.method, _shape(form.action), tuple(sorted(form.fields))


def _shape(path: str) -> str:
    parts = urlsplit(path)
    keys = ",".join(sorted({key for key, _ in parse_qsl(parts.query, keep_blank_values=True)}))
    return re.sub(r"[0-9a-f]{10,}|\d+", "N", re.sub(r"/[\w-]+_\d+", "/SLUG", parts.path)) + "?" + keys

"""Regularised URLs: the site and the kind of page (App. E).

http://127.0.0.1:7770/catalogue/blue-kettle_12/?page=2&sort=price#top  ->  shopping/catalogue/SLUG?page&sort
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE)
_HEX = re.compile(r"(?=[0-9a-f]*\d)[0-9a-f]{7,64}", re.IGNORECASE)
_LONG = re.compile(r"(?=.*\d)(?=.*[a-z])(?=.*[A-Z])[\w+=-]{16,}|[A-Za-z0-9+_-]{18,}={1,2}")
_MIXED = re.compile(r"(?=[a-z]*\d+[a-z])(?=\d*[a-z]+\d)[a-z\d]{6,}", re.IGNORECASE)
"""Letters and digits in turns, as in short random keys: `80wt6r`. Words with a number at one end are none."""
_NUMBERED = re.compile(r"[^/]*[^\d/][_-]\d+")
_WORDS = re.compile(r"[^\W\d_]+(?:-[\w.]+){2,}")
_PAGE = re.compile(r"(.+)\.(html?|php|aspx?|do)", re.IGNORECASE)
_NAMED = frozenset({"miniwob"})
"""Sites whose page names are kept, even where they look like identifiers."""
STOP = frozenset({"filter"})
"""Path parts that begin a filter. What follows is the state of the page, not its kind."""


def site_of(url: str, sites: Mapping[str, str]) -> tuple[str, str]:
    """Return the site's name and the path below its base URL.

    Args:
        url: The URL.
        sites: Base URLs by name. The longest one that fits is used; if none fits, the site is `host:port`.
    """
    parts = urlsplit(url)
    best, rest = "", ""
    length = -1
    for name, base in sites.items():
        given = urlsplit(base)
        path = given.path.rstrip("/")
        inside = parts.path == path or parts.path.startswith(f"{path}/")
        if origin(base) == origin(url) and inside and len(path) > length:
            best, rest, length = name, parts.path[len(path) :], len(path)
    if length >= 0:
        return best, rest
    return (parts.netloc.lower() or parts.scheme), parts.path


def origin(url: str) -> tuple[str, str, int]:
    """Return scheme, host and port. A missing port is the scheme's default, an invalid port is -1."""
    parts = urlsplit(url)
    try:
        port = parts.port or {"http": 80, "https": 443}.get(parts.scheme.lower(), 0)
    except ValueError:
        port = -1
    return parts.scheme.lower(), (parts.hostname or "").lower(), port


def pattern(url: str, sites: Mapping[str, str]) -> str:
    """Return site and page pattern: identifiers become placeholders, of the query only the sorted keys are kept."""
    site, path = site_of(url, sites)
    shaped = []
    for part in filter(None, path.split("/")):
        part = unquote(part)
        if part.lower() in STOP:
            break
        shaped.append(part.lower() if site in _NAMED else _shape(part))
    keys = sorted({key for key, _ in parse_qsl(urlsplit(url).query, keep_blank_values=True)})
    return "/".join([site, *shaped]) + (f"?{'&'.join(keys)}" if keys else "")


def query_values(url: str) -> tuple[str, ...]:
    """Return the query as sorted `key=value` texts, which are part of the local state of the page."""
    return tuple(
        sorted(
            f"{key}={value}" for key, value in parse_qsl(urlsplit(url).query, keep_blank_values=True) if value
        )
    )


def _shape(part: str) -> str:
    if part.isdigit():
        return "ID"
    if any(kind.fullmatch(part) for kind in (_UUID, _HEX, _LONG, _MIXED)):
        return "HASH"
    page = _PAGE.fullmatch(part)
    if page and ("-" in page.group(1) or any(c.isdigit() for c in page.group(1))):
        return f"SLUG.{page.group(2).lower()}"
    if _NUMBERED.fullmatch(part) or _WORDS.fullmatch(part):
        return "SLUG"
    return part.lower()

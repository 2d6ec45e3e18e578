"""Limits a browser to allowed hosts, and records its requests as a minimal HAR."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from engine.redaction import REDACTED, without_credentials
from engine.web.browser.limits import LONGEST_ADDRESS, clipped
from engine.web.browser.url import origin
from engine.web.choices import SECRET

if TYPE_CHECKING:
    from playwright.async_api import Request, Route

INERT = frozenset({"about", "data", "blob"})
"""Schemes that send no request."""
NO_WEBRTC = tuple(
    f"--{name}=disable_non_proxied_udp" for name in ("webrtc-ip-handling-policy", "force-webrtc-ip-handling-policy")
)
"""Arguments that keep Chromium from sending UDP for WebRTC, to which the resolver rules do not apply.

Older versions know the second name."""
WITHOUT_WEBRTC = "for (const name of ['RTCPeerConnection', 'webkitRTCPeerConnection']) delete globalThis[name];"
"""Script for every frame that removes WebRTC, in case a browser knows neither argument."""
UNRECORDED = frozenset({"image", "media", "font", "stylesheet", "script", "manifest", "texttrack"})
LARGEST_BODY = 100_000
_LATEST = 253_402_300_799.0
"""The last second of the year 9999, after which there are no dates in HAR."""
MOST_ENTRIES = 2000
MOST_SENT = 8_000_000
"""Characters of addresses and bodies that are recorded in one episode."""
_PART = re.compile(
    r"(?P<head>\bname=\"(?P<name>[^\"]*)\"[^\r\n]*\r\n(?:[^\r\n]+\r\n)*\r\n)(?P<value>.*?)(?=\r\n--)", re.DOTALL
)
_HEADERS = frozenset({"content-type", "referer", "accept", "x-requested-with", "location", "content-length"})


@dataclass(slots=True)
class Gate:
    """Lets requests to the allowed hosts through; aborts and counts the others.

    Attributes:
        hosts: Allowed (host, port) pairs.
        blocked: Number of aborted requests.
        last: URL of the last aborted request, without its query.
        moved: Where the browser connects to instead of an allowed `host:port`. Pages do not see it.
    """

    hosts: frozenset[tuple[str, int]]
    blocked: int = 0
    last: str = ""
    moved: Mapping[str, str] = field(default_factory=dict)

    def allows(self, url: str) -> bool:
        """Whether a request to `url` is allowed."""
        scheme, host, port = origin(url)
        return scheme in INERT or (scheme in ("http", "https", "ws", "wss") and (host, port) in self.hosts)

    def count(self, url: str) -> None:
        """Count a request that was not allowed."""
        self.blocked += 1
        parts = urlsplit(url)
        self.last = without_credentials(f"{parts.scheme}://{parts.netloc}{parts.path}")[:200]

    async def route(self, route: Route) -> None:
        """Handle a request of the browser: continue or abort it."""
        from playwright.async_api import Error

        with contextlib.suppress(Error):  # The page may have been closed.
            if self.allows(route.request.url):
                await route.continue_()
            else:
                self.count(route.request.url)
                await route.abort("blockedbyclient")


def gate_for(urls: Iterable[str], hosts: Iterable[str] = (), moved: Mapping[str, str] | None = None) -> Gate:
    """Return a gate that allows the hosts of `urls` and the further `hosts`, given as `host:port`; see `Gate.moved`."""
    places = {origin(url)[1:] for url in urls}
    for host in hosts:
        places.add(origin(f"http://{host}")[1:])
    return Gate(frozenset((host, port) for host, port in places if host), moved=moved or {})


def resolver_rules(gate: Gate) -> str:
    """Return Chromium's resolver rules under which only the gate's hosts have an address.

    They are needed because redirects do not pass through the gate. The first rule that fits applies. Rules name
    ports, so other ports of an allowed host have no address either.
    """
    # IPv6 addresses are in brackets, both in URLs and in these rules.
    names = sorted(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in gate.hosts)
    return ", ".join([*(f"MAP {name} {gate.moved.get(name, name)}" for name in names), "MAP * ~NOTFOUND"])


@dataclass(slots=True)
class Traffic:
    """HAR entries of one episode, without static files, cookies and what is sent from boxes for secrets.

    Attributes:
        entries: The entries.
        fields: Names of the boxes for secrets that were seen on the pages.
        full: Whether a request was left out because there were too many of them, or too long ones.
    """

    entries: list[dict[str, Any]] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    full: bool = False
    sent: int = 0

    async def finished(self, request: Request) -> None:
        """Record a request that was answered."""
        if request.resource_type in UNRECORDED or not request.url.startswith(("http:", "https:")):
            return
        self.full = self.full or len(self.entries) >= MOST_ENTRIES or self.sent > MOST_SENT
        if self.full:
            return
        self.sent += min(len(request.url), LONGEST_ADDRESS) + min(len(request.post_data_buffer or b""), LARGEST_BODY)
        at = len(self.entries)
        entry: dict[str, Any] = {
            "startedDateTime": datetime.fromtimestamp(
                min(max(0.0, request.timing.get("startTime", 0.0) / 1000), _LATEST), UTC
            ).isoformat(),
            "time": 0,
            "_resourceType": request.resource_type,
            "request": _request(request, self.fields),
            "response": {"status": 0, "statusText": "", "httpVersion": "", "headers": [], "cookies": [],
                         "content": {"size": 0, "mimeType": ""}, "redirectURL": "", "headersSize": -1, "bodySize": -1},
            "cache": {}, "timings": {"send": 0, "wait": 0, "receive": 0},
        }  # fmt: skip
        self.entries.insert(at, entry)
        response = await request.response()
        if response is not None:
            headers = response.headers
            entry["response"] |= {
                "status": response.status,
                "headers": _kept(headers),
                "redirectURL": clipped(headers.get("location", ""), LONGEST_ADDRESS),
                "content": {"size": 0, "mimeType": headers.get("content-type", "")},
            }


def _request(request: Request, fields: Collection[str]) -> dict[str, Any]:
    headers, url = request.headers, clipped(request.url, LONGEST_ADDRESS)
    made: dict[str, Any] = {
        "method": request.method,
        "url": without_credentials(url),
        "httpVersion": "HTTP/1.1",
        "headers": _kept(headers),
        "cookies": [],
        "queryString": [
            {"name": k, "value": v} for k, v in parse_qsl(urlsplit(url).query, keep_blank_values=True)
        ],
        "headersSize": -1,
        "bodySize": -1,
    }
    body = request.post_data_buffer
    if body:
        kind = headers.get("content-type", "")
        text = body[:LARGEST_BODY].decode("utf-8", "replace")
        text = without_fields(text, kind, fields)
        if "urlencoded" in kind:
            made["postData"] = {
                "mimeType": kind,
                "text": text,
                "params": [{"name": k, "value": v} for k, v in parse_qsl(text, keep_blank_values=True)],
            }
        else:
            made["postData"] = {"mimeType": kind, "text": text, "params": []}
    return made


def without_fields(body: str, kind: str, fields: Collection[str]) -> str:
    """Return the body of a request without the values of fields for secrets.

    Args:
        body: A form as it was sent, or JSON; anything else is returned as it is.
        kind: Its content type.
        fields: Names of such fields, besides those whose names say it.
    """

    def secret(name: str) -> bool:
        return name in fields or bool(SECRET.search(name) and "csrf" not in name.lower())

    def blank(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: REDACTED if secret(k) and v else blank(v) for k, v in value.items()}
        return [blank(each) for each in value] if isinstance(value, list) else value

    if "urlencoded" in kind:
        pairs = parse_qsl(body, keep_blank_values=True)
        return urlencode([(k, REDACTED if secret(k) else v) for k, v in pairs])
    if "multipart" in kind:
        return _PART.sub(lambda m: m["head"] + REDACTED if secret(m["name"]) else m[0], body)
    if "json" in kind:
        with contextlib.suppress(ValueError, RecursionError):
            given = json.loads(body)
            made = blank(given)
            return body if made == given else json.dumps(made)
    return body


def _kept(headers: dict[str, str]) -> list[dict[str, str]]:
    return [
        {"name": name, "value": clipped(value, LONGEST_ADDRESS)}
        for name, value in headers.items()
        if name.lower() in _HEADERS
    ]


def as_har(entries: list[dict[str, Any]]) -> dict[str, Any]:
    """Return entries as the contents of a HAR file."""
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "jitrl", "version": "1"},
            "pages": [],
            "entries": entries,
        }
    }

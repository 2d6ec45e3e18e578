"""The pages of the map as HTML: everything but the drawing works without scripts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

from engine.web.sites.map_site.routes import MapRoute
from engine.web.sites.map_site.search import MapPlace

TITLE = "Varland Map"
ENGINES = {"car": "Car", "bicycle": "Bicycle", "foot": "Foot"}
WHOLE = ((47.0, -31.0), (48.08, -28.78))
"""South-west and north-east corner of the country."""


def page(title: str, content: str, view: Mapping[str, Any] | None = None, query: str = "") -> str:
    """Return a whole page: the search box, `content` beside the map, and what the map shows (`view`)."""
    data = json.dumps(dict(view or {"fit": WHOLE})).replace("<", "\\u003c")
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)} | {TITLE}</title>
<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">
<link rel="stylesheet" href="/leaflet/leaflet.css"><link rel="stylesheet" href="/static/map.css"></head>
<body><header><a class="brand" href="/">{TITLE}</a>
<form action="/search" role="search"><input type="search" name="query" aria-label="Search" placeholder="Search"
 value="{escape(query)}"><button>Go</button></form>
<button type="button" id="where" title="Show the address of the map's centre">Where is this?</button>
<a href="/directions">Find directions</a></header>
<main><section id="sidebar" aria-label="Results">{content}</section>
<section id="side" aria-label="Map"><div id="map"></div><div id="bar"></div><p id="state" role="status"></p>
<ul id="menu" aria-label="Menu of this point" hidden></ul></section></main>
<script type="application/json" id="view">{data}</script>
<script src="/leaflet/leaflet.js"></script><script src="/static/map.js"></script></body></html>
"""


def home() -> str:
    """Return the first page."""
    return page("Welcome", (
        "<h2>Welcome</h2><p>A map of Varland: its towns, streets, houses and places of interest.</p>"
        "<ul><li>Search for a name, an address, a sort of place (<i>cafes in Harwick</i>), what is near something "
        "(<i>pharmacy near Harwick Station</i>), or coordinates.</li>"
        "<li>Find directions by car, by bicycle or on foot.</li>"
        "<li>Right-click the map for what is there.</li></ul>"
    ))  # fmt: skip


def results(query: str, found: Sequence[MapPlace], start: int, more: bool) -> str:
    """Return the page with what a search found."""
    content = "<h2>Search Results</h2>"
    if not found:
        content += "<p>No results found.</p>"
    content += _listed(found, start + 1)
    if more:
        rest = urlencode({"query": query, "start": start + len(found)})
        content += f'<p><a href="/search?{rest}">More results</a></p>'
    return page(query or "Search", content, _around(found), query)


def here(lat: float, lon: float, address: Sequence[MapPlace], features: Sequence[MapPlace]) -> str:
    """Return the page of a point: its address, and the places of interest around it."""
    content = f"<h2>{lat:.5f}, {lon:.5f}</h2><h3>Address</h3>{_listed(address)}<h3>Nearby</h3>"
    content += _listed(features) if features else "<p>No place of interest is near.</p>"
    return page(f"{lat:.5f}, {lon:.5f}", content, {"points": [[lat, lon, ""]]})


def place(found: MapPlace) -> str:
    """Return the page of one place."""
    name = found.name or found.address
    there = f"{found.lat:.5f}, {found.lon:.5f}"
    rows = [("Kind", found.kind), ("Address", found.address), ("Location", there)]
    facts = "".join(f"<tr><th>{key}</th><td>{escape(value)}</td></tr>" for key, value in rows if value)
    tags = "".join(f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in found.tags.items())
    mine = urlencode({"from": found.label, "to": ""}), urlencode({"from": "", "to": found.label})
    return page(name, (
        f"<h2>{escape(name)}</h2><table aria-label='Place'>{facts}</table>"
        f"<h3>Tags</h3><table aria-label='Tags'>{tags}</table>"
        f'<ul><li><a href="/directions?{mine[0]}">Directions from here</a></li>'
        f'<li><a href="/directions?{mine[1]}">Directions to here</a></li>'
        f'<li><a href="/query?lat={found.lat:.5f}&lon={found.lon:.5f}">What is near?</a></li></ul>'
    ), _around([found]))  # fmt: skip


def directions(
    engine: str, start: str, end: str, ends: Sequence[MapPlace | None] = (), route: MapRoute | None = None,
    note: str = "",
) -> str:
    """Return the page for directions: the form, and the route or why there is none."""
    options = "".join(
        f'<option value="{key}"{" selected" * (key == engine)}>{word}</option>' for key, word in ENGINES.items()
    )
    turned = urlencode({"engine": engine, "from": end, "to": start})
    content = (
        '<h2>Directions</h2><form action="/directions">'
        f'<select name="engine" aria-label="Travel by">{options}</select>'
        f'<input name="from" aria-label="From" placeholder="From" value="{escape(start)}">'
        f'<input name="to" aria-label="To" placeholder="To" value="{escape(end)}">'
        "<button>Get directions</button></form>"
        f'<p><a href="/directions?{turned}">Reverse directions</a></p>'
    )
    view: dict[str, Any] = {}
    if note:
        content += f'<p role="alert">{escape(note)}</p>'
    if route is not None:
        named = [f"<a href='{one.path}'>{escape(one.label)}</a>" for one in ends if one is not None]
        content += (
            f"<p>From: {named[0]}<br>To: {named[1]}</p>"
            f"<p>Distance: {length(route.metres)}<br>Time: {duration(route.minutes)}</p><ol aria-label='Route'>"
            + "".join(
                f"<li>{escape(step.text)}{f' ({length(step.metres)})' if step.metres else ''}</li>"
                for step in route.steps
            )
            + "</ol>"
        )
        view = {"line": route.line, "points": [[*one.spot, ""] for one in ends if one is not None]}
    return page("Directions", content, view)


def length(metres: float) -> str:
    """Return a length as people say it, such as "350 m" or "2.4 km"."""
    return f"{round(metres, -1):.0f} m" if metres < 995 else f"{metres / 1000:.1f} km"


def duration(minutes: float) -> str:
    """Return a time as people say it, such as "1 h 5 min"."""
    whole = max(1, round(minutes))
    return f"{whole // 60} h {whole % 60} min" if whole >= 60 else f"{whole} min"


def _listed(found: Iterable[MapPlace], start: int = 1) -> str:
    rows = "".join(f'<li>{one.kind} <a href="{one.path}">{escape(one.label)}</a></li>' for one in found)
    return f'<ol start="{start}">{rows}</ol>' if rows else ""


def _around(found: Sequence[MapPlace]) -> dict[str, Any]:
    return {"points": [[*one.spot, one.kind] for one in found]}

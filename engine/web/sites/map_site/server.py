"""Serves the map: `python -m engine.web.sites.map_site.server FOLDER PORT LEAFLET`, on the loopback only."""

from __future__ import annotations

import functools
import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from engine.errors import GameError
from engine.web.sites.map_site import pages, routes, tiles
from engine.web.sites.map_site.search import Index
from engine.web.sites.map_site.store import FILE

STATIC = Path(__file__).with_name("static")
TYPES = {".js": "text/javascript", ".css": "text/css", ".png": "image/png"}
LONGEST = 300
"""Characters of a query."""


class MapData:
    """What the pages show, from the data in one folder."""

    def __init__(self, folder: Path, leaflet: Path) -> None:
        self._folder = folder
        self._leaflet = leaflet
        self._threads = threading.local()
        self._route = functools.lru_cache(maxsize=256)(functools.partial(routes.find, folder))
        self._tile = functools.lru_cache(maxsize=1024)(self._drawn)

    def answer(self, path: str, query: dict[str, str]) -> tuple[int, str, bytes]:
        """Return status, type and content for a request."""
        parts = [part for part in path.split("/") if part]
        try:
            if not parts:
                return _html(pages.home())
            if parts == ["search"]:
                return self._search(query)
            if parts == ["directions"]:
                return self._directions(query)
            if parts == ["query"]:
                lat, lon = float(query["lat"]), float(query["lon"])
                return _html(pages.here(lat, lon, self._index.around(lat, lon), self._index.features(lat, lon)))
            if parts[0] in ("node", "way") and (found := self._index.get(parts[0], int(parts[1]))) is not None:
                return _html(pages.place(found))
            if parts[0] == "tiles":
                return 200, "application/json", self._tile(*map(int, parts[1:4]))
            if parts[0] in ("static", "leaflet"):
                return self._file(parts)
        except (KeyError, ValueError, IndexError, OverflowError):
            pass
        return _html(pages.page("Not found", "<h2>Not found</h2><p>There is no such page.</p>"), 404)

    @property
    def _index(self) -> Index:
        if not hasattr(self._threads, "index"):
            self._threads.index = Index(self._folder / FILE)
        index: Index = self._threads.index
        return index

    def _search(self, query: dict[str, str]) -> tuple[int, str, bytes]:
        words, start = query.get("query", "")[:LONGEST], max(0, int(query.get("start", "0")))
        found, more = self._index.find(words, start)
        return _html(pages.results(words, found, start, more))

    def _directions(self, query: dict[str, str]) -> tuple[int, str, bytes]:
        engine = query.get("engine", "car")
        start, end = (query.get(key, "").strip()[:LONGEST] for key in ("from", "to"))
        if engine not in routes.MODES or not start or not end:
            note = "" if not start and not end else "Say where the route begins and where it ends."
            return _html(pages.directions(engine, start, end, note=note))
        ends = [self._index.first(each) for each in (start, end)]
        for words, one in zip((start, end), ends, strict=True):
            if one is None:
                return _html(pages.directions(engine, start, end, note=f"There is no place “{words}” on this map."))
        try:
            route = self._route(engine, *(one.spot for one in ends if one is not None))
        except GameError as error:
            return _html(pages.directions(engine, start, end, note=str(error)), 500)
        note = "" if route else "There is no such route between these two places."
        return _html(pages.directions(engine, start, end, ends, route, note))

    def _drawn(self, zoom: int, x: int, y: int) -> bytes:
        if zoom not in tiles.ZOOMS:
            raise ValueError(zoom)
        return json.dumps(tiles.tile(self._index, zoom, x, y), separators=(",", ":")).encode()

    def _file(self, parts: list[str]) -> tuple[int, str, bytes]:
        root = (STATIC if parts[0] == "static" else self._leaflet).resolve()
        file = root.joinpath(*parts[1:]).resolve()
        if not file.is_relative_to(root) or not file.is_file():
            raise KeyError(parts)
        return 200, TYPES.get(file.suffix, "application/octet-stream"), file.read_bytes()


def _html(text: str, status: int = 200) -> tuple[int, str, bytes]:
    return status, "text/html; charset=utf-8", text.encode()


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # the body does not wait until the head has been taken
    map: MapData

    def do_GET(self) -> None:
        """Answer a request."""
        asked = urlsplit(self.path)
        given = {key: values[-1] for key, values in parse_qs(asked.query).items()}
        status, kind, content = self.map.answer(asked.path, given)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        if not kind.startswith("text/html"):
            self.send_header("Cache-Control", "max-age=3600")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *values: object) -> None:
        """Log nothing: the record of a session has its requests."""


def main(folder: str, port: str, leaflet: str) -> None:
    """Serve until the process is ended."""
    Handler.map = MapData(Path(folder), Path(leaflet))
    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:4])

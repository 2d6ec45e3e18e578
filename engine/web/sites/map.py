"""A map of the encyclopedia's country, drawn by Leaflet, with routes by Routino."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine import children
from engine.web.sites.map_site import country, routes, store
from engine.web.sites.site import ServerCommand, Site

LEAFLET = Path("/usr/share/javascript/leaflet")
"""Where Debian's package puts it."""


class Map(Site):
    """The map. Its pages change nothing, so there is nothing to reset."""

    name = "map"
    title = "map (Leaflet and Routino)"
    port = 3030
    keys: Mapping[str, str] = {"map": ""}
    build_s = 10

    def missing(self, saves: Path) -> str:
        """Return a sentence if Routino or Leaflet are missing, else ""."""
        if not children.program("routino-router") or not children.program("planetsplitter"):
            return "the routino programs are not here; get them with: apt install routino libjs-leaflet"
        if not (LEAFLET / "leaflet.js").is_file():
            return "Leaflet is not here; get it with: apt install libjs-leaflet"
        return ""

    def build(self, folder: Path, saves: Path) -> None:
        """Make the country, and from it the databases for search, drawing and routes.

        Raises:
            GameError: Routino failed.
        """
        extract = country.make()
        store.build(extract, folder / store.FILE)
        with tempfile.TemporaryDirectory() as scratch:
            file = Path(scratch) / "varland.osm"
            extract.write(file)
            routes.build(file, folder)

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves the map on the loopback."""
        argv = children.python("-m", "engine.web.sites.map_site.server", str(live), str(port), str(LEAFLET))
        return ServerCommand(tuple(argv))

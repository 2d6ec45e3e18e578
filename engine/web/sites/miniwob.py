"""MiniWoB++: small pages with one task each, served as files from the package `miniwob`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

from engine import children
from engine.web.sites.site import ServerCommand, Site, venv_python


class MiniWob(Site):
    """MiniWoB++. Its pages keep no state after a visit, so there is nothing to reset."""

    name = "miniwob"
    title = "MiniWoB++"
    port = 7790
    keys: Mapping[str, str] = {"miniwob": "/miniwob"}
    health = "/miniwob/click-button.html"

    def missing(self, saves: Path) -> str:
        """Return a sentence if the package is not installed, else ""."""
        return (
            ""
            if pages_folder(saves)
            else "the miniwob package is not here; get it with: jitrl web up --install"
        )

    def build(self, folder: Path, saves: Path) -> None:
        """Do nothing: the pages are served from the package."""

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves the package's folder on the loopback."""
        pages = pages_folder(saves)
        assert pages is not None
        argv = ("-I", "-m", "http.server", str(port), "--bind", "127.0.0.1", "--directory", str(pages))
        return ServerCommand(tuple(children.python(*argv)))


def pages_folder(saves: Path | None) -> Path | None:
    """Return the folder with the pages (in `miniwob/*.html`), None if the package is not installed."""
    folders = [Path(entry) for entry in sys.path if entry]
    if saves is not None:
        folders += sorted((venv_python(saves).parent.parent / "lib").glob("python3*/site-packages"))
    for folder in folders:
        if (folder / "miniwob" / "html" / "miniwob" / "click-button.html").is_file():
            return folder / "miniwob" / "html"
    return None

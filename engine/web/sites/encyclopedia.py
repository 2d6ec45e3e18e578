"""An encyclopedia: a ZIM archive with data of this project, served read-only by kiwix-serve."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites import encyclopedia_data as data
from engine.web.sites.site import ServerCommand, Site, venv_python

FILE = "varland.zim"
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds


class Encyclopedia(Site):
    """The encyclopedia."""

    name = "encyclopedia"
    title = "encyclopedia (Kiwix)"
    port = 8888
    keys: Mapping[str, str] = {"wikipedia": ""}
    packages: tuple[str, ...] = ("libzim==3.13.1",)
    build_s = 2

    def missing(self, saves: Path) -> str:
        """Return a sentence if kiwix-serve or the packages for making the archive are missing, else ""."""
        if not children.program("kiwix-serve"):
            return "the kiwix-serve program is not here; get it with: apt install kiwix-tools"
        python = venv_python(saves)
        if not any((python.parent.parent / "lib").glob("python3*/site-packages/libzim*")):
            return "the encyclopedia's packages are not here; get them with: jitrl web up encyclopedia --install"
        return ""

    def build(self, folder: Path, saves: Path) -> None:
        """Write the archive.

        Raises:
            GameError: Writing it failed.
        """
        pages = [
            {"path": page.path, "title": page.title, "html": _html(page)} for page in data.articles()
        ]  # fmt: skip
        script = Path(__file__).with_name("zim_make.py")
        done = children.run(
            "making the encyclopedia", [str(venv_python(saves)), "-I", str(script), str(folder / FILE), data.TITLE],
            children.environment(), input=json.dumps(pages).encode(), capture_output=True, timeout=BUILD_TIMEOUT_S,
            cwd=folder,
        )  # fmt: skip
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise GameError(
                f"the encyclopedia could not be made: {lines[-1] if lines else 'there was no output'}"
            )

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves the archive on the loopback."""
        return ServerCommand(("kiwix-serve", "-i", "127.0.0.1", "-p", str(port), str(live / FILE)))


def _html(page: data.Article) -> str:
    return (
        f'<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>{page.title}</title></head>'
        f"<body><h1>{page.title}</h1>{page.body}</body></html>"
    )

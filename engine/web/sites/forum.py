"""The forum: Spirit, run in the sites' own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites import forum_data as data
from engine.web.sites.site import Command, Login, venv_python

CODE = Path(__file__).with_name("forum_site")
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds


class Forum:
    """The forum; a `Site`."""

    name = "forum"
    title = "forum (Spirit)"
    port = 9999
    keys: Mapping[str, str] = {"reddit": ""}
    logins: Mapping[str, Login] = {
        "reddit": Login(
            "/user/login/", {"username": data.AGENT, "password": data.PASSWORD},
            {"Username": data.AGENT, "Password": data.PASSWORD}, "",
        )
    }  # fmt: skip
    health = "/user/login/"
    packages: tuple[str, ...] = ("django-spirit==0.14.3", "whoosh==2.7.4")
    build_s = 20
    database = "forum.sqlite3"

    def missing(self, saves: Path) -> str:
        """Return a sentence if Spirit is not installed in the sites' environment, else ""."""
        python = venv_python(saves)
        if any((python.parent.parent / "lib").glob("python3*/site-packages/spirit")):
            return ""
        return "the forum's packages are not here; get them with: jitrl web up forum --install"

    def build(self, folder: Path, saves: Path) -> None:
        """Create the database and the search index.

        Raises:
            GameError: Creating them failed.
        """
        done = children.run(
            "making the forum", [str(venv_python(saves)), "-P", str(CODE / "forum_seed.py")],
            children.environment(_environment(folder)), cwd=folder, capture_output=True, timeout=BUILD_TIMEOUT_S,
            input=json.dumps(asdict(data.board())).encode(),
        )  # fmt: skip
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            raise GameError(f"the forum's data could not be made: {lines[-1] if lines else 'there was no output'}")

    def command(self, live: Path, port: int, saves: Path) -> Command:
        """Return the command that serves the forum on the loopback. Django opens its files again for every request."""
        argv = ("-P", "-m", "django", "runserver", "--noreload", "--insecure", "--skip-checks", f"127.0.0.1:{port}")
        return Command((str(venv_python(saves)), *argv), _environment(live))


def _environment(folder: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(CODE), "DJANGO_SETTINGS_MODULE": "forum_settings", "PYTHONDONTWRITEBYTECODE": "1",
        "JITRL_FORUM_DATA": str(folder),
    }  # fmt: skip

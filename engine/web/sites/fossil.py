"""A site with tickets, wiki and code: a repository served by Fossil."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites import fossil_data as data
from engine.web.sites.site import Login, ServerCommand

FILE = "larder.fossil"
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds


class Fossil:
    """The tickets, wiki and code site; a `Site`."""

    name = "fossil"
    title = "tickets, wiki and code (Fossil)"
    port = 7800
    keys: Mapping[str, str] = {"gitlab": ""}
    logins: Mapping[str, Login] = {
        "gitlab": Login(
            "/login", {"u": data.AGENT[0], "p": data.AGENT[1]},
            {"User ID:": data.AGENT[0], "Password:": data.AGENT[1]}, "Login",
        )
    }  # fmt: skip
    health = "/wiki?name=Setup"
    packages: tuple[str, ...] = ()
    build_s = 2
    database = FILE

    def missing(self, saves: Path) -> str:
        """Return a sentence if the `fossil` program is missing, else ""."""
        if children.program("fossil"):
            return ""
        return "the fossil program is not here; get it with: apt install fossil"

    def build(self, folder: Path, saves: Path) -> None:
        """Build the repository from its artifacts.

        Raises:
            GameError: Fossil failed.
        """
        with tempfile.TemporaryDirectory() as scratch:
            parts = Path(scratch) / "artifacts"
            for content in data.artifacts():
                # Fossil derives the hash policy from the names of these files.
                name = data.name_of(content)
                (parts / name[:2]).mkdir(parents=True, exist_ok=True)
                (parts / name[:2] / name[2:]).write_bytes(content)
            file = folder / FILE
            home = Path(scratch)
            _fossil(home, "reconstruct", str(file), str(parts))
            where = ("-R", str(file))
            for user, contact in data.PEOPLE.items():
                if user != "mara":  # `reconstruct` creates this user, with the name from the environment.
                    _fossil(home, "user", "new", user, contact, f"{user}-pass", *where)
                _fossil(home, "user", "capabilities", user, "v", *where)
            _fossil(home, "user", "password", "mara", "mara-pass", *where)
            _fossil(home, "user", "capabilities", "mara", "s", *where)
            _fossil(home, "user", "new", data.AGENT[0], "Worker", data.AGENT[1], *where)
            _fossil(home, "user", "capabilities", data.AGENT[0], "cefghijklmnoprtuvwz2345", *where)
            _fossil(home, "sql", *where, _settings())

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves the repository on the loopback. Fossil opens it again for every request."""
        return ServerCommand(
            ("fossil", "server", str(live / FILE), "--port", str(port), "--localhost"), {"USER": "mara"}
        )


def _settings() -> str:
    values = {
        "project-name": data.PROJECT, "project-description": data.DESCRIPTION, "index-page": "/wiki?name=Home",
        "short-project-name": data.PROJECT.lower(), "auto-captcha": "0", "localauth": "0",
    }  # fmt: skip
    quoted = ((key, value.replace("'", "''")) for key, value in values.items())
    rows = ", ".join(f"('{key}', '{value}', 1)" for key, value in quoted)
    return f"REPLACE INTO config(name, value, mtime) VALUES {rows};"


def _fossil(home: Path, *arguments: str) -> None:
    # Its own home folder: Fossil writes a list of repositories there, and must not change the user's.
    variables = children.environment({"HOME": str(home), "USER": "mara"})
    done = children.run(
        "fossil", ["fossil", *arguments], variables, cwd=home, capture_output=True, timeout=BUILD_TIMEOUT_S
    )
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip().splitlines()
        raise GameError(f"fossil {arguments[0]} failed: {said[-1] if said else 'there was no output'}")

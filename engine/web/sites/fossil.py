"""A site with tickets, wiki and code: several projects, each a repository, served by Fossil.

The projects are a login group: who logs in to one is known in all.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites import fossil_data as data
from engine.web.sites.fossil_projects import PROJECTS, Project, code_of
from engine.web.sites.site import Login, ServerCommand, Site

FILE = f"{data.PROJECT.lower()}.fossil"
GROUP = "Kitchen"
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds


class Fossil(Site):
    """The tickets, wiki and code site."""

    name = "fossil"
    title = "tickets, wiki and code (Fossil)"
    port = 7800
    keys: Mapping[str, str] = {"gitlab": ""}
    logins: Mapping[str, Login] = {
        "gitlab": Login(
            "/larder/login", {"u": data.AGENT[0], "p": data.AGENT[1]},
            {"User ID:": data.AGENT[0], "Password:": data.AGENT[1]}, "Login",
        )
    }  # fmt: skip
    health = "/larder/wiki?name=Setup"
    build_s = 3
    database = FILE

    def missing(self, saves: Path) -> str:
        """Return a sentence if the `fossil` program is missing, else ""."""
        if children.program("fossil"):
            return ""
        return "the fossil program is not here; get it with: apt install fossil"

    def build(self, folder: Path, saves: Path) -> None:
        """Build the repositories from their artifacts.

        Raises:
            GameError: Fossil failed.
        """
        for project in PROJECTS:
            with tempfile.TemporaryDirectory() as scratch:
                _build(project, folder / f"{project.key}.fossil", Path(scratch))

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves the repositories on the loopback. Fossil opens them for every request."""
        return ServerCommand(
            ("fossil", "server", str(live), "--repolist", "--port", str(port), "--localhost"), {"USER": "mara"}
        )


def _build(project: Project, file: Path, home: Path) -> None:
    parts = home / "artifacts"
    for content in project.artifacts():
        # Fossil derives the hash policy from the names of these files.
        name = data.name_of(content)
        (parts / name[:2]).mkdir(parents=True, exist_ok=True)
        (parts / name[:2] / name[2:]).write_bytes(content)
    _fossil(home, "reconstruct", str(file), str(parts))
    where = ("-R", str(file))
    _fossil(home, "sql", *where, _settings(project))  # Before the users: passwords depend on the project's code.
    for user, rights in project.members.items():
        contact, password = data.PEOPLE.get(user, "Worker"), f"{user}-pass"
        if user == "mara":  # `reconstruct` creates this user, with the name from the environment.
            _fossil(home, "user", "password", user, password, *where)
        else:
            _fossil(home, "user", "new", user, contact, password, *where)
        _fossil(home, "user", "capabilities", user, rights, *where)


def _settings(project: Project) -> str:
    values = {
        "project-name": project.name, "project-description": project.description, "index-page": "/wiki?name=Home",
        "short-project-name": project.key, "auto-captcha": "0", "localauth": "0",
        "project-code": code_of(project.key), "login-group-name": GROUP, "login-group-code": code_of(GROUP),
    }  # fmt: skip
    for other in PROJECTS:  # Paths are relative: Fossil runs in the folder that has them all.
        values[f"peer-repo-{code_of(other.key)[:16]}"] = f"{other.key}.fossil"
        values[f"peer-name-{code_of(other.key)[:16]}"] = other.name
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

"""The local sites that are programs of Django, run in the sites' own environment: shop (Oscar), forum (Spirit)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites import forum_data
from engine.web.sites.site import Login, ServerCommand, Site, venv_python

SHOPPER = ("anna.meyer@quayside.example", "anna-pass")
ADMIN = ("admin@quayside.example", "admin-pass")
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds


class DjangoSite(Site):
    """A site that Django serves, in the sites' own environment.

    Attributes:
        name: Its name. The module NAME_settings has its settings, NAME_seed makes its data, and the variable
            JITRL_NAME_DATA names the folder of its data.
        module: Its Python package, as the folder in site-packages is called.
        code: The folder with these two modules.
    """

    module: str
    code: Path

    def missing(self, saves: Path) -> str:
        """Return a sentence if its packages are not in the sites' environment, else ""."""
        if any((venv_python(saves).parent.parent / "lib").glob(f"python3*/site-packages/{self.module}")):
            return ""
        return f"the {self.name}'s packages are not here; get them with: jitrl web up {self.name} --install"

    def build(self, folder: Path, saves: Path) -> None:
        """Create the database and the search index.

        Raises:
            GameError: Creating them failed.
        """
        done = children.run(
            f"making the {self.name}", [str(venv_python(saves)), "-P", str(self.code / f"{self.name}_seed.py")],
            children.environment(self._environment(folder)), cwd=folder, capture_output=True,
            timeout=BUILD_TIMEOUT_S, input=self.seed(),
        )  # fmt: skip
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip().splitlines()
            raise GameError(
                f"the {self.name}'s data could not be made: {said[-1] if said else 'there was no output'}"
            )

    def seed(self) -> bytes:
        """Return what NAME_seed reads from its standard input."""
        return b""

    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves it on the loopback. Django opens its files again for every request."""
        argv = ("-P", "-m", "django", "runserver", "--noreload", "--insecure", "--skip-checks", f"127.0.0.1:{port}")
        return ServerCommand((str(venv_python(saves)), *argv), self._environment(live))

    def _environment(self, folder: Path) -> dict[str, str]:
        return {
            "PYTHONPATH": str(self.code), "DJANGO_SETTINGS_MODULE": f"{self.name}_settings",
            "PYTHONDONTWRITEBYTECODE": "1", f"JITRL_{self.name.upper()}_DATA": str(folder),
        }  # fmt: skip


class Shop(DjangoSite):
    """The shop and its dashboard."""

    name = "shop"
    title = "shop and its dashboard (Oscar)"
    port = 7770
    keys: Mapping[str, str] = {"shopping": "", "shopping_admin": "/dashboard"}
    logins: Mapping[str, Login] = {
        "shopping": Login(
            "/accounts/login/", {"login-username": SHOPPER[0], "login-password": SHOPPER[1]},
            {"Email address": SHOPPER[0], "Password": SHOPPER[1]}, "login_submit",
        ),
        "shopping_admin": Login(
            "/dashboard/login/", {"username": ADMIN[0], "password": ADMIN[1]},
            {"Username": ADMIN[0], "Password": ADMIN[1]}, "",
        ),
    }  # fmt: skip
    health = "/accounts/login/"
    packages: tuple[str, ...] = ("django-oscar[sorl-thumbnail]==4.2.1", "django-haystack==3.4.0", "whoosh==2.7.4")
    build_s = 60
    database = "shop.sqlite3"

    module = "oscar"
    code = Path(__file__).with_name("oscar_site")


class Forum(DjangoSite):
    """The forum."""

    name = "forum"
    title = "forum (Spirit)"
    port = 9999
    keys: Mapping[str, str] = {"reddit": ""}
    logins: Mapping[str, Login] = {
        "reddit": Login(
            "/user/login/", {"username": forum_data.AGENT, "password": forum_data.PASSWORD},
            {"Username": forum_data.AGENT, "Password": forum_data.PASSWORD}, "",
        )
    }  # fmt: skip
    health = "/user/login/"
    packages: tuple[str, ...] = ("django-spirit==0.14.3", "whoosh==2.7.4")
    build_s = 20
    database = "forum.sqlite3"

    module = "spirit"
    code = Path(__file__).with_name("forum_site")

    def seed(self) -> bytes:
        """Return forums, people, topics and replies."""
        return json.dumps(asdict(forum_data.forum_content())).encode()

"""The shop and its dashboard: django-oscar, run in the sites' own environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites.site import Command, Login, venv_python

CODE = Path(__file__).with_name("oscar_site")
BUILD_TIMEOUT_S = waits.SITE_BUILD.seconds
SHOPPER = ("anna.meyer@quayside.example", "anna-pass")
ADMIN = ("admin@quayside.example", "admin-pass")


class Shop:
    """The shop and its dashboard; a `Site`."""

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
    health = "/catalogue/"
    packages: tuple[str, ...] = ("django-oscar[sorl-thumbnail]==4.2.1", "django-haystack==3.4.0", "whoosh==2.7.4")
    build_s = 60
    database = "shop.sqlite3"

    def missing(self, saves: Path) -> str:
        """Return a sentence if Oscar is not installed in the sites' environment, else ""."""
        python = venv_python(saves)
        if any((python.parent.parent / "lib").glob("python3*/site-packages/oscar")):
            return ""
        return "the shop's packages are not here; get them with: jitrl web up shop --install"

    def build(self, folder: Path, saves: Path) -> None:
        """Create the database and the search index; this takes about a minute.

        Raises:
            GameError: Creating them failed.
        """
        _run(saves, folder, str(CODE / "shop_seed.py"))

    def command(self, live: Path, port: int, saves: Path) -> Command:
        """Return the command that serves the shop on the loopback. Django opens its files again for every request."""
        argv = ("-P", "-m", "django", "runserver", "--noreload", "--insecure", "--skip-checks", f"127.0.0.1:{port}")
        return Command((str(venv_python(saves)), *argv), _environment(live))


def _environment(data: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(CODE), "DJANGO_SETTINGS_MODULE": "shop_settings", "PYTHONDONTWRITEBYTECODE": "1",
        "JITRL_SHOP_DATA": str(data),
    }  # fmt: skip


def _run(saves: Path, data: Path, *arguments: str) -> None:
    variables = children.environment(_environment(data))
    done = children.run(
        "making the shop", [str(venv_python(saves)), "-P", *arguments], variables, cwd=data, capture_output=True,
        timeout=BUILD_TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise GameError(f"the shop's data could not be made: {lines[-1] if lines else 'there was no output'}")

"""The shop and its dashboard: django-oscar, run in the sites' own environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine import children, waits
from engine.errors import GameError
from engine.web.sites.site import Command, Login, copy_over, venv_python

CODE = Path(__file__).with_name("oscar_site")
DATABASE = "shop.sqlite3"
PICTURE = "image_not_found.jpg"
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

    def missing(self, saves: Path) -> str:
        """Return a sentence if Oscar is not installed in the sites' environment, else ""."""
        python = venv_python(saves)
        if any((python.parent.parent / "lib").glob("python3*/site-packages/oscar")):
            return ""
        return "the shop's packages are not here; get them with: jitrl web up --install"

    def build(self, folder: Path, saves: Path) -> None:
        """Create the database and the search index; this takes about half a minute.

        Raises:
            GameError: Creating them failed.
        """
        _run(saves, folder, folder, str(CODE / "shop_seed.py"))

    def reset(self, folder: Path, live: Path) -> None:
        """Copy the database. Django opens it again for every request."""
        (live / "media").mkdir(mode=0o700, parents=True, exist_ok=True)
        copy_over(folder / "media" / PICTURE, live / "media" / PICTURE)
        copy_over(folder / DATABASE, live / DATABASE)

    def command(self, folder: Path, live: Path, port: int, saves: Path) -> Command:
        """Return the command that serves the shop on the loopback, with data in `live` and the index in `folder`."""
        argv = ("-P", "-m", "django", "runserver", "--noreload", "--insecure", "--skip-checks", f"127.0.0.1:{port}")
        return Command((str(venv_python(saves)), *argv), _environment(live, folder))


def _environment(data: Path, pristine: Path) -> dict[str, str]:
    return {
        "PYTHONPATH": str(CODE), "DJANGO_SETTINGS_MODULE": "shop_settings", "PYTHONDONTWRITEBYTECODE": "1",
        "JITRL_SHOP_DATA": str(data), "JITRL_SHOP_PRISTINE": str(pristine),
    }  # fmt: skip


def _run(saves: Path, data: Path, pristine: Path, *arguments: str) -> None:
    variables = children.environment(_environment(data, pristine))
    done = children.run(
        "making the shop", [str(venv_python(saves)), "-P", *arguments], variables, cwd=data, capture_output=True,
        timeout=BUILD_TIMEOUT_S,
    )  # fmt: skip
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise GameError(f"the shop's data could not be made: {lines[-1] if lines else 'there was no output'}")

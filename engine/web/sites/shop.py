"""The shop and its dashboard: django-oscar, run in the sites' own environment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from engine.web.sites.django_site import DjangoSite
from engine.web.sites.site import Login

SHOPPER = ("anna.meyer@quayside.example", "anna-pass")
ADMIN = ("admin@quayside.example", "admin-pass")


class Shop(DjangoSite):
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
    health = "/accounts/login/"
    packages: tuple[str, ...] = ("django-oscar[sorl-thumbnail]==4.2.1", "django-haystack==3.4.0", "whoosh==2.7.4")
    build_s = 60
    database = "shop.sqlite3"

    module = "oscar"
    code = Path(__file__).with_name("oscar_site")

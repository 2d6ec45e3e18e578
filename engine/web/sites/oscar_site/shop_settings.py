"""Django settings of the local shop. JITRL_SHOP_DATA is the folder of all its data."""

from __future__ import annotations

import copy
import os
from pathlib import Path
from typing import Any

import oscar
from oscar.defaults import *  # noqa: F403
from oscar.defaults import OSCAR_DASHBOARD_NAVIGATION as _NAVIGATION

DATA = Path(os.environ["JITRL_SHOP_DATA"])

SECRET_KEY = (DATA / "secret").read_text()
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "shop_urls"
SITE_ID = 1
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en-us"
# One language only: a menu of forty languages would be the longest part of every page.
LANGUAGES = [("en", "English")]
USE_I18N = False
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
STATIC_URL = "/static/"
MEDIA_URL = "/media/"
MEDIA_ROOT = str(DATA / "media")

INSTALLED_APPS = [*dict.fromkeys([*oscar.INSTALLED_APPS, "sorl.thumbnail"])]

MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.contrib.flatpages.middleware.FlatpageFallbackMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [str(Path(__file__).with_name("templates"))],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.debug",
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "oscar.apps.search.context_processors.search_form",
                "oscar.apps.checkout.context_processors.checkout",
                "oscar.apps.communication.notifications.context_processors.notifications",
                "oscar.core.context_processors.metadata",
            ],
        },
    }
]

DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(DATA / "shop.sqlite3"),
        "ATOMIC_REQUESTS": True,
    }
}
AUTHENTICATION_BACKENDS = ("oscar.apps.customer.auth_backends.EmailBackend",)
# The accounts are invented and their passwords published, so a stronger hash would only slow down logins.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
AUTH_PASSWORD_VALIDATORS: list[dict[str, str]] = []
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
CACHES = {"default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"}}
HAYSTACK_CONNECTIONS = {
    "default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(DATA / "index")}
}
LOGGING = {"version": 1, "disable_existing_loggers": False}

OSCAR_SHOP_NAME = "Quayside"
OSCAR_SHOP_TAGLINE = "Things for the house"
OSCAR_DEFAULT_CURRENCY = "USD"
OSCAR_FROM_EMAIL = "shop@quayside.example"
OSCAR_MODERATE_REVIEWS = True
OSCAR_ALLOW_ANON_REVIEWS = False
OSCAR_INITIAL_ORDER_STATUS = "Pending"
OSCAR_INITIAL_LINE_STATUS = "Pending"
OSCAR_ORDER_STATUS_PIPELINE = {
    "Pending": ("Being processed", "Cancelled"),
    "Being processed": ("Complete", "Cancelled"),
    "Complete": (),
    "Cancelled": (),
}


def _navigation() -> list[dict[str, object]]:
    # Reviews are moved to the Marketing menu, where WebArena's shop software has them.
    menus: list[dict[str, Any]] = copy.deepcopy(_NAVIGATION)
    reviews = []
    for menu in menus:
        children = menu.get("children", [])
        reviews += [child for child in children if child.get("url_name") == "dashboard:reviews-list"]
        menu["children"] = [c for c in children if c.get("url_name") != "dashboard:reviews-list"]
        if not menu["children"]:
            del menu["children"]
        if str(menu["label"]) == "Offers":
            menu["label"] = "Marketing"
    next(menu for menu in menus if menu["label"] == "Marketing")["children"] += reviews
    return menus


OSCAR_DASHBOARD_NAVIGATION = _navigation()

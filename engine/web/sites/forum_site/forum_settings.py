"""Django settings of the local forum. JITRL_FORUM_DATA is the folder of all its data."""

from __future__ import annotations

import os
from pathlib import Path

DATA = Path(os.environ["JITRL_FORUM_DATA"])

SECRET_KEY = (DATA / "secret").read_text()
DEBUG = False
ALLOWED_HOSTS = ["127.0.0.1", "localhost"]
ROOT_URLCONF = "forum_urls"
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English")]
USE_I18N = True
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
STATIC_URL = "/static/"
MEDIA_URL = "/media/"
MEDIA_ROOT = str(DATA / "media")

INSTALLED_APPS = [
    *(f"django.contrib.{app}" for app in ("admin", "auth", "contenttypes", "sessions", "messages", "staticfiles")),
    "django.contrib.humanize",
    *(f"spirit.{app}" for app in ("core", "admin", "search", "user", "user.admin", "user.auth", "category")),
    "spirit.category.admin",
    "spirit.topic",
    *(f"spirit.topic.{app}" for app in ("admin", "favorite", "moderate", "notification", "private", "unread")),
    "spirit.comment",
    *(f"spirit.comment.{app}" for app in ("bookmark", "flag", "flag.admin", "history", "like", "poll")),
    "djconfig",
    "haystack",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "spirit.user.middleware.TimezoneMiddleware",
    "spirit.user.middleware.ActiveUserMiddleware",
    "djconfig.middleware.DjConfigMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [str(Path(__file__).with_name("templates"))],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                *(f"django.template.context_processors.{name}" for name in ("debug", "i18n", "media", "static", "tz")),
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "djconfig.context_processors.config",
            ]
        },
    }
]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": str(DATA / "forum.sqlite3")}}
# What a cache keeps would outlive a reset.
CACHES = {
    "default": {"BACKEND": "django.core.cache.backends.dummy.DummyCache"},
    "st_rate_limit": {"BACKEND": "django.core.cache.backends.dummy.DummyCache", "TIMEOUT": None},
}
AUTHENTICATION_BACKENDS = ["spirit.user.auth.backends.UsernameAuthBackend"]
# The accounts are invented and their passwords published, so a stronger hash would only slow down logins.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
HAYSTACK_CONNECTIONS = {
    "default": {"ENGINE": "haystack.backends.whoosh_backend.WhooshEngine", "PATH": str(DATA / "index")}
}
LOGIN_URL = "spirit:user:auth:login"
LOGIN_REDIRECT_URL = "spirit:index"
LOGOUT_REDIRECT_URL = "spirit:index"
STORAGES = {
    "default": {"BACKEND": "spirit.core.storage.OverwriteFileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
LOGGING = {"version": 1, "disable_existing_loggers": False}
ST_SITE_URL = "http://127.0.0.1:9999/"
# An agent may post as fast as it likes.
ST_RATELIMIT_ENABLE = False
ST_ORDERED_CATEGORIES = True
ST_UPLOAD_IMAGE_ENABLED = False

"""The forum: Spirit, run in the sites' own environment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from engine.web.sites import forum_data as data
from engine.web.sites.django_site import DjangoSite
from engine.web.sites.site import Login


class Forum(DjangoSite):
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

    module = "spirit"
    code = Path(__file__).with_name("forum_site")

    def seed(self) -> bytes:
        """Return forums, people, topics and replies."""
        return json.dumps(asdict(data.forum_content())).encode()

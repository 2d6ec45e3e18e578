"""Places that data name: a session, a run or a suite that somebody else may have made.

A place is a database or a server, which would get the user's name, a password or what is typed; or a file, a folder or
a package, which would be opened here. None is used before the user has confirmed it. What the user named once, or
confirmed, is kept in a file of the user, outside of the folders that are passed on. What no data name is not asked
about: a program that uses this as a library names its servers itself.
"""

from __future__ import annotations

import contextlib
import json
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from engine import limits
from engine.disk import private_folder, read_bytes, write_private
from engine.errors import BadFile, UsageError

_MOST = 1000
"""Most places that are kept; the oldest are forgotten first."""
_URL = re.compile(r"https?://[^\s/?#]+", re.IGNORECASE)
_MODEL_FILE = "local:", "/", ".", "~"
"""How the name of a model begins that is a file or a folder."""

_named: dict[str, str] = {}
_confirmed: set[str] = set()


class NotConfirmed(UsageError):
    """Data name a place that the user has not confirmed.

    Attributes:
        place: The place.
        question: What is to be confirmed.
    """

    def __init__(self, place: str, by: str) -> None:
        danger = "it would learn who you are and what is sent to it" if "://" in place else "it would be opened"
        self.question = f"{by} names {place}, which was never used here; {danger}"
        self.place = place
        super().__init__(f"{self.question}; if you trust it, add: --trust {shlex.quote(place)}")


def named_by(by: str, *places: str) -> None:
    """Note that data name places. "" is none.

    Args:
        by: What names them, as in "the session NAME".
    """
    for place in filter(None, places):
        _named.setdefault(place, by)


def trust_new(*places: str) -> None:
    """Note places of something that the user makes now. Places that data named before stay unconfirmed."""
    confirm(*(place for place in places if place not in _named))


def confirm(*places: str, keep: bool = True) -> None:
    """Note that the user named or confirmed places.

    Args:
        keep: Whether this holds for later processes, too.
    """
    new = [place for place in places if place and place not in _confirmed]
    _confirmed.update(new)
    known = _kept() if keep and new else []
    if missing := [place for place in new if place not in known]:
        file = _file()
        with contextlib.suppress(OSError):
            private_folder(file.parent)
            write_private(file, json.dumps([*known, *missing][-_MOST:], indent=1) + "\n")


def require(*places: str) -> None:
    """Return if places may be used.

    Raises:
        NotConfirmed: Data name one of them, and the user has not confirmed it.
    """
    for place in places:
        by = _named.get(place)
        if by is not None and place not in _confirmed and place not in _kept():
            raise NotConfirmed(place, by)


def sites_in(*names: str) -> list[str]:
    """Return the web servers in names, as in `browsergym:openended http://HOST/ GOAL` or `huggingface/http://HOST`."""
    return [found.lower() for name in names for found in _URL.findall(name)]


def places_in(environments: Iterable[str], models: Iterable[str]) -> list[str]:
    """Return the web servers, files and packages that names of environments and of models lead to."""
    environments, parts = list(environments), [part for model in models for part in model.split("+")]
    files = [name for name in environments if "/" in name and not _URL.search(name)]
    files += [part for part in parts if part.startswith(_MODEL_FILE)]
    return [*sites_in(*environments, *parts), *files]


def _file() -> Path:
    from platformdirs import user_state_path

    return user_state_path("jitrl") / "trusted.json"


def _kept() -> list[str]:
    try:
        data = limits.parse_json(read_bytes(_file()))
    except (OSError, BadFile):
        return []
    return [place for place in data if isinstance(place, str)] if isinstance(data, list) else []

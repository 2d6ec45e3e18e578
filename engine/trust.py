"""Databases and servers that data name: a session, a run or a suite that somebody else may have made.

What data name is not used before the user has confirmed it, because it would get the user's name, a password or what
is typed. What the user named once, or confirmed, is kept in a file of the user, outside of the folders that are passed
on. What no data name is not asked about: a program that uses this as a library names its servers itself.
"""

from __future__ import annotations

import contextlib
import json
import re
from pathlib import Path

from engine import limits
from engine.disk import private_folder, read_bytes, write_private
from engine.errors import BadFile, UsageError

_MOST = 1000
"""Most places that are kept; the oldest are forgotten first."""
_URL = re.compile(r"https?://[^\s/?#]+", re.IGNORECASE)

_named: dict[str, str] = {}
_confirmed: set[str] = set()


class NotConfirmed(UsageError):
    """Data name a place that the user has not confirmed.

    Attributes:
        place: The place.
    """

    def __init__(self, place: str, by: str) -> None:
        super().__init__(
            f"{by} names {place}, which was never used here; it would learn who you are and what is sent to it; if you "
            f"trust it, add: --trust {place}"
        )
        self.place = place
        self.question = f"{by} names {place}, which was never used here."


def named_by(by: str, *places: str) -> None:
    """Note that data name places. "" is none.

    Args:
        by: What names them, as in "the session NAME".
    """
    for place in filter(None, places):
        _named.setdefault(place, by)


def made_here(*places: str) -> None:
    """Note places of something that is made now. Those that data name are no better for that."""
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


def require(place: str) -> None:
    """Return if a place may be used.

    Raises:
        NotConfirmed: Data name it, and the user has not confirmed it.
    """
    by = _named.get(place)
    if by is not None and place not in _confirmed and place not in _kept():
        raise NotConfirmed(place, by)


def sites_in(*names: str) -> list[str]:
    """Return the web servers in names of environments, as in `browsergym:openended http://HOST/ GOAL`."""
    return [found.lower() for name in names for found in _URL.findall(name)]


def _file() -> Path:
    from platformdirs import user_state_path

    return user_state_path("jitrl") / "trusted.json"


def _kept() -> list[str]:
    try:
        data = limits.parsed(read_bytes(_file()))
    except (OSError, BadFile):
        return []
    return [place for place in data if isinstance(place, str)] if isinstance(data, list) else []

"""Downloads the MIT-licensed releases of Zork, when the user asks for it.

The publisher's repositories hold several builds. The ones named here are those that Jericho supports. Jericho lists
the files padded to whole disk sectors, so the padding is added after the download.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine import waits
from engine.disk import printable, read_bytes
from engine.errors import GameError, MissingError, StorageError, UsageError
from engine.paths import ensure_folder
from engine.redaction import without_credentials

BASE = "https://raw.githubusercontent.com/historicalsource"
ORIGIN = "github.com/historicalsource"
LICENCE = "MIT"
TIMEOUT_S = waits.STORY_FETCH.seconds
_LARGEST = 2**20


@dataclass(frozen=True, slots=True)
class Release:
    """A file of one commit, with its digests before and after padding.

    Attributes:
        title: Name of the game.
        path: Path below `BASE`.
        raw_md5: MD5 of the downloaded file.
        padding: Bytes to append to it.
        md5: MD5 of the padded file, as Jericho lists it.
    """

    title: str
    path: str
    raw_md5: str
    padding: bytes
    md5: str


RELEASES = {
    "zork1": Release(
        "Zork I",
        "zork1/34cc828c4fa3b5e2581ea24c43bb8acb386d25d0/zork1.zip",
        "dcafbb901b39841013a54f160bd170d5",
        b"\0" * 116 + b"^" * 7168,
        "b732a93a6244ddd92a9b9a3e3a46c687",
    ),
    "zork3": Release(
        "Zork III",
        "zork3/1dfe76cfc7dab6379646dbd6d93af96fc17ed53e/zork3.zip",
        "039ceba0946e778743d7687510dc5e2a",
        b"\0" * 230 + b"^" * 9216,
        "ffda9ee2d428fa2fa8e75a1914ff6959",
    ),
}


def fetch(name: str, saves: Path, tell: Callable[[str], None], base: str = BASE) -> Path:
    """Download a story into the saves folder and return its path.

    Args:
        name: A key of `RELEASES`.
        saves: The saves folder.
        tell: Called with short sentences about the progress.
        base: Address below which the releases' paths are.

    Raises:
        UsageError: There is no release with that name.
        MissingError: The server cannot be reached, or does not have the file.
        GameError: The downloaded file is not that release.
        StorageError: The file cannot be written.
    """
    release = RELEASES.get(name)
    if release is None:
        raise UsageError(
            f"only {' and '.join(RELEASES)} can be fetched, not {name!r}; others: jitrl games add FILE"
        )
    target = ensure_folder(saves / "games", private=False) / f"{name}.z5"
    if _exists(target, release):
        tell(f"{name} is already there: {target}")
        return target
    address = f"{base}/{release.path}"
    data = _download(address, name, tell)
    address = without_credentials(address)
    if _md5(data) == release.raw_md5:
        data += release.padding
    if _md5(data) != release.md5:
        raise GameError(
            f"the file at {address} is not the release that Jericho knows (md5 {_md5(data)}); nothing was kept"
        )
    keep(data, target)
    tell(f"{name} is ready: {target}")
    return target


def keep(data: bytes, target: Path) -> None:
    """Write a story file atomically.

    Raises:
        StorageError: Writing failed.
    """
    partial = target.with_name(target.name + ".part")
    try:
        partial.write_bytes(data)
        os.replace(partial, target)
    except OSError as error:
        partial.unlink(missing_ok=True)
        raise StorageError(f"cannot write {printable(target)}: {error.strerror}") from None


def _exists(target: Path, release: Release) -> bool:
    try:
        return _md5(read_bytes(target, _LARGEST)) == release.md5
    except OSError:
        return False


def _download(url: str, name: str, tell: Callable[[str], None]) -> bytes:
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    address = without_credentials(url)
    tell(f"getting {address}")
    try:
        with urllib.request.urlopen(url, timeout=TIMEOUT_S) as answer:
            data: bytes = answer.read(_LARGEST + 1)
    except urllib.error.HTTPError as error:
        raise MissingError(
            f"{address} answered {error.code}; get {name} yourself and use: jitrl games add FILE"
        ) from None
    except (OSError, ValueError, HTTPException) as error:
        reason = without_credentials(str(getattr(error, "reason", error)))
        raise MissingError(
            f"cannot reach {address} ({reason}); go online, or use: jitrl games add FILE"
        ) from None
    if len(data) > _LARGEST:
        raise GameError(f"{address} is far too large for a story; nothing was kept")
    return data


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()

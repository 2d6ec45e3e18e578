"""Local sites: how to build, serve, log in to and reset one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from engine.paths import ensure_folder

VERSION = 5
"""Version of the data of all sites. Original data with another number is built again."""


@dataclass(frozen=True, slots=True)
class Login:
    """How to log in: the page with the form, and its fields.

    Attributes:
        path: Path of the page with the form, from the site's root.
        fields: Values by form field. The value of a password field is a secret.
        labels: Values by the label of a text box, as people see them.
        button: Name of the button that sends the form.
        form: Part of the form's action, to choose between forms; "" if there is only one.
    """

    path: str
    fields: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    button: str = ""
    form: str = ""


@dataclass(frozen=True, slots=True)
class ServerCommand:
    """A server to start: its arguments, and variables to add to its environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


class Site(ABC):
    """One kind of local site. It has no state: folders and ports are passed as arguments.

    Attributes:
        name: Its name, such as "shop".
        title: Its title for people.
        port: Preferred port.
        keys: Paths below the base URL by WebArena's names of the site's parts.
        logins: Logins by WebArena's names.
        health: Path of a page that answers when the site is up.
        packages: What is installed for it in the sites' environment; () if nothing.
        build_s: About how many seconds its original data take to make, once.
        database: SQLite file in its folder, from which tasks read the site's state; "" if it has none.
    """

    name: str
    title: str
    port: int
    keys: Mapping[str, str]
    logins: Mapping[str, Login] = {}
    health = "/"
    packages: tuple[str, ...] = ()
    build_s = 0
    database = ""

    @abstractmethod
    def missing(self, saves: Path) -> str:
        """Return "" if all requirements are installed, else a sentence on what is missing and how to get it."""

    @abstractmethod
    def build(self, folder: Path, saves: Path) -> None:
        """Create the original data in `folder`, which is empty.

        Raises:
            JitrlError: A program failed.
        """

    @abstractmethod
    def command(self, live: Path, port: int, saves: Path) -> ServerCommand:
        """Return the command that serves `live` on 127.0.0.1:`port`. The site may write nowhere else."""


def restore(original: Path, live: Path) -> None:
    """Make the folder `live` the same as `original`: every other file goes, then each file is replaced atomically.

    Files that a database or an index has written beside its own, such as a journal, must not be applied to the
    restored ones, so they go first.
    """
    import os
    import shutil

    live.mkdir(mode=0o700, parents=True, exist_ok=True)
    kept = {path.relative_to(original) for path in original.rglob("*")}
    for path in sorted(live.rglob("*"), reverse=True):  # what is in a folder before the folder itself
        if path.relative_to(live) in kept:
            continue
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink(missing_ok=True)
    for name in sorted(kept):
        source, target = original / name, live / name
        if source.is_dir():
            target.mkdir(exist_ok=True)
        else:
            part = target.with_name(f".{target.name}.part")
            shutil.copyfile(source, part)
            os.replace(part, target)


def size_of(folder: Path) -> int:
    """Return how many bytes the files in a folder take; 0 if there is no such folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def web_folder(saves: Path) -> Path:
    """Return the folder of all web data in the saves folder; it is created if missing."""
    return ensure_folder(saves / "web")


def venv_python(saves: Path) -> Path:
    """Return the path of the Python interpreter in the sites' environment, which may not exist."""
    return saves / "web" / "venv" / "bin" / "python"

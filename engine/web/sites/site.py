"""What a local site is: how to build it, serve it, log in and put it back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

VERSION = 1
"""Of the data of all sites; a pristine copy with another number is built anew."""


@dataclass(frozen=True, slots=True)
class Login:
    """How one gets in: a form page and the names of its fields.

    Attributes:
        path: Path of the page with the form, from the site's root.
        fields: Form field to value; the value of a password field is a secret for recordings.
        labels: The same as a person sees them: label of a text box to value.
        button: Name of the button that sends the form.
        form: Part of the form that tells it from others of the page, "" where it is the only one.
    """

    path: str
    fields: Mapping[str, str]
    labels: Mapping[str, str] = field(default_factory=dict)
    button: str = ""
    form: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """A server to start: its arguments and what it adds to the environment."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)


class Site(Protocol):
    """One kind of local site. Holds no state: folders and ports come in as parameters."""

    name: str
    title: str
    port: int
    keys: Mapping[str, str]
    logins: Mapping[str, Login]
    health: str

    def missing(self, saves: Path) -> str:
        """Return "" when all it needs is here, else one sentence that says what is missing and how to get it."""
        ...

    def build(self, folder: Path, saves: Path) -> None:
        """Make the pristine data in `folder`, which is empty.

        Raises:
            JitrlError: A program failed.
        """
        ...

    def reset(self, folder: Path, live: Path) -> None:
        """Put what is served (`live`) back to the pristine data of `folder`, in one move each file."""
        ...

    def command(self, folder: Path, live: Path, port: int, saves: Path) -> Command:
        """Return how to serve `live` on 127.0.0.1:`port`."""
        ...


def copy_over(source: Path, target: Path) -> None:
    """Replace `target` by a copy of `source`; readers see the old file or the new one, never half of one."""
    import os
    import shutil

    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    shutil.copyfile(source, part)
    for journal in ("-journal", "-wal", "-shm"):
        # A journal of the old database must never be applied to the new one.
        target.with_name(target.name + journal).unlink(missing_ok=True)
    os.replace(part, target)


def web_folder(saves: Path) -> Path:
    """Return the folder of everything this room keeps."""
    from engine.paths import ensure_folder

    return ensure_folder(saves / "web")


def venv_python(saves: Path) -> Path:
    """Return the interpreter of the sites' own environment, whether it is there or not."""
    return saves / "web" / "venv" / "bin" / "python"

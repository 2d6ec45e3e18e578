"""Starts all child processes. No other module does, so this is the place that says what a child is given.

- Code: Python looks for modules where they are installed, and never in the folder in which the user works.
- Variables: a child gets those of a list. Only processes of our own that ask the model get all, with the keys.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from engine.confine import clean
from engine.errors import GameError
from engine.redaction import names_secret

if TYPE_CHECKING:
    import asyncio

_ROOT = str(Path(__file__).resolve().parents[1])
_FOLDERS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""Variables that list folders of code. An empty part of one means the folder in which the user works."""


class NotStarted(GameError):
    """The system cannot start the process."""


def python(*arguments: str) -> list[str]:
    """Return a command for our own Python."""
    return [sys.executable, "-P", *arguments]


def environment(
    added: Mapping[str, str] = MappingProxyType({}),
    further: Iterable[str] = (),
    *,
    variables: Mapping[str, str] | None = None,
    own: bool = False,
) -> dict[str, str]:
    """Return the variables of a child that gets no keys.

    Args:
        added: Variables with their values.
        further: Names of variables besides those that Python needs. A name that ends with "_" stands for all that
            begin so, apart from keys.
        variables: What to choose from; None for the variables of this process.
        own: Whether it imports modules of this project.
    """
    given = os.environ if variables is None else variables
    names = list(further)
    families = tuple(name for name in names if name.endswith("_"))
    kept = {name: value for name, value in given.items() if name.startswith(families) and not names_secret(name)}
    return _guarded({**kept, **clean(given, names)}, own, added)


def environment_with_keys(
    added: Mapping[str, str] = MappingProxyType({}), *, variables: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the variables of a child that is a process of our own and asks the model: all of them."""
    return _guarded(dict(os.environ if variables is None else variables), True, added)


def program(name: str) -> str | None:
    """Return the path of a program on the PATH, None if there is none. The folder of the user is not looked at."""
    return shutil.which(name, path=_absolute(os.environ.get("PATH", os.defpath)))


def start(who: str, command: Sequence[str], variables: Mapping[str, str], **how: Any) -> subprocess.Popen[bytes]:
    """Start a process; `how` as for `subprocess.Popen`.

    Raises:
        NotStarted: The system cannot start it.
    """
    try:
        return subprocess.Popen(command, env=dict(variables), **how)
    except (OSError, ValueError) as error:
        raise NotStarted(_why(who, error)) from None


def run(
    who: str, command: Sequence[str], variables: Mapping[str, str], *, timeout: float, **how: Any
) -> subprocess.CompletedProcess[Any]:
    """Run a process to its end; `how` as for `subprocess.run`.

    Raises:
        NotStarted: The system cannot start it.
        GameError: It took more than `timeout` seconds and was killed.
    """
    how = how if "input" in how else {"stdin": subprocess.DEVNULL, **how}
    try:
        return subprocess.run(command, env=dict(variables), timeout=timeout, check=False, **how)
    except subprocess.TimeoutExpired:
        raise GameError(f"{who} took more than {timeout:.0f} s and was stopped; is the machine very busy?") from None
    except (OSError, ValueError) as error:
        raise NotStarted(_why(who, error)) from None


async def start_async(
    who: str, command: Sequence[str], variables: Mapping[str, str], **how: Any
) -> asyncio.subprocess.Process:
    """Start a process in a program of asyncio; `how` as for `asyncio.create_subprocess_exec`.

    Raises:
        NotStarted: The system cannot start it.
    """
    import asyncio

    try:
        return await asyncio.create_subprocess_exec(*command, env=dict(variables), **how)
    except (OSError, ValueError) as error:
        raise NotStarted(_why(who, error)) from None


def _why(who: str, error: OSError | ValueError) -> str:
    return f"{who} cannot be started: {getattr(error, 'strerror', None) or error}"


def _guarded(given: dict[str, str], own: bool, added: Mapping[str, str]) -> dict[str, str]:
    """Return variables with which no code of the user's folder is found."""
    given |= {**added, "PYTHONSAFEPATH": "1"}
    folders = {name: _absolute(given.get(name, "")) for name in _FOLDERS}
    # Another Python must not find our packages, which may be of another version.
    others = [one for one in folders["PYTHONPATH"].split(os.pathsep) if one and one != _ROOT]
    folders["PYTHONPATH"] = os.pathsep.join([_ROOT, *others] if own else others)
    rest = {name: value for name, value in given.items() if name not in _FOLDERS}
    return rest | {name: value for name, value in folders.items() if value}


def _absolute(folders: str) -> str:
    """Return a list of folders without empty parts, and with absolute paths."""
    return os.pathsep.join(os.path.abspath(one) for one in folders.split(os.pathsep) if one)

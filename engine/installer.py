"""Runs the commands that install packages when the user asks for it, with what they print in a log."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Sequence
from importlib import invalidate_caches, metadata
from importlib.util import find_spec
from pathlib import Path
from typing import IO

from engine import children, extras, waits
from engine.errors import GameError, MissingError
from engine.texts import clipped

_FURTHER = (
    "PIP_", "UV_", "XDG_", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NETRC", "CUDA_HOME",
    *(variant for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY") for variant in (name, name.lower())),
)  # fmt: skip
"""Variables that say how packages are fetched here. uv would also read a configuration of the folder it runs in."""
_LONGEST = 300
"""Most characters of the reason that a failed command gave."""
_CARRIED = Path(__file__).with_name("carried.txt")


def run_logged(argv: Sequence[str], output: IO[str], log: Path, timeout_s: float) -> None:
    """Run a command that installs something.

    Args:
        output: The log, open for writing.
        log: Its path.
        timeout_s: Seconds after which it is ended.

    Raises:
        MissingError: It cannot be run, failed, or took too long.
    """
    try:
        done = children.run(
            "the installer", argv, children.environment(further=_FURTHER), stdout=output, stderr=subprocess.STDOUT,
            timeout=timeout_s, cwd=log.parent,
        )  # fmt: skip
    except GameError as error:
        raise MissingError(f"installing failed ({error}); the whole log is {log}") from None
    if done.returncode:
        lines = log.read_text(errors="replace").strip().splitlines()
        problems = [line.strip() for line in lines if line.lower().lstrip(" ×").startswith("error")] or lines[-1:]
        reason = clipped(problems[-1], _LONGEST) if problems else "no reason given"
        raise MissingError(f"installing failed ({reason}); the whole log is {log}; is the package index reachable?")


def uv() -> str | None:
    """Return the path of uv, None if it is not here."""
    beside = Path(sys.prefix, "bin", "uv")
    return children.program("uv") or (str(beside) if beside.is_file() else None)


def install(name: str, folder: Path, say: Callable[[str], None]) -> None:
    """Install an extra into the installation that runs, with pip if that has it, else with uv.

    Args:
        name: Its name.
        folder: Where the log goes.
        say: Called with short sentences about the progress.

    Raises:
        MissingError: It takes an environment of its own, this installation cannot be changed, no program that
            installs is here, or installing failed.
    """
    extra = extras.EXTRAS[name]
    if extra.apart:
        raise MissingError(f"{extra.purpose} takes an environment of its own; make it with: {extra.apart}")
    broken = ""
    if extras.is_installed(name):
        broken = _trouble(extra)
        if not broken:
            say(f"{extra.package} is here already")
            return
    _check_place()
    packages = requirements(name)
    if name == "play" and not (children.program("gcc") and children.program("make")):
        raise MissingError("Jericho is compiled here, which takes gcc and make; try: apt install gcc make")
    log = folder / "install.log"
    say(f"installing {', '.join(packages[:8])}{' ...' if len(packages) > 8 else ''} into {sys.prefix}")
    how = ["--no-deps"] if extra.bare else []
    if name == "play":
        how += ["--require-hashes", "-r", str(_CARRIED)]
    else:  # what jitrl itself needs is named with it, so that it stays as it needs it
        how += [*packages, *([] if extra.bare else requirements(""))]
    trouble = broken
    with log.open("w") as output:
        if broken and not extra.bare:  # first the extra alone, which is much quicker
            run_logged([*_installer(True), "--no-deps", *packages], output, log, waits.EXTRA_INSTALL.seconds)
            trouble = _trouble(extra)
        if trouble or not broken:
            run_logged([*_installer(bool(broken)), *how], output, log, waits.EXTRA_INSTALL.seconds)
    invalidate_caches()
    trouble = _trouble(extra)
    if trouble:
        raise MissingError(f"{extra.package} is installed, but does not load ({trouble}); the whole log is {log}")
    say(f"{extra.package} is here now")


def requirements(name: str) -> list[str]:
    """Return the packages of an extra with their versions; those of jitrl itself for ""."""
    if name == "play":
        return [line.split()[0] for line in _CARRIED.read_text().splitlines() if line[:1].isalpha()]
    found = []
    for line in metadata.requires("jitrl") or ():
        package, _, marker = line.replace('"', "'").partition(";")
        if (f"extra == '{name}'" in marker) if name else not marker.strip():
            found.append(package.strip())
    return found


def _installer(again: bool) -> list[str]:
    if find_spec("pip") is not None:
        words = ["-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--retries", "2"]
        return children.python(*words, *(["--force-reinstall"] if again else []))
    program = uv()
    if program is None:
        raise MissingError(
            f"neither pip nor uv is here to install with; get one with: {children.python()[0]} -m ensurepip"
        )
    return [program, "pip", "install", "--python", children.python()[0], *(["--reinstall"] if again else [])]


def _check_place() -> None:
    """Refuse what pip would refuse in many words."""
    apart = "install jitrl into an environment of its own (uv tool install, or pip in one of python3 -m venv)"
    if sys.prefix == sys.base_prefix and Path(sysconfig.get_path("stdlib"), "EXTERNALLY-MANAGED").is_file():
        raise MissingError(f"the packages of {children.python()[0]} are managed by the system; {apart}")
    packages = sysconfig.get_path("purelib")
    if not os.access(packages, os.W_OK):
        raise MissingError(f"{packages} cannot be written; ask whoever installed jitrl, or {apart}")


def _trouble(extra: extras.Extra) -> str:
    """Return why the modules of an extra do not load, "" if they do. Looked at in a process of its own."""
    try:
        done = children.run(
            extra.package, children.python("-c", f"import {', '.join(('engine', *extra.modules))}"),
            children.environment(own=True), timeout=waits.EXTRA_LOAD.seconds, capture_output=True, text=True,
        )  # fmt: skip
    except GameError as error:
        return str(error)
    return clipped((done.stderr.strip().splitlines() or [""])[-1], _LONGEST) if done.returncode else ""

"""Installs the sites' own Python environment, `saves/web/venv`, when the user asks for it.

It is separate from jitrl's environment. WebArena-Verified needs exact versions of pydantic and other packages, and
the shop needs sixty packages that jitrl does not use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from engine import children, waits
from engine.installer import run_logged, uv
from engine.web.sites.site import Site, venv_python, web_folder

VERIFIED = ("webarena-verified==1.2.3",)
"""Packages for scoring local tasks and those of WebArena-Verified; the extra `verified`."""
DATA = ("libwebarena==0.0.5", "browsergym-webarenalite==0.14.3", "miniwob==1.1.0")
"""Packages of which only files are used: task lists and MiniWoB++'s pages. Their dependencies are not installed."""
SIZE = "250 MB for all sites"
TIMEOUT_S = waits.SITE_INSTALL.seconds


def packages(sites: Sequence[Site]) -> tuple[str, ...]:
    """Return what these sites need in their environment; of all sites, it is the extra `sites`."""
    return tuple(dict.fromkeys(package for site in sites for package in site.packages))


def install(saves: Path, sites: Sequence[Site], say: Callable[[str], None]) -> Path:
    """Create or complete the environment, with uv if it is available, else with pip; return its folder.

    Args:
        saves: The saves folder.
        sites: The sites whose packages are installed.
        say: Called with short sentences about the progress.

    Raises:
        MissingError: The package index cannot be reached, or a package cannot be installed.
    """
    folder = venv_python(saves).parent.parent
    log = web_folder(saves) / "install.log"
    program = uv()
    with log.open("w") as output:
        if not venv_python(saves).is_file():
            say("making an environment for the sites")
            bare = ["--without-pip"] if program else []
            run_logged(children.python("-m", "venv", *bare, str(folder)), output, log, TIMEOUT_S)
        base = [program, "pip", "install", "--python", str(venv_python(saves))] if program else [
            str(venv_python(saves)), "-P", "-m", "pip", "install", "--disable-pip-version-check",
        ]  # fmt: skip
        names = ", ".join(site.name for site in sites if site.packages)
        say(f"installing WebArena-Verified{names and ' and the packages of: '}{names} ({SIZE})")
        run_logged([*base, *packages(sites), *VERIFIED], output, log, TIMEOUT_S)
        say("installing task lists and MiniWoB++")
        run_logged([*base, "--no-deps", *DATA], output, log, TIMEOUT_S)
    return folder

"""Installs the sites' own Python environment, `saves/web/venv`, when the user asks for it.

It is separate from jitrl's environment. WebArena-Verified needs exact versions of pydantic and other packages, and
the shop needs sixty packages that jitrl does not use.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from engine import children, waits
from engine.installing import run_logged, uv
from engine.web.sites.site import venv_python, web_folder

SITES = ("django-oscar[sorl-thumbnail]==4.2.1", "django-haystack==3.4.0", "whoosh==2.7.4", "libzim==3.13.1")
"""Packages of the shop and the encyclopedia; the extra `sites`."""
VERIFIED = ("webarena-verified==1.2.3",)
"""Packages for scoring local tasks and those of WebArena-Verified; the extra `verified`."""
DATA = ("libwebarena==0.0.5", "browsergym-webarenalite==0.14.3", "miniwob==1.1.0")
"""Packages of which only files are used: task lists and MiniWoB++'s pages. Their dependencies are not installed."""
TIMEOUT_S = waits.SITE_INSTALL.seconds


def install(saves: Path, say: Callable[[str], None]) -> Path:
    """Create or complete the environment, with uv if it is available, else with pip; return its folder.

    Args:
        saves: The saves folder.
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
        say("installing the sites and WebArena-Verified (280 MB)")
        run_logged([*base, *SITES, *VERIFIED], output, log, TIMEOUT_S)
        say("installing task lists and MiniWoB++")
        run_logged([*base, "--no-deps", *DATA], output, log, TIMEOUT_S)
    return folder

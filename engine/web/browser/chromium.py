"""Finds an installed browser: Debian's Chromium or another one based on Chromium."""

from __future__ import annotations

import os
import tempfile
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from engine import children, extras, waits
from engine.errors import GameError, MissingError

NAMES = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome",
    "microsoft-edge",
)  # fmt: skip
"""Programs, the best first. The headless shell has no windows, so it takes half the processor time of the others."""
VARIABLE = "JITRL_CHROMIUM"
_START_S = waits.BROWSER_START.seconds
_FURTHER = ("XDG_", "FONTCONFIG_", "PLAYWRIGHT_", "CHROME_", "LIBGL_", "SSL_CERT_FILE", "USER", "LOGNAME")
"""Variables that say where a browser finds its files and fonts."""


def find_browser() -> str | None:
    """Return the path of a browser: JITRL_CHROMIUM, one on PATH, or one downloaded by Playwright; None if none."""
    given = os.environ.get(VARIABLE)
    if given:
        return given if os.access(given, os.X_OK) else None
    for name in NAMES:
        path = children.program(name)
        if path:
            return path
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    found = [p for p in cache.glob("chromium*/chrome-*/*") if p.name in ("chrome", "headless_shell")]
    return str(max(found)) if found else None


def variables() -> dict[str, str]:
    """Return the environment of a browser and of what drives it. It has no keys."""
    return children.environment(further=_FURTHER)


async def start_playwright(begin: Any) -> Any:
    """Return Playwright, started without our keys. It would hand all of our variables to its driver.

    Args:
        begin: What `async_playwright` returns.

    Raises:
        MissingError: This version of Playwright cannot be started so.
    """
    transport: Any = import_module("playwright._impl.transport")
    if not hasattr(transport, "get_driver_env"):
        raise MissingError("this Playwright would see your keys; get another with: jitrl up web")
    transport.get_driver_env = lambda: {**variables(), "PW_LANG_NAME": "python"}
    return await begin.start()


def may_use_sandbox() -> bool:
    """Whether Chromium's sandbox is worth a try: it does not run for root."""
    return not hasattr(os, "geteuid") or os.geteuid() != 0


def blames_sandbox(output: str) -> bool:
    """Whether a browser that did not start says that its sandbox is the reason."""
    return "sandbox" in output.lower()


def why_no_sandbox(browser: str) -> str:
    """Return why web sessions run without Chromium's sandbox here, "" if they run in it. This starts the browser."""
    if not may_use_sandbox():
        return "this user is root"
    with tempfile.TemporaryDirectory(prefix="jitrl-browser-") as profile:
        command = [browser, "--headless", "--disable-gpu", f"--user-data-dir={profile}", "--dump-dom", "about:blank"]
        try:
            done = children.run(
                "the browser", command, variables(), capture_output=True, text=True, errors="replace", timeout=_START_S
            )
        except GameError as error:
            return f"the browser does not start: {error}"
    refused = done.returncode != 0 and blames_sandbox(done.stderr)
    return "this user may not make user namespaces" if refused else ""


def missing() -> str:
    """Return "" if web pages can be opened, else a sentence that says what is missing and how to install it."""
    if find_spec("playwright") is None:
        return str(extras.missing_extra("web"))
    if find_browser() is None:
        return (
            "web sessions need a browser; get one with: apt install chromium "
            f"(or set {VARIABLE} to the path of a Chromium)"
        )
    return ""


def require_browser() -> str:
    """Return the path of a browser.

    Raises:
        MissingError: There is no browser, or Playwright is not installed.
    """
    why = missing()
    path = find_browser()
    if why or path is None:
        raise MissingError(why)
    return path

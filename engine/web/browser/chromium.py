"""Finds an installed browser: Debian's Chromium or another one based on Chromium."""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec
from pathlib import Path

from engine.errors import MissingError

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge")
VARIABLE = "JITRL_CHROMIUM"


def find_browser() -> str | None:
    """Return the path of a browser: JITRL_CHROMIUM, one on PATH, or one downloaded by Playwright; None if none."""
    given = os.environ.get(VARIABLE)
    if given:
        return given if os.access(given, os.X_OK) else None
    for name in NAMES:
        path = shutil.which(name)
        if path:
            return path
    cache = Path(os.environ.get("PLAYWRIGHT_BROWSERS_PATH") or Path.home() / ".cache" / "ms-playwright")
    found = [p for p in cache.glob("chromium*/chrome-*/*") if p.name in ("chrome", "headless_shell")]
    return str(max(found)) if found else None


def missing() -> str:
    """Return "" if web pages can be opened, else a sentence that says what is missing and how to install it."""
    if find_spec("playwright") is None:
        return "web sessions need Playwright; get it with: pip install 'jitrl[web]'"
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

"""MiniWoB++: small pages that ask for something and judge it themselves (Liu et al., ICLR 2018).

The pages are those of the package `miniwob`, served on loopback; nothing of the package is imported.
"""

from __future__ import annotations

import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import GameError, MissingError

if TYPE_CHECKING:
    from engine.web.driver import Driver

EPISODE_S = 3600
"""Seconds until a page gives up; its own 10 are for programs that react, not for models that think."""

TASKS = (
    "book-flight", "buy-ticket", "choose-date", "choose-date-easy", "choose-date-medium", "choose-list",
    "click-button", "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
    "click-checkboxes-soft", "click-checkboxes-transfer", "click-collapsible", "click-collapsible-2",
    "click-dialog", "click-dialog-2", "click-link", "click-menu-2", "click-option", "click-scroll-list",
    "click-tab", "click-tab-2", "click-tab-2-hard", "click-test", "click-test-2", "click-widget",
    "email-inbox", "email-inbox-all", "email-inbox-delete", "email-inbox-forward", "email-inbox-important",
    "email-inbox-reply", "email-inbox-star-reply", "enter-date", "enter-password", "enter-text",
    "enter-text-2", "enter-text-dynamic", "enter-time", "focus-text", "focus-text-2", "form-sequence",
    "form-sequence-2", "form-sequence-3", "login-user", "login-user-popup", "multi-layouts",
    "multi-orderings", "navigate-tree", "order-food", "phone-book", "read-table", "read-table-2",
    "search-engine", "sign-agreement", "social-media", "social-media-all", "social-media-some",
    "stock-market", "terminal", "text-editor", "use-autocomplete", "use-spinner",
)  # fmt: skip
"""Tasks that can be done by elements' names; those that need coordinates are left out."""

_BEGIN = """([seed, seconds]) => {
  Math.seedrandom(String(seed));
  core.EPISODE_MAX_TIME = seconds * 1000;
  core.startEpisodeReal();
  window.WOB_TASK_READY = true;
  return core.getUtterance();
}"""
_REWARD = "() => window.WOB_DONE_GLOBAL ? Number(window.WOB_RAW_REWARD_GLOBAL) : null"


def pages() -> Path | None:
    """Return the folder with the pages, None where the package is not installed."""
    spec = find_spec("miniwob")
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "html"
    return folder if (folder / "miniwob").is_dir() else None


def names() -> tuple[str, ...]:
    """Return the tasks whose pages are here."""
    folder = pages()
    return tuple(n for n in TASKS if folder is not None and (folder / "miniwob" / f"{n}.html").is_file())


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


class Server:
    """The pages on 127.0.0.1, at a port of the system's choice.

    Raises:
        MissingError: The package is not installed.
    """

    def __init__(self) -> None:
        folder = pages()
        if folder is None:
            raise MissingError(
                "the pages of MiniWoB++ are in the package miniwob, which is not here; get it with: "
                f"{sys.executable} -m pip install --no-deps miniwob"
            )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving; safe to call twice."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5.0)


class Rules:
    """How an episode begins on such a page, and what it is worth."""

    def begin(self, driver: Driver, seed: int) -> str:
        """Start the page's episode and return what it asks.

        Raises:
            GameError: The page is none of MiniWoB++'s, or did not load.
        """
        found = driver.evaluate(_BEGIN, [seed, EPISODE_S])
        utterance = found.get("utterance", "") if isinstance(found, dict) else found
        if not isinstance(utterance, str) or not utterance:
            raise GameError("the page of MiniWoB++ did not start; is the package whole?")
        return " ".join(utterance.split())

    def reward(self, driver: Driver) -> float | None:
        """Return the page's raw reward once it is done, None before."""
        found = driver.evaluate(_REWARD)
        return float(found) if isinstance(found, (int, float)) else None

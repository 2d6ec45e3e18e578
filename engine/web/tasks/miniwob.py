"""MiniWoB++: small pages that state a task and judge it themselves (Liu et al., ICLR 2018).

The pages are those of the package `miniwob`, served on loopback. No code of the package is imported.
"""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from engine import waits
from engine.errors import GameError, MissingError
from engine.web.browser.driver_base import BrowserDriver, PageRules
from engine.web.sites.miniwob import pages_folder
from engine.web.tasks.suites import WebTask

EPISODE_S = 3600
"""Seconds until a page ends the episode. Its own 10 seconds are meant for fast programs, not for language models."""

TASKS = (
    "book-flight", "buy-ticket", "choose-date", "choose-date-easy", "choose-date-medium", "choose-list",
    "click-button", "click-button-sequence", "click-checkboxes", "click-checkboxes-large",
    "click-checkboxes-soft", "click-checkboxes-transfer", "click-collapsible", "click-collapsible-2",
    "click-dialog", "click-dialog-2", "click-link", "click-menu-2", "click-option", "click-scroll-list",
    "click-tab", "click-tab-2", "click-tab-2-hard", "click-test", "click-test-2", "click-widget",
    "email-inbox", "email-inbox-delete", "email-inbox-forward", "email-inbox-important",
    "email-inbox-reply", "email-inbox-star-reply", "enter-date", "enter-password", "enter-text",
    "enter-text-2", "enter-text-dynamic", "enter-time", "focus-text", "focus-text-2", "form-sequence",
    "form-sequence-2", "form-sequence-3", "login-user", "login-user-popup", "multi-layouts",
    "multi-orderings", "navigate-tree", "order-food", "phone-book", "read-table", "read-table-2",
    "search-engine", "sign-agreement", "social-media", "social-media-all", "social-media-some",
    "stock-market", "terminal", "text-editor", "use-autocomplete", "use-spinner",
)  # fmt: skip
"""Tasks that can be solved with the names of elements. Tasks that need coordinates are left out."""

_BEGIN = """([seed, seconds]) => {
  Math.seedrandom(String(seed));
  core.EPISODE_MAX_TIME = seconds * 1000;
  core.startEpisodeReal();
  window.WOB_TASK_READY = true;
  return core.getUtterance();
}"""
_REWARD = "() => window.WOB_DONE_GLOBAL ? Number(window.WOB_RAW_REWARD_GLOBAL) : null"


def require_pages(saves: Path | None = None) -> Path:
    """Return the folder with the pages. The sites' environment in the saves folder is searched, too.

    Raises:
        MissingError: The package is not installed.
    """
    folder = pages_folder(saves)
    if folder is None:
        raise MissingError(
            "the pages of MiniWoB++ are in the package miniwob, which is not here; get it with: "
            "jitrl web up --install"
        )
    return folder


def list_tasks(saves: Path | None = None) -> tuple[WebTask, ...]:
    """Return the tasks in the form of other suites. The task's text is on its page and changes with the seed.

    Raises:
        MissingError: The package is not installed.
    """
    require_pages(saves)
    return tuple(
        WebTask(
            f"miniwob-{page}", "miniwob", number, ("miniwob",), f"(on the page) {page.replace('-', ' ')}", ()
        )
        for number, page in enumerate(TASKS)
    )


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class PageServer:
    """Serves the pages on 127.0.0.1, on a free port.

    Args:
        folder: The folder that `require_pages` returns.
    """

    def __init__(self, folder: Path) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder)))
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def close(self) -> None:
        """Stop serving; calling this twice is safe."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(waits.THREAD_END.seconds)


class Rules(PageRules):
    """Begins episodes on these pages and reads their reward."""

    def begin(self, driver: BrowserDriver, seed: int) -> str:
        """Start an episode on the page and return its task in words.

        Raises:
            GameError: The page is not one of MiniWoB++'s, or did not load.
        """
        found = driver.evaluate(_BEGIN, [seed, EPISODE_S])
        utterance = found.get("utterance", "") if isinstance(found, dict) else found
        if not isinstance(utterance, str) or not utterance:
            raise GameError("the page of MiniWoB++ did not start; is the package complete?")
        return " ".join(utterance.split())

    def reward(self, driver: BrowserDriver) -> float | None:
        """Return the page's raw reward when the episode is done, None before."""
        found = driver.evaluate(_REWARD)
        return float(found) if isinstance(found, (int, float)) else None

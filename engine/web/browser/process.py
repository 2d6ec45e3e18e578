"""The processes of a browser: Chromium, and Playwright's, which drives it. Both end for sure, also if they hang."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from typing import TYPE_CHECKING

from engine import waits
from engine.web.browser.chromium import blames_sandbox, may_use_sandbox, start_playwright
from engine.web.browser.limits import BrowserLimits, end_browser, hold_memory, new_mark, starter_of
from engine.web.browser.network import NO_WEBRTC, Gate, resolver_rules

if TYPE_CHECKING:
    from playwright.async_api import Browser, Playwright


END_S = 2 * waits.BROWSER_END.seconds
"""Seconds that their end takes at most."""


class BrowserProcess:
    """A browser that is started when it is needed. Belongs to one event loop.

    Args:
        executable: Path of a Chromium.
        gate: Limits what may be reached. Its hosts are fixed when the browser starts.
        limits: Timeouts and memory.

    Attributes:
        suspect: Whether it did not answer, so that another one is needed.
    """

    def __init__(self, executable: str, gate: Gate, limits: BrowserLimits) -> None:
        self.suspect = False
        self._executable, self._gate, self._limits = executable, gate, limits
        self._playwright: Playwright | None = None
        self._browser: Browser | None = None
        self._mark = ""
        """The argument by which the processes of the browser are known."""
        self._driver = 0
        """The process that drives the browser, 0 if it is not known."""

    @property
    def runs(self) -> bool:
        """Whether the browser is there."""
        return self._browser is not None and self._browser.is_connected()

    async def running(self) -> Browser:
        """Return the browser. Another one is started if there is none, or if it is suspect."""
        from playwright.async_api import Error, async_playwright

        if self.suspect:
            await self.end()
        if self._browser is not None and self._browser.is_connected():
            return self._browser
        if self._playwright is None:
            self._playwright = await start_playwright(async_playwright())
        try:
            browser = await self._launch(self._playwright, sandbox=may_use_sandbox())
        except Error as error:
            if not (may_use_sandbox() and blames_sandbox(str(error))):
                raise
            browser = await self._launch(self._playwright, sandbox=False)
        self._driver = starter_of(self._mark)
        hold_memory(self._mark, self._limits.memory)
        self._browser = browser
        return browser

    def kill(self) -> None:
        """End the browser at once. The next use needs another one."""
        self.suspect = True
        end_browser(self._mark)

    async def end(self) -> None:
        """End the browser and what drives it; calling this twice is safe."""
        browser, self._browser = self._browser, None
        playwright, self._playwright = self._playwright, None
        if browser is not None:
            with contextlib.suppress(Exception):
                await asyncio.wait_for(browser.close(), waits.BROWSER_END.seconds)
        if self._mark:
            end_browser(self._mark)
        if playwright is not None:
            try:
                await asyncio.wait_for(playwright.stop(), waits.BROWSER_END.seconds)
            except Exception:
                if self._driver:
                    with contextlib.suppress(OSError):
                        os.kill(self._driver, signal.SIGKILL)
        self.suspect = False

    async def _launch(self, playwright: Playwright, *, sandbox: bool) -> Browser:
        self._mark, marked = new_mark()
        return await playwright.chromium.launch(
            executable_path=self._executable, headless=True, timeout=self._limits.start * 1000,
            chromium_sandbox=sandbox,
            args=[f"--host-resolver-rules={resolver_rules(self._gate)}", *NO_WEBRTC, "--disable-dev-shm-usage",
                  "--disable-background-networking", "--no-proxy-server", "--no-first-run", "--disable-sync",
                  "--mute-audio", *marked],
        )  # fmt: skip

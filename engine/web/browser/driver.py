"""Drives a real browser with async Playwright, which runs in a thread with its own event loop."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from engine import waits
from engine.errors import GameError, UsageError
from engine.redaction import without_credentials
from engine.web.actions import Call, resolve
from engine.web.browser import private, tabs
from engine.web.browser.driver_base import BrowserDriver
from engine.web.browser.formats import formats
from engine.web.browser.limits import (
    LONGEST_ADDRESS,
    MOST_NOTES,
    MOST_UNREAD,
    BrowserLimits,
    PageEvents,
    clipped,
)
from engine.web.browser.network import WITHOUT_WEBRTC, Gate, Traffic
from engine.web.browser.process import END_S, BrowserProcess
from engine.web.browser.snapshot import Page, Seen, parse

if TYPE_CHECKING:
    from playwright.async_api import BrowserContext, Dialog
    from playwright.async_api import Page as Tab

    from engine.web.records import Look

T = TypeVar("T")


def _address(url: str) -> str:
    """Return the address of a tab without credentials, of limited length."""
    return without_credentials(clipped(url, LONGEST_ADDRESS))


class Driver(BrowserDriver):
    """One browser process with one fresh context at a time. Not thread-safe.

    Args:
        executable: Path of a Chromium.
        gate: Limits what may be reached. Its hosts are fixed when the browser starts.
        limits: Timeouts, memory and size.

    Raises:
        GameError: The browser does not start.
    """

    def __init__(self, executable: str, gate: Gate, limits: BrowserLimits | None = None) -> None:
        super().__init__(gate, limits)
        self._process = BrowserProcess(executable, gate, self.limits)
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="browser", daemon=True)
        self._thread.start()
        self._context: BrowserContext | None = None
        self._tabs: list[Tab] = []
        self._tab: Tab | None = None
        self._page = Page()
        self._private: set[tuple[Tab, str]] = set()
        """Handles of the boxes that took secrets when they were last seen."""
        self._notes: list[str] = []
        self._events = PageEvents()
        self._over = ""
        """Why the browser was ended in this episode, "" if it was not."""
        self._unread = 0
        """How often in a row the page could not be read."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._loading: set[Any] = set()
        """Requests for the pages of tabs that have not been answered yet."""
        self._closed = False
        try:
            self._do(self._process.running(), self.limits.start)
        except BaseException:
            self.close()
            raise

    # ---------------------------------------------------------------------------- from other threads

    def begin(self, urls: Sequence[str]) -> Seen:
        """Open a fresh context with a tab for each URL, and show the first tab.

        Raises:
            GameError: The browser cannot be started again, or does not answer.
        """
        margin = self.limits.margin
        return self._do(self._begin(urls), END_S + self.limits.start + len(urls) * (self.limits.load + margin) + margin)

    def leave(self) -> None:
        """Close all pages.

        Raises:
            GameError: The browser does not answer.
        """
        self._do(self._leave(), self.limits.action + self.limits.margin)

    def act(self, call: Call) -> Seen:
        """Perform an action on the last page seen, and read the page. A failed action is reported in `error`.

        Raises:
            GameError: The browser was lost.
        """
        return self._do(self._act(call), self.limits.load + 2 * self.limits.action + 6 * self.limits.margin)

    def look(self) -> Seen:
        """Read the current page."""
        return self._do(self._look(""), self.limits.snapshot + 2 * self.limits.margin)

    def evaluate(self, script: str, argument: Any = None) -> Any:
        """Run a script of this program (never an agent's) in the shown tab; return its value, None if it fails."""
        return self._do(self._evaluate(script, argument), self.limits.snapshot + self.limits.margin)

    def find(self, look: Look) -> str:
        """Return as text what a judge looks up on a site, "" if that fails."""
        limits = self.limits
        longest = limits.load + 2 * limits.action + limits.settle + 2 * limits.margin
        return self._do(self._find(look), longest)

    def screenshot(self, quality: int = 60, hidden: Sequence[str] = ()) -> bytes:
        """Return the shown tab as JPEG, b"" if that fails. Elements with the `hidden` handles are painted over."""
        return self._do(self._screenshot(quality, hidden), self.limits.snapshot + self.limits.margin)

    def close(self) -> None:
        """Close the browser and end the thread; calling this twice is safe."""
        if self._closed:
            return
        self._closed = True
        with contextlib.suppress(Exception):
            self._run(self._stop(), END_S + self.limits.margin)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(waits.BROWSER_END.seconds)
        if not self._thread.is_alive():
            self._loop.close()

    def _do(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        from playwright.async_api import Error

        if self._closed:
            work.close()
            raise GameError("the browser was closed")
        self._events.begin()
        try:
            done = self._run(work, timeout)
            if not self._over:
                return done
            why = ""
        except TimeoutError:
            self._process.suspect = True
            why = f"the browser did not answer within {timeout:.0f} s"
        except Error as error:
            why = f"the browser is gone: {tabs.first_line(error)}"
        finally:
            self._events.end()
        raise GameError(self._over or why)

    def _run(self, work: Coroutine[Any, Any, T], timeout: float) -> T:
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        waited = 0.0
        while True:
            part = min(self.limits.report_every, timeout - waited)
            try:
                return future.result(part)
            except TimeoutError:
                waited += part
                if future.done():
                    raise
                if waited >= timeout:
                    future.cancel()
                    raise
                self.on_wait(f"the browser has not answered for {waited:.0f} s")

    # --------------------------------------------------------------------------- in the loop's thread

    async def _stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await self._process.end()

    async def _leave(self) -> None:
        if self._context is not None:
            context, self._context = self._context, None
            try:
                await asyncio.wait_for(context.close(), self.limits.action)
            except Exception:
                self._process.suspect = True
        self._tabs, self._tab, self._over, self._unread = [], None, "", 0
        self._loading.clear()

    async def _begin(self, urls: Sequence[str]) -> Seen:
        await self._leave()
        self._notes = []
        self._private.clear()
        browser = await self._process.running()
        self.traffic = Traffic()
        self.gate.blocked = 0
        self._context = context = await browser.new_context(
            viewport={"width": self.limits.width, "height": self.limits.height}, accept_downloads=False,
            service_workers="block", locale="en-US", timezone_id="UTC",
        )  # fmt: skip
        context.set_default_timeout(self.limits.action * 1000)
        context.set_default_navigation_timeout(self.limits.load * 1000)
        await context.add_init_script(WITHOUT_WEBRTC)
        await context.route("**/*", lambda route: self.gate.route(route))
        await context.route_web_socket("**/*", lambda socket: self._refuse_socket(socket))
        traffic = self.traffic
        context.on("requestfinished", lambda request: self._later(traffic.finished(request)))
        context.on("request", lambda request: self._requested(request) if context is self._context else None)
        context.on("requestfinished", lambda request: self._loading.discard(request))
        context.on("requestfailed", lambda request: self._loading.discard(request))
        context.on("page", lambda tab: self._opened(tab) if context is self._context else None)
        error = ""
        for url in urls:
            await context.new_page()
            error = error or await self._goto(self._tabs[-1], url)
        if self._tabs:
            self._tab = self._tabs[0]
        self._notes = []
        return await self._look(error, waited=bool(error))

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = self._loop.create_task(self._quietly(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    @staticmethod
    async def _quietly(work: Coroutine[Any, Any, None]) -> None:
        with contextlib.suppress(Exception):  # The page may have been closed.
            await work

    def _refuse_socket(self, socket: Any) -> None:
        if self.gate.allows(socket.url):
            socket.connect_to_server()
        else:
            self.gate.count(socket.url)
            self._later(socket.close())

    def _count(self, what: str) -> None:
        """Count something that pages do. If it is too much, end the browser."""
        excess = self._events.count(what)
        if excess:
            self._end(excess)

    def _end(self, why: str) -> None:
        """End the browser at once. The action that is running fails, and the next episode has another browser."""
        self._over = self._over or why
        self._process.kill()

    def _note(self, text: str) -> None:
        if len(self._notes) < MOST_NOTES:
            self._notes.append(clipped(text, 300))

    def _requested(self, request: Any) -> None:
        self._count("requests")
        self._loading.discard(request.redirected_from)
        if request.is_navigation_request() and tabs.is_for_a_tab(request):
            self._count("page loads")
            self._loading.add(request)
        # Routes do not see redirects. The resolver rules block other hosts, but not other ports of an allowed host.
        if request.redirected_from is not None and not self.gate.allows(request.url):
            self.gate.count(request.url)
            if request.is_navigation_request():
                self._later(self._emptied(request))

    @staticmethod
    async def _emptied(request: Any) -> None:
        """Empty the frame that was redirected: a tab, or a frame inside a page, which stays.

        A new tab may not have its frame yet; that one keeps the browser's error page.
        """
        await request.frame.goto("about:blank")

    def _opened(self, tab: Tab) -> None:
        self._count("new tabs")
        if self._tab is not None:
            self._note("a new tab opened and is shown now")
        self._tabs.append(tab)
        self._tab = tab
        tab.on("dialog", lambda dialog: self._later(self._answer(dialog)))
        tab.on("close", lambda _: self._gone(tab))
        tab.on("download", lambda download: self._download(download.suggested_filename))
        tab.on("crash", lambda _: self._crashed() if tab in self._tabs else None)

    def _gone(self, tab: Tab) -> None:
        if tab in self._tabs:
            self._tabs.remove(tab)
        if self._tab is tab:
            self._tab = self._tabs[-1] if self._tabs else None

    def _download(self, name: str) -> None:
        self._count("downloads")
        self._note(f"refused to download {name[:100]!r}")

    def _crashed(self) -> None:
        self._end(f"a page crashed; {self.limits.memory} MiB are the limit of its memory")

    async def _answer(self, dialog: Dialog) -> None:
        self._count("dialogs")
        self._note(f"a dialog of type {dialog.type} said {dialog.message[:200]!r} and was accepted")
        await dialog.accept()

    async def _act(self, call: Call) -> Seen:
        from playwright.async_api import Error

        self._notes = []
        blocked = self.gate.blocked
        error = ""
        try:
            if not self._process.runs:
                raise GameError("the browser is gone: it was ended from outside")
            await self._perform(call)
        except UsageError as wrong:
            error = str(wrong)
        except (Error, TimeoutError) as wrong:
            if not self._process.runs:
                raise
            error = tabs.first_line(wrong)
        if self.gate.blocked > blocked:
            count = self.gate.blocked - blocked
            self._note(f"{count} request(s) to hosts outside of the task were refused")
        return await self._look(error, waited=bool(error) and call.name == "goto")

    async def _perform(self, call: Call) -> None:
        if self._context is None:
            raise GameError(self._over or "no page is open")
        name, given = call.name, call.arguments
        if name == "new_tab" or self._tab is None:
            await self._context.new_page()
            self._notes = []
        tab = self._tab
        assert tab is not None
        if call.target is not None:
            node = resolve(call.target, self._page)
            await tabs.on_element(tab, call, node)
        elif name == "scroll":
            await tab.mouse.wheel(float(str(given[0])), float(str(given[1])))
        elif name == "keyboard_press":
            await tab.keyboard.press(str(given[0]))
        elif name == "keyboard_type":
            await tab.keyboard.type(str(given[0]))
        elif name == "goto":
            wrong = await self._goto(tab, str(given[0]))
            if wrong:
                raise UsageError(wrong)
        elif name == "go_back":
            await tab.go_back(wait_until="domcontentloaded")
        elif name == "go_forward":
            await tab.go_forward(wait_until="domcontentloaded")
        elif name == "tab_close":
            await tab.close()
        elif name == "tab_focus":
            index = int(str(given[0]).partition(".")[0])
            if not 0 <= index < len(self._tabs):
                raise UsageError(f"there are only the tabs 0 to {len(self._tabs) - 1}")
            self._tab = self._tabs[index]
            await self._tab.bring_to_front()

    async def _goto(self, tab: Tab, url: str) -> str:
        """Load a page; return an error message, "" if it worked."""
        from playwright.async_api import Error

        if refused := self.refusal(url):
            return refused
        try:
            await tab.goto(url, wait_until="domcontentloaded")
        except (Error, TimeoutError) as error:
            return f"{without_credentials(url)[:120]} did not load: {without_credentials(tabs.first_line(error))}"
        return ""

    async def _look(self, error: str, *, waited: bool = False) -> Seen:
        """Read the shown page; `waited` says that its loading was waited for, in vain."""
        from playwright.async_api import Error

        if self._over:
            raise GameError(self._over)
        if (tab := self._tab) is None:
            self._page = Page()
            return Seen(self._page, error or "no tab is open; new_tab() opens one", tuple(self._notes))
        text, title = "", ""
        try:
            tab = await self._loaded(tab, self.limits.settle if waited else self.limits.load)
            if silent := await tabs.without_silent_frames(tab, self.limits.settle):
                self._note(f"{silent} frame(s) did not answer and were emptied")
            text = await tabs.snapshot(tab, self.limits.snapshot, self.limits.settle)
            title = await asyncio.wait_for(tab.title(), self.limits.settle)
            self._unread = 0
        except (Error, TimeoutError) as wrong:
            if not self._process.runs:
                raise
            if "crashed" in str(wrong):
                self._crashed()
            self._unread += 1
            if self._unread >= MOST_UNREAD:
                self._end(f"the page could not be read {MOST_UNREAD} times in a row")
            late = isinstance(wrong, TimeoutError)
            error = error or f"the page cannot be read now: {'it does not answer' if late else tabs.first_line(wrong)}"
        if self._over:
            raise GameError(self._over)
        if self._tab not in (tab, None):  # It opened while this one was read.
            return await self._look(error)
        url = _address(tab.url)
        secrets = await self._take_page(tab, text, url, title)
        if self._page.cut:
            self._note("the page is too long; a part of it was left out")
        if self.traffic.full:
            self._note("the pages have sent so much that no more of it is recorded in this episode")
        urls = tuple(_address(each.url) for each in self._tabs)
        active = self._tabs.index(tab) if tab in self._tabs else 0
        return Seen(self._page, error, tuple(self._notes), urls, active, secrets)

    async def _take_page(self, tab: Tab, text: str, url: str, title: str) -> frozenset[str]:
        """Parse a page, without what its boxes for secrets hold; return that."""
        page = parse(text, url, title)
        found = await private.boxes(tab, page, self.limits.settle)
        self.traffic.fields |= found.names
        self._private |= {(tab, ref) for ref in found.refs}
        refs = frozenset(ref for owner, ref in self._private if owner is tab)
        forms = await formats(tab, page, self.limits.settle)
        self._page = parse(text, url, title, refs, forms) if refs or forms else page
        return private.typed_in(page, refs)

    async def _loaded(self, tab: Tab, limit: float) -> Tab:
        """Wait `limit` seconds until pages that are loading can be read; return the tab that is then shown."""
        from playwright.async_api import TimeoutError as Late

        end = self._loop.time() + limit
        await tabs.wait_until_settled(tab, self.limits.settle)
        while self._loading and self._loop.time() < end:
            await asyncio.sleep(0.02)
        tab = self._tab or tab
        left = max(
            end - self._loop.time(), self.limits.settle
        )  # Scripts of a page may take longer than its text.
        try:
            await tab.wait_for_load_state("domcontentloaded", timeout=left * 1000)
        except Late:
            self._loading.add(None)
        if self._loading:
            self._note(f"a page was still loading after {limit:.0f} s")
            self._loading.clear()
        await tabs.wait_until_settled(tab, self.limits.settle)
        return tab

    async def _evaluate(self, script: str, argument: Any) -> Any:
        from playwright.async_api import Error

        if self._tab is None:
            return None
        with contextlib.suppress(Error, TimeoutError):
            return await asyncio.wait_for(self._tab.evaluate(script, argument), self.limits.snapshot)
        return None

    async def _find(self, look: Look) -> str:
        from playwright.async_api import Error

        shown, tab = self._tab, self._tab
        if look.url and self._context is not None:
            tab = await self._context.new_page()
        if tab is None:
            return ""
        try:
            if look.url:
                if await self._goto(tab, look.url):
                    return ""
                with contextlib.suppress(
                    Error, TimeoutError
                ):  # A page that keeps sending requests is read as it is after this time.
                    await tab.wait_for_load_state("networkidle", timeout=self.limits.settle * 1000)
            return await tabs.found(tab, look, self.limits.action)
        except (Error, TimeoutError):
            return ""
        finally:
            if look.url:
                with contextlib.suppress(Error, TimeoutError):
                    await asyncio.wait_for(tab.close(), self.limits.action)
            self._tab = shown

    async def _screenshot(self, quality: int, hidden: Sequence[str]) -> bytes:
        from playwright.async_api import Error

        if self._tab is not None and not self._unread:
            with contextlib.suppress(Error, TimeoutError):
                mask = [self._tab.locator(f"aria-ref={ref}") for ref in hidden]
                return await self._tab.screenshot(type="jpeg", quality=quality, mask=mask)
        return b""

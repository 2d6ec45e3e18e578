"""Operations on one tab: acting on an element, reading the page, waiting until it can be read."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

from engine.web import dates

if TYPE_CHECKING:
    from playwright.async_api import Frame, Locator
    from playwright.async_api import Page as Tab

    from engine.web.actions import Call
    from engine.web.browser.snapshot import PageNode
    from engine.web.records import Look

_TWO_FRAMES = """() => new Promise(done => {
  setTimeout(done, 200);
  requestAnimationFrame(() => requestAnimationFrame(done));
})"""
_AT_REST = """limit => new Promise(done => {
  const end = performance.now() + limit;
  const moves = each => each.playState === 'running' && isFinite(each.effect?.getComputedTiming().endTime ?? Infinity);
  const check = () => {
    if (performance.now() > end || !document.getAnimations().some(moves)) done();
    else setTimeout(check, 20);
  };
  check();
})"""
_READABLE = """() => {
  for (const list of document.querySelectorAll('select[aria-hidden]')) list.removeAttribute('aria-hidden');
  for (const pen of document.querySelectorAll('[contenteditable]:not([role])')) {
    if (pen.isContentEditable && !pen.parentElement?.isContentEditable) pen.setAttribute('role', 'textbox');
  }
  for (const end of document.querySelectorAll('br')) {
    const text = end.previousSibling;
    if (end.isContentEditable) continue;
    if (text?.nodeType !== Node.TEXT_NODE) end.before(' ');
    else if (!/\\s$/.test(text.data)) text.data += ' ';
  }
}"""
"""Puts a space before each end of a line: the snapshot leaves such ends out and would join the words around them.

Lists that a script has hidden behind one of its own can be read and chosen from; the other one shows what was chosen.
What can be edited is a text box for the snapshot, too.
"""
MOTION_MS = 600
"""Longest wait for animations, in milliseconds, so that a dialog that slides in is read as part of the page."""


async def on_element(tab: Tab, call: Call, node: PageNode) -> None:
    """Perform an action on the element of a node. A date is typed in the format of its field.

    Raises:
        playwright.async_api.Error: It failed.
    """
    element = tab.locator(f"aria-ref={node.ref}")
    given = [str(each) for each in call.arguments]
    if call.name == "click":
        await element.click()
    elif call.name == "dblclick":
        await element.dblclick()
    elif call.name == "hover":
        await element.hover()
    elif call.name == "focus":
        await element.focus()
    elif call.name == "clear":
        await element.clear()
    elif call.name == "fill":
        await _fill(element, dates.fit_date(given[0], node.state("format")))
    elif call.name == "press":
        await element.press(given[0])
    elif call.name == "select_option":
        options = call.arguments[0]
        labels = [str(each) for each in options] if isinstance(options, list | tuple) else given
        await element.select_option(labels)


async def _fill(element: Locator, text: str) -> None:
    """Put a text into a field in place of what it has. What does not take it at once is typed key by key.

    Scripts that give a field a mask see keys, and may put back what was there when a whole text comes at once.
    """
    await element.fill(text)
    if text and "\n" not in text and await element.evaluate("e => e.value ?? null") not in (None, text):
        await element.select_text()
        await element.press_sequentially(text)


async def without_silent_frames(tab: Tab, settle: float) -> int:
    """Prepare a page for its snapshot, and empty the frames in it that do not answer within `settle` seconds.

    Such a frame waits for a server that it was sent to. The snapshot would wait for it until its own limit.

    Returns:
        The number of these frames.
    """
    frames = tab.frames
    apart = (asyncio.wait_for(frame.evaluate(_READABLE), settle) for frame in frames)
    answers = await asyncio.gather(*apart, return_exceptions=True)
    silent = [frame for frame, answer in zip(frames, answers, strict=True) if isinstance(answer, TimeoutError)]
    if tab.main_frame in silent:
        return 0  # The page itself hangs.
    await asyncio.gather(*(asyncio.wait_for(_empty(frame), settle) for frame in silent), return_exceptions=True)
    return len(silent)


async def _empty(frame: Frame) -> None:
    """Put an empty page into a frame. The page around it does that, since the frame itself does not answer."""
    element = await frame.frame_element()
    await element.evaluate("e => { e.removeAttribute('srcdoc'); e.src = 'about:blank'; }")


async def snapshot(tab: Tab, limit: float, settle: float) -> str:
    """Return the page's accessibility snapshot with handles and boxes; `limit` and `settle` are in seconds."""
    from playwright.async_api import Error
    from playwright.async_api import TimeoutError as Late

    for _ in range(2):
        # While a page is being replaced, reading it fails, but the next one can be read. A slow page is not retried.
        try:
            return await tab.aria_snapshot(mode="ai", boxes=True, timeout=limit * 1000)
        except Late:
            raise
        except Error:
            await tab.wait_for_load_state("domcontentloaded", timeout=settle * 1000)
    return await tab.aria_snapshot(mode="ai", boxes=True, timeout=limit * 1000)


async def wait_until_settled(tab: Tab, limit: float) -> None:
    """Wait for two frames, by which event handlers have drawn their changes, and for animations to end.

    Each of the two takes at most `limit` seconds.
    """
    from playwright.async_api import Error

    with contextlib.suppress(Error, TimeoutError):
        await asyncio.wait_for(tab.evaluate(_TWO_FRAMES), limit)
        await asyncio.wait_for(tab.evaluate(_AT_REST, MOTION_MS), limit)


async def found(tab: Tab, look: Look, limit: float) -> str:
    """Return what a judge looks up on the shown page; each script may take `limit` seconds."""
    from playwright.async_api import Error

    for statement in look.prepare:
        with contextlib.suppress(Error, TimeoutError):
            await asyncio.wait_for(tab.evaluate(f"() => {{ {statement} }}"), limit)
    if not look.locator:
        return await tab.content()
    value = await asyncio.wait_for(tab.evaluate(f"() => {look.locator}"), limit)
    return "" if value is None else str(value)


def is_for_a_tab(request: Any) -> bool:
    """Whether a request is for the page of a tab, not for a frame inside a page."""
    from playwright.async_api import Error

    try:
        return request.frame.parent_frame is None
    except Error:  # A popup requests its page before its frame exists.
        return True


def first_line(error: BaseException) -> str:
    """Return the first line of an error of Playwright, without its prefix and call log."""
    text = str(error).strip() or type(error).__name__
    line = text.splitlines()[0]
    return line.partition(": ")[2] if line.startswith(("Page.", "Locator.", "Browser")) else line

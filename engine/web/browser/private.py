"""Asks the browser which boxes of a page take secrets, whatever language their labels are in.

A box takes secrets if it is of the type `password`, or if its `autocomplete` names a password, a one-time code or the
numbers of a payment card. A box that took secrets once stays one: pages show a password by changing the type.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine import waits
from engine.web.browser.snapshot import Page, PageNode

if TYPE_CHECKING:
    from playwright.async_api import Page as Tab

LIKELY = frozenset({"textbox", "searchbox", "spinbutton", "combobox"})
"""Roles that boxes have unless their page says otherwise."""
MOST_ASKED = 400
PATIENCE_S = waits.BROWSER_ELEMENT.seconds
"""Time to find one element. It is only used up where the page changes while it is read."""

IS_SECRET = """e => {
  const asked = ['current-password', 'new-password', 'one-time-code', 'cc-number', 'cc-csc', 'cc-exp',
    'cc-exp-month', 'cc-exp-year'];
  const said = name => (e.getAttribute(name) || '').toLowerCase();
  return said('type') === 'password' || said('autocomplete').split(/\\s+/).some(word => asked.includes(word));
}"""
IN_FRAME = f"""() => {{
  const secret = {IS_SECRET};
  const found = {{shown: 0, names: [], bids: []}};
  const look = root => {{
    for (const e of root.querySelectorAll('*')) {{
      if (e.shadowRoot) look(e.shadowRoot);
      if (!e.matches('input, textarea, select, [contenteditable]') || !secret(e)) continue;
      found.shown += e.getClientRects().length > 0;
      found.names.push(...[e.name, e.id].filter(name => typeof name === 'string' && name));
      if (e.getAttribute('bid')) found.bids.push(e.getAttribute('bid'));
    }}
  }};
  look(document);
  return found;
}}"""
"""Returns how many such boxes a frame shows, their names, and the marks that BrowserGym gave them."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """The boxes of a page that take secrets.

    Attributes:
        refs: Their handles.
        names: Their names and ids in the page's forms.
    """

    refs: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()


async def boxes(tab: Tab, page: Page, limit: float) -> Boxes:
    """Return the boxes of a page that take secrets now. Pages without any cost one call for each frame.

    Args:
        tab: The browser's tab.
        page: What was read of it.
        limit: Seconds for each frame.
    """
    from playwright.async_api import Error

    if not page.nodes:
        return Boxes()
    shown, unread, names = 0, False, set[str]()
    asked = (asyncio.wait_for(frame.evaluate(IN_FRAME), limit) for frame in tab.frames)
    for found in await asyncio.gather(*asked, return_exceptions=True):
        try:
            if isinstance(found, BaseException):
                raise found
            shown += int(found["shown"])
            names.update(map(str, found["names"]))
        except (Error, TimeoutError, KeyError, TypeError, ValueError):
            unread = True
    if not shown and not unread:
        return Boxes(names=frozenset(names))
    first = [node for node in page.nodes if node.ref and node.role in LIKELY]
    refs = await _asked(tab, first)
    if len(refs) < shown:  # A box may have the role of something else.
        refs |= await _asked(tab, [node for node in page.nodes if node.ref and node.role not in LIKELY])
    return Boxes(frozenset(refs), frozenset(names))


async def _asked(tab: Tab, nodes: Iterable[PageNode]) -> set[str]:
    asked = list(nodes)[:MOST_ASKED]
    answers = await asyncio.gather(*(_is_secret(tab, node) for node in asked))
    return {node.ref for node, secret in zip(asked, answers, strict=True) if secret}


async def _is_secret(tab: Tab, node: PageNode) -> bool:
    from playwright.async_api import Error

    with contextlib.suppress(Error, TimeoutError):
        element = tab.locator(f"aria-ref={node.ref}")
        return bool(await element.evaluate(IS_SECRET, timeout=PATIENCE_S * 1000))
    return node.role in LIKELY  # What cannot be asked is hidden rather than shown.


def typed_in(page: Page, refs: frozenset[str]) -> frozenset[str]:
    """Return what the boxes with these handles hold."""
    found = set()
    for index, node in enumerate(page.nodes):
        if node.ref in refs:
            found |= {node.value, *(child.value for child in page.children(index))}
    return frozenset(value for value in found if value.strip("•*●∙ "))

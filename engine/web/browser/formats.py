"""Asks the browser in which format the fields of a page take dates and times.

Fields of the types `date`, `datetime-local`, `month` and `time` have one each. Pickers made by scripts name theirs in
the placeholder, or in an attribute of the field or of what is right around it, such as `data-date-format`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import TYPE_CHECKING

from engine.web import dates
from engine.web.browser.private import MOST_ASKED, PATIENCE_S
from engine.web.browser.snapshot import Page, PageNode

if TYPE_CHECKING:
    from playwright.async_api import Page as Tab

ROLES = frozenset({"textbox", "searchbox", "combobox"})
_SAID = """e => {
  if (!e.matches('input')) return [];
  const own = {date: 'yyyy-mm-dd', 'datetime-local': 'yyyy-mm-ddTHH:MM', month: 'yyyy-mm', time: 'HH:MM'}[e.type];
  if (own) return [own];
  const said = [e.placeholder];
  for (const {name, value} of [e, e.parentElement].flatMap(each => [...each?.attributes || []])) {
    if (/format$/.test(name)) said.push(value);
    else if (/mask$/.test(name)) said.push(...[...value.matchAll(/format['"]?: *['"]([^'"]+)/gi)].map(m => m[1]));
  }
  return said.filter(each => /^[ymdhst:/. -]{5,20}$/i.test(each));
}"""
"""Returns the texts that may be the format of a field."""
_ANY = f"() => [...document.querySelectorAll('input')].some(e => ({_SAID})(e).length)"


async def formats(tab: Tab, page: Page, limit: float) -> Mapping[str, str]:
    """Return the formats of the fields for dates and times, by handle. Pages without any cost one call for each frame.

    Args:
        tab: The browser's tab.
        page: What was read of it.
        limit: Seconds for each frame.
    """
    fields = [node for node in page.nodes if node.ref and node.role in ROLES][:MOST_ASKED]
    if not fields:
        return {}
    asked = (asyncio.wait_for(frame.evaluate(_ANY), limit) for frame in tab.frames)
    if not any(found is True for found in await asyncio.gather(*asked, return_exceptions=True)):
        return {}
    found = await asyncio.gather(*(_format(tab, node) for node in fields))
    return {node.ref: form for node, form in zip(fields, found, strict=True) if form}


async def _format(tab: Tab, node: PageNode) -> str:
    from playwright.async_api import Error

    with contextlib.suppress(Error, TimeoutError):
        said = await tab.locator(f"aria-ref={node.ref}").evaluate(_SAID, timeout=PATIENCE_S * 1000)
        return next((form for form in map(str, said) if dates.is_format(form)), "")
    return ""

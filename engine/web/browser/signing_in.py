"""Signs in before an episode begins: fills in login forms by their labels, as a person would."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from engine.errors import UsageError
from engine.redaction import without_credentials
from engine.web.actions import Call, Target, resolve
from engine.web.browser.driver_base import BrowserDriver
from engine.web.browser.snapshot import Page, PageNode, Seen, plain_name
from engine.web.choices import TYPED, is_secret
from engine.web.records import SignIn


def sign_in(
    driver: BrowserDriver, forms: Sequence[SignIn], starts: Sequence[str], secrets: set[str]
) -> tuple[Seen | None, str]:
    """Fill in forms in a fresh context, then open the start pages of an episode, each in its own tab.

    Args:
        driver: Drives the browser.
        forms: The forms, in order.
        starts: Addresses of the start pages.
        secrets: Gets what was typed into boxes for secrets.

    Returns:
        What is shown then, and "". If it failed, None and an error message; if there are no forms, None and "".

    Raises:
        GameError: The browser was lost.
    """
    if not forms:
        return None, ""
    seen = driver.begin((forms[0].url,))
    for number, form in enumerate(forms):
        try:
            if number:
                seen = driver.act(Call("goto", None, (form.url,)))
            _fill_in(driver, form, seen, secrets)
        except UsageError as error:
            return None, f"Error: signing in at {without_credentials(form.url)} failed: {error}"
    for number, url in enumerate(starts):
        if number:
            driver.act(Call("new_tab"))
        seen = driver.act(Call("goto", None, (url,)))
    if len(starts) > 1:
        seen = driver.act(Call("tab_focus", None, (0,)))
    driver.traffic.entries.clear()  # Requests of signing in are not the agent's.
    return seen, ""


def _fill_in(driver: BrowserDriver, form: SignIn, seen: Seen, secrets: set[str]) -> None:
    target = None
    for label, value in form.labels.items():
        target = _box(seen.page, label)
        if is_secret(resolve(target, seen.page)):
            secrets.add(value)
        seen = driver.act(Call("fill", target, (value,)))
        if seen.error:
            raise UsageError(seen.error)
    if form.button:
        buttons = [n for n in seen.page.nodes if n.role == "button" and plain_name(n.name) == form.button]
        if not buttons:
            raise UsageError(f"the page has no button {form.button!r}")
        seen = driver.act(Call("click", Target(ref=buttons[-1].ref)))
    elif target is not None:
        seen = driver.act(Call("press", target, ("Enter",)))
    if seen.error:
        raise UsageError(seen.error)


def _box(page: Page, label: str) -> Target:
    """Return the text box with this label: one with exactly this name, else one whose name contains it.

    Raises:
        UsageError: There is none.
    """
    boxes: list[PageNode] = [n for n in page.nodes if n.role in TYPED and n.ref]
    for wanted in (
        lambda n: plain_name(n.name).rstrip("* :") == label.rstrip("* :"),
        lambda n: label.casefold() in n.name.casefold(),
    ):
        with contextlib.suppress(StopIteration):
            node = next(filter(wanted, boxes))
            return Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)
    raise UsageError(f"the page has no text box {label!r}")

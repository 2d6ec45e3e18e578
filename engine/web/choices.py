"""Which actions a page offers, as far as they can be counted, and what the task gives to be typed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from engine.web.actions import Call, Target
from engine.web.snapshot import Node, Page, plain_name

CLICKED = frozenset({
    "button", "link", "checkbox", "radio", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "switch",
    "treeitem", "gridcell", "option", "summary",
})  # fmt: skip
TYPED = frozenset({"textbox", "searchbox", "spinbutton"})
SECRET = re.compile(r"(?i)pass(word|wd|phrase|code)|secret|\bpin\b|cvv|cvc|api.?key|token")
MOST = 300
MOST_ANSWERS = 40
SECRET_VALUE = "[secret {}]"
REDACTED = "[redacted]"
_QUOTED = re.compile(r"\"([^\"]{1,80})\"|“([^”]{1,80})”|(?<!\w)'([^']{1,80})'(?!\w)")
_NUMBER = re.compile(r"(?<![\w.])\$?(\d+(?:[.,/:-]\d+)*)(?![\w])")
_NAMED = re.compile(r"(?<![.?!] )(?<!^)\b([A-Z][\w'-]*(?:\s+(?:[A-Z0-9][\w'.-]*))*)")


def values_of(intent: str) -> tuple[str, ...]:
    """Return what the words of a task give to be typed: quoted texts, capitalised names, numbers; in order."""
    found: list[tuple[int, str]] = []
    for match in _QUOTED.finditer(intent):
        found.append((match.start(), next(filter(None, match.groups()))))
    rest = _QUOTED.sub(lambda m: " " * len(m.group()), intent)
    found += [(m.start(), m.group(1).rstrip(".,")) for m in _NAMED.finditer(rest)]
    found += [(m.start(), m.group(1)) for m in _NUMBER.finditer(rest)]
    return tuple(dict.fromkeys(value for _, value in sorted(found)))[:8]


def is_secret(node: Node) -> bool:
    """Whether what is typed there must not be seen."""
    return node.role in TYPED and bool(SECRET.search(node.name))


def offered(page: Page, intent: str, *, answers: bool = True, back: bool = True) -> tuple[str, ...]:
    """Return the page's possible actions in reading order, then those every page has; at most about MOST.

    Texts to be typed come from the task alone; answers from the task and from short texts of the page.

    Args:
        answers: Whether telling the user something ends the task.
        back: Whether there is a page to go back to.
    """
    values = values_of(intent)
    actions: list[str] = []
    for index, node in enumerate(page.nodes):
        if node.ref and not node.state("disabled"):
            actions += _of(page, index, node, values)
    actions = list(dict.fromkeys(actions))[:MOST]
    actions.append(Call("scroll", None, (0, 600)).text)
    if back:
        actions.append(Call("go_back").text)
    if answers:
        said = [*_short_texts(page.nodes, values), "done"]
        actions += [Call("send_msg_to_user", None, (answer,)).text for answer in said]
    return tuple(dict.fromkeys(actions))


def _of(page: Page, index: int, node: Node, values: tuple[str, ...]) -> list[str]:
    target = Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)
    if node.role in TYPED:
        secret = is_secret(node)
        texts = [SECRET_VALUE.format(i + 1) for i in range(len(values))] if secret else values
        typed = [Call("fill", target, (text,)).text for text in texts if secret or text != node.value]
        return [*typed, Call("press", target, ("Enter",)).text] if node.value else typed
    if node.role in ("combobox", "listbox"):
        options = [c for c in page.children(index) if c.role == "option"]
        if options:
            return [
                Call("select_option", target, (c.name,)).text
                for c in options
                if c.name and not c.state("selected")
            ]
        typed = [Call("fill", target, (text,)).text for text in values]
        return [Call("click", target).text, *typed]
    return [Call("click", target).text] if node.role in CLICKED else []


def _short_texts(nodes: Iterable[Node], values: tuple[str, ...]) -> list[str]:
    """Return texts that could be an answer: cells, definitions and the like."""
    found: dict[str, None] = {}
    for node in nodes:
        if node.role in ("cell", "definition", "text", "heading", "paragraph", "strong", "generic", "status"):
            text = " ".join((node.value or node.name).split())
            if 0 < len(text) <= 40 and any(c.isalnum() for c in text):
                found[text] = None
    return list(found)[:MOST_ANSWERS]

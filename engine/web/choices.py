"""Which actions a page offers, as far as they can be counted, and what the task gives to be typed."""

from __future__ import annotations

import re

from engine.web.actions import Call, Target
from engine.web.browser.snapshot import PLAIN, Node, Page, plain_name
from engine.web.drawing.lines import lines_of
from engine.web.states.wording import topics
from engine.web.tasks.answers import ranked

CLICKED = frozenset({
    "button", "link", "checkbox", "radio", "tab", "menuitem", "menuitemcheckbox", "menuitemradio", "switch",
    "treeitem", "gridcell", "option", "summary",
})  # fmt: skip
TYPED = frozenset({"textbox", "searchbox", "spinbutton"})
SELECTED = frozenset({"combobox", "listbox", "slider"})
CONTROLS = CLICKED | TYPED | SELECTED
MOST_INSIDE = 12
"""Elements that something plain may hold and still be one thing to click: not a page with a hand for a pointer."""
SECRET = re.compile(r"(?i)pass(word|wd|phrase|code)|secret|\bpin\b|cvv|cvc|api.?key|token")
SEARCH = re.compile(r"(?i)search|find|look up|query|keyword|^q$|filter")
MOST = 300
DONE = "done"
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


def is_search(role: str, name: str) -> bool:
    """Whether what is typed there is looked for."""
    return role == "searchbox" or (role in TYPED and bool(SEARCH.search(name)))


def is_secret(node: Node) -> bool:
    """Whether what is typed there must not be seen."""
    return node.role in TYPED and bool(SECRET.search(node.name))


def is_plain_control(page: Page, index: int) -> bool:
    """Whether a small element can be clicked though its role does not say so."""
    node = page.nodes[index]
    if not node.clickable or not node.ref or node.role not in PLAIN:
        return False
    after = page.nodes[index + 1 : index + 2 + MOST_INSIDE]
    return len(after) <= MOST_INSIDE or any(each.depth <= node.depth for each in after)


def with_controls(page: Page) -> list[bool]:
    """Return for each node whether there is a control below it."""
    found = [False] * len(page.nodes)
    for node in page.nodes:
        if node.ref and node.role in CONTROLS:
            above = node.parent
            while 0 <= above < len(found) and not found[above]:
                found[above] = True
                above = page.nodes[above].parent
    return found


def _target(node: Node) -> Target:
    return Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)


def offered(page: Page, intent: str, *, answers: bool = True, back: bool = True) -> tuple[str, ...]:
    """Return the page's possible actions in reading order, then those every page has; at most about MOST.

    Texts to be typed come from the task alone. Answers to a question are what the page says that could be one, see
    `engine.web.tasks.answers`; a task that asks nothing can only be said to be done.

    Args:
        answers: Whether telling the user something ends the task.
        back: Whether there is a page to go back to.
    """
    values, searched = values_of(intent), topics(intent)
    actions: list[str] = []
    inner = with_controls(page)
    for index, node in enumerate(page.nodes):
        if node.ref and not node.state("disabled"):
            actions += _of(page, index, node, values, searched)
            if not inner[index] and is_plain_control(page, index):
                actions.append(Call("click", _target(node)).text)
    actions = list(dict.fromkeys(actions))[:MOST]
    actions.append(Call("scroll", None, (0, 600)).text)
    if back:
        actions.append(Call("go_back").text)
    if answers:
        said = [answer.text for answer in ranked(lines_of(page, is_secret), intent, page.title)]
        actions += [Call("send_msg_to_user", None, (answer,)).text for answer in (*said, DONE)]
    return tuple(dict.fromkeys(actions))


def _of(page: Page, index: int, node: Node, values: tuple[str, ...], searched: tuple[str, ...]) -> list[str]:
    target = _target(node)
    if node.role in TYPED:
        secret = is_secret(node)
        texts = [SECRET_VALUE.format(i + 1) for i in range(len(values))] if secret else values
        if is_search(node.role, node.name):
            texts = tuple(dict.fromkeys((*values, *searched)))
        typed = [Call("fill", target, (text,)).text for text in texts if secret or text != node.value]
        typed.append(Call("click", target).text)  # Some open a calendar or a list.
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

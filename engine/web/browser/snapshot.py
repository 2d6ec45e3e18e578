"""Parses Playwright's accessibility snapshot of a page into the accessibility tree.

    - combobox "Sort by:" [ref=e7] [box=544,207,62,19]:
      - option "Name" [selected]
    - textbox "Note" [ref=e12]: "line: one"
    - 'button "a: b" [ref=e16]'
    - link "Blue kettle (3)" [ref=e3]:
      - /url: /catalogue/a_12/

The format is a subset of YAML: list items, in quotes if they contain a colon. Names are JSON strings.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from engine.redaction import REDACTED
from engine.texts import encodable
from engine.web.browser.limits import LONGEST_ADDRESS, LONGEST_PAGE, LONGEST_TEXT, LONGEST_TITLE, clipped

_ROLE = re.compile(r"[A-Za-z][\w-]*")
_NAME = re.compile(r'\s+("(?:[^"\\]|\\.)*"|/(?:[^/\\]|\\.)*/)')
_ATTRIBUTE = re.compile(r"\s+\[([\w-]+)(?:=([^\]]*))?\]")
_KEY = re.compile(r"- (?:'((?:[^']|'')*)'|\"((?:[^\"\\]|\\.)*)\"|([^'\"].*?))(?::(?: (.*))?)?$", re.DOTALL)
_COUNTER = re.compile(r"\s*\(\s*\d+(?:[.,]\d+)*\s*(?:items?|new|unread|results?)?\s*\)\s*$", re.IGNORECASE)
_PICTURE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd] ?")
"""Characters for private use: fonts of pictures have them, and a name with one could not be typed or read."""
PLAIN = frozenset({
    "generic", "listitem", "row", "cell", "paragraph", "article", "group", "figure", "img", "strong", "emphasis",
    "code", "term", "definition", "heading", "columnheader", "rowheader", "text",
})  # fmt: skip
"""Roles of elements that usually cannot be clicked. A hand as pointer shows that one can be clicked."""
LONGEST_NAME = 80
STATES = ("checked", "disabled", "expanded", "selected", "pressed", "active", "level", "invalid", "format")


@dataclass(frozen=True, slots=True)
class PageNode:
    """One node of the tree: an element or a piece of text.

    Attributes:
        role: ARIA role; "text" for bare text.
        name: Accessible name, as on the page.
        value: Contents of a text box, or an element's own text.
        ref: Playwright's handle in this snapshot, such as `f1e7`; "" if it has none.
        url: Target of a link, as written on the page.
        states: Such as ("checked", "true") or ("level", "2"); ("format", "yyyy-mm-dd") of a field for dates.
        box: x, y, width, height in CSS pixels, relative to the browser's window; None if unknown.
        depth: Depth in the tree, 0 for the outermost nodes.
        parent: Index of the parent in the page's nodes, -1 for none.
        ordinal: Number among the nodes with the same role and plain name, from 1.
        twins: Count of these nodes.
        clickable: Whether the pointer becomes a hand over it but not over the element around it.
        secret: Whether the browser says that it takes secrets (`engine.web.browser.private`). Then its value is
            `REDACTED`, or "" if it is empty.
    """

    role: str
    name: str = ""
    value: str = ""
    ref: str = ""
    url: str = ""
    states: tuple[tuple[str, str], ...] = ()
    box: tuple[float, float, float, float] | None = None
    depth: int = 0
    parent: int = -1
    ordinal: int = 1
    twins: int = 1
    clickable: bool = False
    secret: bool = False

    def state(self, name: str) -> str:
        """Return the value of a state, "true" for a state without a value, "" if it is not set."""
        return next((value for key, value in self.states if key == name), "")

    @property
    def label(self) -> str:
        """`role[name]`, followed by `#k` if there are twins. Counters such as "(3)" are removed."""
        mark = f"#{self.ordinal}" if self.twins > 1 else ""
        return f"{self.role}[{plain_name(self.name)}]{mark}"


@dataclass(frozen=True, slots=True)
class Page:
    """All nodes of a page in reading order, those in iframes included.

    Attributes:
        cut: Whether something was left out because it is too long.
    """

    nodes: tuple[PageNode, ...] = ()
    url: str = ""
    title: str = ""
    cut: bool = False

    def children(self, index: int) -> Iterator[PageNode]:
        """Yield the direct children of a node."""
        for node in self.nodes[index + 1 :]:
            if node.depth <= self.nodes[index].depth:
                return
            if node.parent == index:
                yield node

    def digest(self) -> str:
        """Return a hash of the page's text and states, without handles and boxes."""
        text = "\n".join(
            f"{n.depth} {n.role} {n.name} {n.value} {n.url} "
            + " ".join(f"{k}={v}" for k, v in n.states if k != "active")
            for n in self.nodes
        )
        return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def plain_name(name: str) -> str:
    """Return a name as actions use it: on one line, without a counter at its end or the marks that end a label."""
    name = _COUNTER.sub("", re.sub(r"\s+", " ", name).strip())
    return name.replace("]>", "] >").replace("]#", "] #")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the browser shows.

    Attributes:
        page: The page of the shown tab.
        error: Why the last action failed, "" if it did not.
        notes: Events without an action: dialogs, popups, refused downloads, aborted requests.
        tabs: URL of each tab.
        active: Index of the shown tab.
        secrets: What the page's boxes for secrets hold.
    """

    page: Page
    error: str = ""
    notes: tuple[str, ...] = ()
    tabs: tuple[str, ...] = ()
    active: int = 0
    secrets: frozenset[str] = frozenset()


def parse(
    text: str, url: str = "", title: str = "", secret: Collection[str] = (), formats: Mapping[str, str] | None = None
) -> Page:
    """Parse a snapshot. Lines that cannot be parsed become text nodes. Never raises.

    Args:
        text: The snapshot.
        url: Address of the page.
        title: Its title.
        secret: Handles of the elements that take secrets; what they hold is left out.
        formats: Formats of the fields for dates and times, by handle (`engine.web.browser.formats`).
    """
    cut = len(text) > LONGEST_PAGE
    text, url, title = text[:LONGEST_PAGE], clipped(url, LONGEST_ADDRESS), clipped(title, LONGEST_TITLE)
    text, url, title = _PICTURE.sub("", encodable(text)), encodable(url), encodable(title)
    nodes: list[PageNode] = []
    above: list[tuple[int, int]] = []  # (indent, index) of the open elements
    iframes: dict[int, tuple[float, float]] = {}
    for line in text.splitlines():
        stripped = line.lstrip(" ")
        if not stripped:
            continue
        indent = len(line) - len(stripped)
        while above and above[-1][0] >= indent:
            above.pop()
        parent = above[-1][1] if above else -1
        if len(stripped) > LONGEST_TEXT:
            stripped, cut = stripped[:LONGEST_TEXT], True
        key, value = _split(stripped)
        if key.startswith("/"):
            if parent >= 0 and key == "/url":
                nodes[parent] = replace(nodes[parent], url=value)
            continue
        if key == "text" and not value:
            continue
        node = replace(_element(key, value), depth=len(above), parent=parent)
        if node.secret or node.ref in secret or (parent >= 0 and nodes[parent].secret):
            node = replace(node, secret=True, value=REDACTED if node.value else "")
        if formats and node.ref in formats:
            node = replace(node, states=(*node.states, ("format", formats[node.ref])))
        index = len(nodes)
        shift = iframes.get(parent, (0.0, 0.0))
        if node.box is not None:
            x, y, width, height = node.box
            node = replace(node, box=(x + shift[0], y + shift[1], width, height))
        # Boxes inside a frame are relative to the frame.
        iframes[index] = node.box[:2] if node.role == "iframe" and node.box else shift
        nodes.append(node)
        above.append((indent, index))
    _name_clickable(nodes)
    _name_links(nodes)
    return Page(tuple(_numbered(nodes)), url, title, cut)


def _name_clickable(nodes: list[PageNode]) -> None:
    """Name clickable nodes without a name by the text they contain, so that actions can tell them apart."""
    for index, node in enumerate(nodes):
        if not node.clickable or node.name or not node.ref or node.role not in PLAIN:
            continue
        words, used = [node.value], len(node.value)
        for inner in nodes[index + 1 :]:
            if inner.depth <= node.depth or used > LONGEST_NAME:
                break
            words.append(inner.value or inner.name)
            used += len(words[-1])
        name = " ".join(" ".join(words).split())
        if len(name) > LONGEST_NAME:
            name = name[: LONGEST_NAME - 1].rstrip() + "…"
        nodes[index] = replace(node, name=name, value="" if name == node.value else node.value)


def _name_links(nodes: list[PageNode]) -> None:
    """Name links without a name, such as those of icons, by the path of their address."""
    for index, node in enumerate(nodes):
        if node.role != "link" or node.name or node.value or not node.ref:
            continue
        path = node.url.partition("?")[0].partition("#")[0]
        path = path[path.find("/", path.find("//") + 2) :] if "//" in path else path
        if ":" not in path and re.search(r"[^\W\d_]", path):
            nodes[index] = replace(node, name=path if len(path) <= LONGEST_NAME else f"…{path[1 - LONGEST_NAME :]}")


def _split(item: str) -> tuple[str, str]:
    """Split one list item into key and value."""
    found = _KEY.match(item)
    if found is None:
        return "text", item.removeprefix("- ")
    single, double, _, value = found.groups()
    if single is not None:
        key = single.replace("''", "'")
    elif double is not None:
        key = _unquoted(f'"{double}"')
    else:
        key, value = _bare(item[2:])
    return key, _unquoted(value or "")


def _bare(item: str) -> tuple[str, str]:
    """Split an item with an unquoted key into key and value. A quoted name in the key may contain colons."""
    if item.startswith("/"):
        key, _, value = item.partition(": ")
        return key.rstrip(":"), value
    role = _ROLE.match(item)
    at = role.end() if role else 0
    for pattern in (_NAME, _ATTRIBUTE):
        while found := pattern.match(item, at):
            at = found.end()
    rest = item[at:]
    if rest.startswith(":"):
        return item[:at], rest[1:].strip()
    return (item, "") if not rest.strip() else ("text", item)


def _unquoted(value: str) -> str:
    if len(value) > 1 and value[0] == value[-1] == '"':
        try:
            return encodable(str(json.loads(value)))
        except ValueError:
            return value[1:-1]
    if len(value) > 1 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def _element(key: str, value: str) -> PageNode:
    role = _ROLE.match(key)
    if role is None:
        return PageNode("text", value=key)
    at, name = role.end(), ""
    if found := _NAME.match(key, at):
        at, name = found.end(), _unquoted(found.group(1))
    states: list[tuple[str, str]] = []
    ref, box, clickable, secret = "", None, False, False
    while found := _ATTRIBUTE.match(key, at):
        at = found.end()
        attribute, content = found.group(1), found.group(2)
        if attribute == "ref":
            ref = content or ""
        elif attribute == "box":
            box = _box(content or "")
        elif attribute == "cursor":
            clickable = content == "pointer"
        elif attribute == "secret":
            secret = True
        elif attribute in STATES:
            states.append((attribute, content or "true"))
    return PageNode(role.group(), name, value, ref, "", tuple(states), box, clickable=clickable, secret=secret)


def _box(text: str) -> tuple[float, float, float, float] | None:
    try:
        x, y, width, height = (float(part) for part in text.split(","))
    except ValueError:
        return None
    return x, y, width, height


def _numbered(nodes: list[PageNode]) -> Iterator[PageNode]:
    """Yield the nodes with their ordinals. Only nodes with a handle are counted."""
    keys = [(n.role, plain_name(n.name)) if n.ref else None for n in nodes]
    total, seen = Counter(key for key in keys if key), Counter[tuple[str, str]]()
    for node, key in zip(nodes, keys, strict=True):
        if key is None or total[key] == 1:
            yield node
            continue
        seen[key] += 1
        yield replace(node, ordinal=seen[key], twins=total[key])

"""A page as the simplified HTML that WebRL's checkpoints read.

    <a id="2" data-text="History" data-bbox="264,10,68,35"> History </a>

The published format is made from the page's own HTML. Here it is made from the accessibility tree, so tags are those
that the roles stand for. The rest follows the format: ids are numbers in reading order, only the innermost elements
that can be clicked have one, only what is in the window is shown, and containers without anything of their own are
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from engine.redaction import REDACTED
from engine.web.browser.snapshot import Page, PageNode
from engine.web.choices import CLICKED, SELECTED, TYPED, is_plain_control, is_secret

WIDTH, HEIGHT = 1280, 720
"""The window that the format was made with, in CSS pixels."""
LONGEST_TEXT = 500
"""Most characters of one text or attribute, as published."""

TAGS: Mapping[str, str] = {
    "link": "a", "button": "button", "textbox": "input", "searchbox": "input", "spinbutton": "input",
    "checkbox": "input", "radio": "input", "switch": "input", "slider": "input", "combobox": "select",
    "listbox": "select", "option": "option", "img": "img", "list": "ul", "listitem": "li", "table": "table",
    "grid": "table", "rowgroup": "tbody", "row": "tr", "cell": "td", "gridcell": "td", "columnheader": "th",
    "rowheader": "th", "paragraph": "p", "navigation": "nav", "banner": "header", "main": "main",
    "contentinfo": "footer", "form": "form", "search": "form", "article": "article", "region": "section",
    "dialog": "dialog", "iframe": "iframe", "strong": "strong", "emphasis": "em", "code": "code", "term": "dt",
    "definition": "dd", "tab": "a", "menuitem": "a", "treeitem": "a", "text": "span", "blockquote": "blockquote",
    "label": "label", "summary": "summary",
}  # fmt: skip
"""Tags by role. A heading has its level, and everything else is a `div`."""
TYPES: Mapping[str, str] = {
    "textbox": "text", "searchbox": "search", "spinbutton": "number", "checkbox": "checkbox", "switch": "checkbox",
    "radio": "radio", "slider": "range", "button": "button",
}  # fmt: skip
"""Attribute `type` by role."""
ORDER = ("title", "type", "placeholder", "data-value", "data-text", "data-bbox", "data-status")
"""Attributes in the order of the format. A value that an earlier one has is not repeated."""
TITLED = frozenset({"img", "checkbox", "radio", "switch", "slider", "combobox", "listbox"})
"""Roles whose name is their title. That of a text box is its placeholder, and that of others is their text."""
NAMELESS = frozenset({
    "table", "grid", "rowgroup", "row", "list", "navigation", "banner", "main", "contentinfo", "form", "search",
    "region", "dialog", "iframe", "article", "group",
})  # fmt: skip
"""Roles whose names are in no attribute of the format."""


@dataclass(frozen=True, slots=True)
class Simplified:
    """A page in the format.

    Attributes:
        text: The HTML.
        elements: The elements with an id, by id.
    """

    text: str
    elements: Mapping[str, PageNode]


def simplify(page: Page) -> Simplified:
    """Return a page in the format."""
    made = _Maker(page)
    inside = " ".join(filter(None, (made.html(index)[0] for index in made.children[-1])))
    window = f'data-bbox="0,0,{WIDTH},{HEIGHT}"'
    text = f"<html {window}> <body {window}>{f' {inside}' if inside else ''} </body> </html>"
    return Simplified(plain(text), {number: page.nodes[index] for index, number in made.ids.items()})


def plain(text: str) -> str:
    """Return text on one line, in which nothing can be taken for a special token of a model."""
    return " ".join(text.replace("<|", "< |").split())


class _Maker:
    def __init__(self, page: Page) -> None:
        self.nodes = page.nodes
        self.children: dict[int, list[int]] = {-1: []}
        for index, node in enumerate(self.nodes):
            self.children.setdefault(node.parent, []).append(index)
        self.visible = [False] * len(self.nodes)
        for index, node in enumerate(self.nodes):
            around = node.parent < 0 or self.visible[node.parent]
            self.visible[index] = around if node.box is None else _in_window(node.box)
        self.ids: dict[int, str] = {}
        for index in self._labelled(page):
            self.ids[index] = str(len(self.ids))

    def _labelled(self, page: Page) -> list[int]:
        """Return the innermost elements that can be clicked, in reading order."""
        able = [
            bool(node.ref) and self.visible[index] and _large(node)
            and (node.role in TYPED | SELECTED or (node.role in CLICKED - {"option"}) or is_plain_control(page, index))
            for index, node in enumerate(self.nodes)
        ]  # fmt: skip
        inner = [False] * len(self.nodes)
        for index in reversed(range(len(self.nodes))):
            above = self.nodes[index].parent
            if above >= 0 and (able[index] or inner[index]):
                inner[above] = True
        return [index for index, one in enumerate(able) if one and not inner[index]]

    def html(self, index: int) -> tuple[str, bool]:
        """Return a node with all that is in it, and whether it has any content."""
        node = self.nodes[index]
        parts, full = [], 0
        for child in self.children.get(index, ()):
            if self.nodes[child].role != "text":
                part, has = self.html(child)
                parts += [part] if part else []
                full += has
        text, said = self._texts(index, bool(parts))
        inside = " ".join(parts)
        attributes = self._attributes(node, said)
        written = bool(text) or bool(attributes.keys() - {"data-bbox"})
        label = self.ids.get(index)
        shown = self.visible[index] and (full > 1 or written or label is not None)
        if not shown:
            return inside, bool(full)
        tag = f"h{node.state('level') or 2}" if node.role == "heading" else TAGS.get(node.role, "div")
        if tag == "div" and not parts and text:
            tag = "span"
        head = [tag, *([f'id="{label}"'] if label is not None else [])]
        head += [f'{name}="{value}"' for name, value in attributes.items()]
        body = "".join(f" {part}" for part in (text, inside) if part)
        return f"<{' '.join(head)}>{body} </{tag}>", bool(full) or written

    def _texts(self, index: int, elements: bool) -> tuple[str, str]:
        """Return the text before the first element inside a node, and all its own texts, joined by commas."""
        node = self.nodes[index]
        if node.role in TYPED | SELECTED:
            return "", ""
        children = self.children.get(index, ())
        own = [("" if is_secret(node) else node.value), *(
            self.nodes[child].value for child in children if self.nodes[child].role == "text"
        )]  # fmt: skip
        texts = [_short(text) for text in own if text.strip()]
        if not texts and not elements and node.role not in TITLED | NAMELESS:
            texts = [_short(node.name)] if node.name.strip() else []
        first = bool(texts) and (bool(node.value) or not children or self.nodes[children[0]].role == "text")
        return texts[0] if first else "", ",".join(texts)

    def _attributes(self, node: PageNode, said: str) -> dict[str, str]:
        found = {"data-text": said, "type": TYPES.get(node.role, "")}
        if node.role in TITLED:
            found["title"] = node.name
        elif node.role in TYPED:
            found["placeholder"] = node.name
        if node.role in TYPED | SELECTED:
            found["data-value"] = REDACTED if node.value and is_secret(node) else node.value
        if node.role in ("checkbox", "switch"):
            found["data-status"] = "checked" if node.state("checked") == "true" else "not-checked"
        if node.role == "option" and node.state("selected"):
            found["data-status"] = "selected"
        if node.box is not None:
            found["data-bbox"] = ",".join(f"{round(number)}" for number in node.box)
        kept: dict[str, str] = {}
        for name in ORDER:
            value = _short(found.get(name, ""))
            if value and value not in kept.values():
                kept[name] = value
        return kept


def _short(text: str) -> str:
    return " ".join(text.split())[:LONGEST_TEXT]


def _in_window(box: tuple[float, float, float, float]) -> bool:
    x, y, width, height = box
    return not (x + width < 0 or x > WIDTH or y + height < 0 or y > HEIGHT)


def _large(node: PageNode) -> bool:
    return node.box is None or node.box[2] * node.box[3] >= 1

"""Numbers the elements of a page that can be acted on, in reading order, so that people can refer to them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.web.actions import Call, Target
from engine.web.browser.snapshot import Page, PageNode, plain_name
from engine.web.choices import CONTROLS, SELECTED, TYPED, is_plain_control, with_controls


@dataclass(frozen=True, slots=True)
class Item:
    """An element that is drawn.

    Attributes:
        node: The element.
        number: Number from 1 in reading order if it can be acted on, 0 for plain text.
        action: The action for clicking it, "" if it has no handle.
        ready: Whether the action is complete, so that no text has to be added.
    """

    node: PageNode
    number: int = 0
    action: str = ""
    ready: bool = True


def items_of(page: Page) -> tuple[Item, ...]:
    """Return all elements to draw, in reading order. Numbers depend on the page, not on the drawing's size."""
    inner = with_controls(page)
    found: list[Item] = []
    number, inside = 0, -1  # Depth of the control that contains the next nodes.
    plain = False  # Whether that control is one only by its pointer; then it may contain others.
    for index, node in enumerate(page.nodes):
        if inside >= 0 and node.depth > inside:
            if plain and is_plain_control(page, index):
                number += 1
                found.append(Item(node, number, *_meant(page, index)))
            continue
        inside = -1
        control = bool(node.ref) and node.role in CONTROLS and (node.role in SELECTED or not inner[index])
        control = control or (not inner[index] and is_plain_control(page, index))
        if control:
            number, inside, plain = number + 1, node.depth, node.role not in CONTROLS
            found.append(Item(node, number, *_meant(page, index)))
        elif node.value or (node.name and not _has_text(page, index)):
            if node.name and not node.value:
                inside = node.depth if not inner[index] else -1
            found.append(Item(node, 0, _click(node) if node.ref else ""))
    return tuple(found)


def spoken(text: str, page: Page) -> str | None:
    """Return the action for `7`, `7 some text` or `click 7`; None if the text names no number of this page.

    Text after the number is typed into the element, or is the option to select.
    """
    word, _, rest = text.strip().partition(" ")
    if word in ("click", "fill", "select") and rest:
        word, _, rest = rest.strip().partition(" ")
    if not (word.isascii() and word.isdigit()):
        return None
    item = next((i for i in items_of(page) if i.number and i.number == int(word[:6])), None)
    if item is None:
        return None
    rest = rest.strip()
    if not rest:
        return item.action
    name = "select_option" if item.action.startswith("select_option") else "fill"
    return Call(name, _target(item.node), (rest,)).text


def _target(node: PageNode) -> Target:
    return Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)


def _click(node: PageNode) -> str:
    return Call("click", _target(node)).text


def _meant(page: Page, index: int) -> tuple[str, bool]:
    """Return the usual action on a control, and whether it is complete."""
    node = page.nodes[index]
    if node.role in TYPED:
        return Call("fill", _target(node), ("",)).text, False
    if node.role in SELECTED and any(child.role == "option" for child in page.children(index)):
        return Call("select_option", _target(node), ("",)).text, False
    return _click(node), True


def _has_text(page: Page, index: int) -> bool:
    depth = page.nodes[index].depth
    for node in page.nodes[index + 1 :]:
        if node.depth <= depth:
            return False
        if node.value or node.name:
            return True
    return False

"""What of a page a person can name: everything that can be acted on has a number, in reading order."""

from __future__ import annotations

from dataclasses import dataclass

from engine.web.actions import Call, Target
from engine.web.browser.snapshot import Node, Page, plain_name
from engine.web.choices import CONTROLS, SELECTED, TYPED, is_plain_control, with_controls


@dataclass(frozen=True, slots=True)
class Item:
    """Something that is drawn.

    Attributes:
        number: From 1 in reading order for what can be acted on, 0 for plain text.
        action: What clicking it means, "" where it has no handle.
        ready: The action is complete: there is nothing to be typed first.
    """

    node: Node
    number: int = 0
    action: str = ""
    ready: bool = True


def items_of(page: Page) -> tuple[Item, ...]:
    """Return everything that is drawn, in reading order; numbers depend on the page alone, never on a size."""
    inner = with_controls(page)
    found: list[Item] = []
    number, inside = 0, -1  # Depth of the control that what follows belongs to.
    plain = False  # Whether that one is none by its role: then there may be others within.
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
    """Return the action meant by `7`, `7 some text` or `click 7`; None if no number of the page is meant.

    A text after the number is typed, or chosen where there are options.
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


def _target(node: Node) -> Target:
    return Target(node.role, plain_name(node.name), node.ordinal if node.twins > 1 else 0)


def _click(node: Node) -> str:
    return Call("click", _target(node)).text


def _meant(page: Page, index: int) -> tuple[str, bool]:
    """Return the usual action on a control, and whether nothing has to be added."""
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

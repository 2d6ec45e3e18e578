"""Actions on web pages: BrowserGym's grammar, names of elements that outlive a page load, and finding elements.

    click('f1e7')                        an element of the current page by its handle, as a model may write it
    click(<combobox[Sort by:]>)          the same in normal form (App. E), which memory stores and compares
    fill(<textbox[Name]#2>, 'Ana')       the second element with this role and name

Actions are parsed as a call with literal arguments. Nothing is evaluated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from engine.errors import UsageError
from engine.web.browser.snapshot import Page, PageNode, plain_name

GRAMMAR: Mapping[str, tuple[bool, int, int]] = {
    # name: (acts on an element, fewest further arguments, most)
    "click": (True, 0, 2), "dblclick": (True, 0, 2), "hover": (True, 0, 0), "focus": (True, 0, 0),
    "clear": (True, 0, 0), "fill": (True, 1, 1), "select_option": (True, 1, 1), "press": (True, 1, 1),
    "scroll": (False, 2, 2), "keyboard_press": (False, 1, 1), "keyboard_type": (False, 1, 1),
    "goto": (False, 1, 1), "go_back": (False, 0, 0), "go_forward": (False, 0, 0),
    "new_tab": (False, 0, 0), "tab_close": (False, 0, 0), "tab_focus": (False, 1, 1),
    "send_msg_to_user": (False, 1, 1), "report_infeasible": (False, 1, 1), "noop": (False, 0, 1),
}  # fmt: skip
ENDING = frozenset({"send_msg_to_user", "report_infeasible"})
LONGEST = 4000
_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*;?\s*", re.DOTALL)
_TARGET = re.compile(r"\s*<([\w-]+)\[(.*?)\](?:#(\d+))?>(?=\s*(?:,|$))", re.DOTALL)

DESCRIPTION = """\
click(element)  dblclick(element)  hover(element)  focus(element)  clear(element)
fill(element, 'text')  select_option(element, 'option')  press(element, 'Enter')
scroll(0, 500)  keyboard_press('Escape')  keyboard_type('text')
goto('url')  go_back()  go_forward()  new_tab()  tab_close()  tab_focus(0)
send_msg_to_user('answer')   ends the task   report_infeasible('why')   ends the task"""
"""Text for prompts. `element` is written `<role[name]>`, or `<role[name]#2>` for the second with that name."""


@dataclass(frozen=True, slots=True)
class Target:
    """An element, identified by its handle (`ref`), or by role, plain name and ordinal (0 if not given)."""

    role: str = ""
    name: str = ""
    ordinal: int = 0
    ref: str = ""

    @property
    def text(self) -> str:
        """The element as an action writes it."""
        if self.ref:
            return repr(self.ref)
        return f"<{self.role}[{self.name}]{f'#{self.ordinal}' if self.ordinal else ''}>"


@dataclass(frozen=True, slots=True)
class Call:
    """A parsed action: its name, the element it acts on, and further arguments."""

    name: str
    target: Target | None = None
    arguments: tuple[object, ...] = ()

    @property
    def text(self) -> str:
        """The action as it is written."""
        parts = [self.target.text] if self.target else []
        return f"{self.name}({', '.join([*parts, *map(repr, self.arguments)])})"


def parse(action: str) -> Call:
    """Parse a written action.

    Raises:
        UsageError: It is not a valid action. The sentence is meant for the agent.
    """
    if len(action) > LONGEST:
        raise UsageError(f"an action has at most {LONGEST} characters")
    found = _CALL.fullmatch(action)
    if found is None:
        raise UsageError(f"{action[:80]!r} is no action; write it like click('e7') or fill('e7', 'text')")
    name, inside = found.groups()
    if name not in GRAMMAR:
        raise UsageError(f"there is no action {name!r}; there are: {', '.join(GRAMMAR)}")
    acts, fewest, most = GRAMMAR[name]
    target: Target | None = None
    named = _TARGET.match(inside)
    if named:
        target = Target(named.group(1), plain_name(named.group(2)), int(named.group(3) or 0))
        inside = inside[named.end() :].lstrip().removeprefix(",")
    arguments = _literals(name, inside)
    if acts and target is None and arguments:
        target = Target(ref=str(arguments.pop(0)))
    if acts != (target is not None):
        wants = "the element it acts on first" if acts else "no element"
        raise UsageError(f"{name} takes {wants}")
    if not fewest <= len(arguments) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise UsageError(
            f"{name} takes {wanted} argument(s){' after the element' if acts else ''}, not {len(arguments)}"
        )
    if name in ("fill", "press", "goto", "send_msg_to_user", "report_infeasible", "keyboard_press"):
        arguments = [str(arguments[0])]
    numbers = {"scroll", "tab_focus"}
    if name in numbers and not all(isinstance(a, (int, float)) and abs(a) < 1e6 for a in arguments):
        raise UsageError(f"{name} takes numbers")
    return Call(name, target, tuple(arguments))


def _literals(name: str, inside: str) -> list[object]:
    try:
        tree = ast.parse(f"f({inside})", mode="eval").body
        assert isinstance(tree, ast.Call)
        values = [ast.literal_eval(each) for each in tree.args]
        values += [ast.literal_eval(each.value) for each in tree.keywords]
    except (SyntaxError, ValueError, AssertionError, MemoryError, RecursionError):
        raise UsageError(f"the arguments of {name} must be plain texts or numbers, in quotes") from None
    return values


def resolve(target: Target, page: Page) -> PageNode:
    """Find the element of a target by handle, by role, name and ordinal, or by a unique part of its name.

    Raises:
        UsageError: It is not on the page, or several elements fit.
    """
    if target.ref:
        for node in page.nodes:
            if node.ref == target.ref:
                return node
        raise UsageError(f"there is no element {target.ref!r} on the page now")
    same = [n for n in page.nodes if n.ref and n.role == target.role]
    exact = [n for n in same if plain_name(n.name) == target.name]
    if exact:
        if target.ordinal:
            match = [n for n in exact if n.ordinal == target.ordinal]
            if match:
                return match[0]
            raise UsageError(f"there are only {len(exact)} of {target.role}[{target.name}]")
        return exact[0]
    wanted = target.name.casefold()
    near = [n for n in same if wanted and wanted in n.name.casefold()]
    if len(near) == 1:
        return near[0]
    if near:
        raise UsageError(f"{target.text} could be {len(near)} elements; write more of its name")
    raise UsageError(f"there is no {target.text} on the page now")


def normalise(call: Call, page: Page) -> str:
    """Return the action in normal form: its element is given by role, name and ordinal.

    Raises:
        UsageError: The element is not on the page.
    """
    if call.target is None:
        return call.text
    node = resolve(call.target, page)
    ordinal = node.ordinal if node.twins > 1 else 0
    return Call(call.name, Target(node.role, plain_name(node.name), ordinal), call.arguments).text

"""The editor of breakpoints: a small window with those that are set, and the kinds there are."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from textual.content import Content
from textual.widgets import Input, Static

from engine.errors import UsageError
from engine.session.orders import Orders
from engine.session.rules import KINDS, MOST, Rule, parse
from jitrl_tui.screens.dialogs import PickDialog
from jitrl_tui.widgets.lines import ACCENT, BAD, GOOD, MUTED, STRONG, fit

_HINT = "A breakpoint stops the run, also a fast-forward. \N{UPWARDS ARROW}\N{DOWNWARDS ARROW} choose, or type one."
_WIDTH = 20


class BreakpointsDialog(PickDialog):
    """Sets and removes breakpoints. Each change takes effect at once.

    Args:
        orders: The present orders.
        change: Called with new orders.
    """

    free = "sets what is typed"

    def __init__(self, orders: Orders, change: Callable[[Orders], None]) -> None:
        super().__init__("breakpoints", _HINT, "a breakpoint, such as entropy>1.2 or command:take *")
        self._orders, self._change = orders, change

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the breakpoints that are set, then the kinds there are; those alone that begin with what is typed."""
        present = [str(rule) for rule in self._orders.rules]
        rows = [(name, _row("● ", name, "is set; Enter removes it", ACCENT)) for name in present]
        rows += [
            (written, _row("+ ", written, what, STRONG)) for _, written, what in KINDS if written not in present
        ]
        return [row for row in rows if row[0].startswith(typed)]

    def choose(self, answer: str) -> None:
        """Set a breakpoint, remove one that is set, or begin one that needs a number or words."""
        left = tuple(rule for rule in self._orders.rules if str(rule) != answer)
        template = next((written for kind, written, _ in KINDS if written == answer != kind), "")
        if len(left) < len(self._orders.rules):
            self._order(left, f"Removed: {answer}")
        elif template:
            self._begin(template.rstrip("XNWORDS"))
        elif len(left) >= MOST:
            self._say(f"There can be {MOST} breakpoints.", BAD)
        else:
            try:
                rule = parse(answer)
            except UsageError as error:
                self._say(f"{error}.", BAD)
            else:
                self._order((*(one for one in left if one != rule), rule), f"Set: {rule}")

    def _order(self, rules: tuple[Rule, ...], told: str) -> None:
        """Let the new breakpoints take effect."""
        self._orders = dataclasses.replace(self._orders, rules=rules)
        self._change(self._orders)
        self._begin("")
        self.fill("")
        self._say(told, GOOD)

    def _begin(self, text: str) -> None:
        """Put a text into the input, to be completed."""
        field = self.query_one(Input)
        field.value = text
        field.cursor_position = len(text)

    def _say(self, text: str, style: str) -> None:
        self.query_one(".hint", Static).update(Content.styled(text, style))


def _row(sign: str, rule: str, meaning: str, style: str) -> Content:
    return Content.assemble((sign + fit(rule, _WIDTH), style), ("  " + meaning, MUTED))

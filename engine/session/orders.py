"""Standing orders of a person to a session: when it asks before a step, and its breakpoints.

They are kept in the folder of the session, so a session that is resumed has them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from engine import limits
from engine.disk import read_bytes, write_private
from engine.errors import BadFile, FailingAs, StorageError, UsageError
from engine.session.rules import MOST, Rule, parse

FILE_NAME = "orders.json"
NEVER, ALWAYS, BREAKPOINTS = "never", "always", "breakpoints"
"""When a session asks: never, before each step, or where a breakpoint matches."""
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Orders:
    """Standing orders.

    Attributes:
        ask: `NEVER`, `ALWAYS` or `BREAKPOINTS`.
        rules: The breakpoints. They pause the session; with `ask` = `BREAKPOINTS` they only make it ask.
    """

    ask: str = NEVER
    rules: tuple[Rule, ...] = ()


def store(folder: Path, orders: Orders) -> None:
    """Write the orders of the session in `folder`.

    Raises:
        StorageError: They cannot be written.
    """
    content = {"format": _FORMAT, "ask": orders.ask, "breakpoints": [str(rule) for rule in orders.rules]}
    with FailingAs(StorageError, f"the breakpoints could not be written to {folder}"):
        write_private(folder / FILE_NAME, json.dumps(content, indent=1))


def give(folder: Path, orders: Orders) -> None:
    """Write the orders of a new session, if there are any.

    Raises:
        StorageError: They cannot be written.
    """
    if orders != Orders():
        store(folder, orders)


def load(folder: Path) -> Orders:
    """Return the orders of the session in `folder`; none if it has no such file.

    Raises:
        BadFile: The file is damaged.
    """
    try:
        data = limits.parse_json(read_bytes(folder / FILE_NAME, 1 << 20))
        ask, rules = data["ask"], data["breakpoints"]
        if ask not in (NEVER, ALWAYS, BREAKPOINTS) or not isinstance(rules, list) or len(rules) > MOST:
            raise BadFile("it says not when to ask")
        return Orders(ask, tuple(parse(text) for text in rules))
    except FileNotFoundError:
        return Orders()
    except (OSError, LookupError, TypeError, AttributeError, BadFile, UsageError):
        raise BadFile(f"the breakpoints in {folder / FILE_NAME} cannot be read; the session has none now") from None


def orders_of(folder: Path) -> Orders:
    """Return the orders of the session in `folder`; none if they cannot be read, which `load` says."""
    try:
        return load(folder)
    except BadFile:
        return Orders()

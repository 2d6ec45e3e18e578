"""Effective local history: the fewest actions of a page visit that make the page what it is (App. E).

It is computed by rules: of several entries into one field only the last counts, clicks that changed nothing do not
count, and another kind of page begins a new history.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import UsageError
from engine.web.actions import parse

WRITES = frozenset({"fill", "select_option", "clear"})


@dataclass(frozen=True, slots=True)
class TakenAction:
    """One action that was taken.

    Attributes:
        action: The action in normal form.
        place: Page pattern before it.
        changed: Whether it changed the page or the URL.
    """

    action: str
    place: str
    changed: bool


def visit_of(taken: tuple[TakenAction, ...], place: str) -> tuple[TakenAction, ...]:
    """Return the actions since the page at `place` was reached, oldest first."""
    visit: list[TakenAction] = []
    for step in reversed(taken):
        if step.place != place:
            break
        visit.append(step)
    return tuple(reversed(visit))


def effective(taken: tuple[TakenAction, ...], place: str) -> tuple[str, ...]:
    """Return the actions that define the current page at `place`, oldest first."""
    kept: dict[str, str] = {}
    for step in visit_of(taken, place):
        try:
            call = parse(step.action)
        except UsageError:
            continue
        target = call.target.text if call.target else ""
        if call.name in WRITES:
            # A later entry replaces an earlier one and moves to the end.
            kept.pop(f"write {target}", None)
            if call.name != "clear":
                kept[f"write {target}"] = step.action
        elif step.changed and call.name not in ("noop", "scroll", "send_msg_to_user", "hover"):
            kept.pop(step.action, None)
            kept[step.action] = step.action
    return tuple(kept.values())

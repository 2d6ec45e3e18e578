"""Effective local history: the fewest actions of this page visit that make the page what it is (App. E).

Deterministic: of several entries into one field the last counts, clicks that changed nothing do not, and a new kind
of page begins a new history.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors import UsageError
from engine.web.actions import parse

WRITES = frozenset({"fill", "select_option", "clear"})


@dataclass(frozen=True, slots=True)
class Taken:
    """One action taken, in its normalised form.

    Attributes:
        place: Page pattern before it.
        changed: Whether page or URL changed.
    """

    action: str
    place: str
    changed: bool


def visit_of(taken: tuple[Taken, ...], place: str) -> tuple[Taken, ...]:
    """Return what was done since the page at `place` was come to, oldest first."""
    visit: list[Taken] = []
    for step in reversed(taken):
        if step.place != place:
            break
        visit.append(step)
    return tuple(reversed(visit))


def effective(taken: tuple[Taken, ...], place: str) -> tuple[str, ...]:
    """Return the actions, oldest first, that define the page at `place` now."""
    kept: dict[str, str] = {}
    for step in visit_of(taken, place):
        try:
            call = parse(step.action)
        except UsageError:
            continue
        target = call.target.text if call.target else ""
        if call.name in WRITES:
            # A later entry takes the place of an earlier one, and its place in the order, too.
            kept.pop(f"write {target}", None)
            if call.name != "clear":
                kept[f"write {target}"] = step.action
        elif step.changed and call.name not in ("noop", "scroll", "send_msg_to_user", "hover"):
            kept.pop(step.action, None)
            kept[step.action] = step.action
    return tuple(kept.values())

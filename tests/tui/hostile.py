"""Text that means harm to a terminal, records full of it, and what may not come out."""

from __future__ import annotations

import dataclasses
import typing
import unicodedata
from collections.abc import Mapping
from typing import Any

from engine.records import (
    EVENTS,
    PARTS,
    Basis,
    BasisItem,
    Decided,
    Decision,
    ModelCalled,
    Notice,
    PageShown,
    Paused,
    PlanAccount,
    Resumed,
    SettingsChanged,
    Steered,
    Stepped,
    TakenBack,
    UnknownPart,
    Update,
    Waiting,
)
from tests.tui import stream

TITLE, CLIPBOARD = "\x1b]0;PWNED\x07", "\x1b]52;c;UFdORUQ=\x07"
HOSTILE = (
    f"{TITLE}{CLIPBOARD}\x1b[31m\x9b2J\x9d0;PWNED\x9c\x00\x08\x7f\x85\r"
    "\u202e\u2066\u061c\u200e\u200b\ufeff\u00ad\u2028\u2029\U000e0001\U000e0041\U000e0000[/x]\udcff"
)


def dangers(text: str, allowed: str = "") -> list[str]:
    """Return the names of what a terminal would obey, reorder or hide in `text`."""
    found = []
    for character in sorted(set(text) - set(allowed) - set("\u200c\u200d")):
        kind = unicodedata.category(character)
        if kind in ("Cc", "Cf", "Cs", "Zl", "Zp") or character == "\U000e0000":
            found.append(f"U+{ord(character):04X}")
    return found


class Nasty:
    """Makes copies of records with hostile text in each of their texts, and notes which classes it has met.

    Equal texts stay equal, so that a hostile action is still one of the candidates.

    Args:
        text: What is put into each text.
    """

    def __init__(self, text: str = HOSTILE) -> None:
        self.text = text
        self.met: set[type] = set()

    def __call__(self, value: Any) -> Any:
        if isinstance(value, str):
            return f"{value[:2]}{self.text}{value[2:]}"
        if isinstance(value, tuple):
            return tuple(map(self, value))
        if isinstance(value, Mapping):
            return {self(key): self(item) for key, item in value.items()}
        if not dataclasses.is_dataclass(value):
            return value
        self.met.add(type(value))
        fields = {spec.name: self(getattr(value, spec.name)) for spec in dataclasses.fields(value)}
        return type(value)(**fields)


def classes() -> set[type]:
    """Return every class of records that an event can hold, found by its fields."""
    found: set[type] = set()

    def look(hint: Any) -> None:
        for part in typing.get_args(hint):
            look(part)
        if dataclasses.is_dataclass(hint) and hint not in found:
            found.add(hint)
            for kind in typing.get_type_hints(hint).values():
                look(kind)

    for cls in (*EVENTS.values(), *PARTS.values()):
        look(cls)
    return found


def events() -> list[Any]:
    """Return a run with every kind of event and of part."""
    made: list[Any] = []
    for event in stream.run(2, 3):
        if isinstance(event, Decided):
            event = dataclasses.replace(event, decision=_with_parts(event.decision))
        made.append(event)
    at = next(index for index, event in enumerate(made) if isinstance(event, Stepped))
    decided, stepped = made[at - 1], made[at]
    made[at + 1 : at + 1] = [
        Notice("info", "information"),
        Notice("warning", "beta=1 in place of beta=2"),
        Notice("warning", "something is odd"),
        Waiting("rate limit", 3.0, 60.0),
        ModelCalled(1, 1, decided.decision.calls[0]),
        PageShown(1, 1, "http://shop.test/", "title", "task", 1280, 720, "snapshot", "picture", "traffic"),
        Paused("a reason"),
        Resumed(),
        Steered("overrule", "somebody", True, "it is taken", 1, 1, stepped.action),
        Steered("step", "somebody else", False, "somebody holds it"),
        SettingsChanged(1, 1, {"beta": 3.0, "a setting": "a value"}, {"a setting": "another"}),
        TakenBack(1, stepped.action, 0, stepped.observation),
        decided,
        stepped,
    ]
    return made


def _with_parts(decision: Decision) -> Decision:
    (update,) = decision.parts
    assert isinstance(update, Update)
    nothing = tuple(0.0 for _ in decision.candidates)
    plan = PlanAccount(1, ("a try", "another try"), 0.5, 3.0, tuple(0 for _ in nothing), 5)
    valuation = dataclasses.replace(update.valuation, terms={"term": nothing}, hits=update.neighbours, plan=plan)
    columns = {"column": tuple(1.0 for _ in decision.candidates)}
    return dataclasses.replace(
        decision,
        note="a note",
        candidates=tuple(dataclasses.replace(c, reason="a reason") for c in decision.candidates),
        parts=(
            dataclasses.replace(update, valuation=valuation),
            Basis("reflection", "Reflections", (BasisItem("text", "origin", 0.5, "uid"), BasisItem("more")), columns),
            UnknownPart("odd", {"name": ["text", {"key": "value"}]}),
        ),
    )

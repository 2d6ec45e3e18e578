"""The ways to give each action, in the words most people use: what a search fills things into."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.games.actions.grammar import Grammar
from engine.games.actions.phrasing import phrase, usage
from engine.games.zmachine.bearings import NEVER


@dataclass(frozen=True, slots=True)
class Form:
    """One way to give an action: its usual wording.

    Attributes:
        text: With "{}" where things stand.
        action: Its number.
        held: For each slot whether the thing has to be carried.
        many: The first slot takes "all".
        free: For each slot whether it takes words rather than things.
        spare: For things only that have an answer to the action.
    """

    text: str
    action: int
    held: tuple[bool, ...]
    many: bool
    free: tuple[bool, ...]
    spare: bool = False


def forms(grammar: Grammar, length: int) -> list[Form]:
    """Return the forms of each action and number of things, in the order of actions.

    Of lines that lead to one action with the same things the one with the most usual verb is taken; if that
    one wants a thing held and another does not, the other is kept as a spare for what cannot be held.
    """
    groups: dict[tuple[int, int, bool], list[tuple[tuple[int, int, str], Form]]] = {}
    for pattern in grammar.patterns:
        slots = pattern.slots
        verbs = tuple(verb for verb in pattern.verbs if verb not in NEVER)
        if pattern.meta or len(slots) > 2 or not verbs or (not slots and verbs != pattern.verbs):
            continue
        text = phrase(replace(pattern, verbs=verbs), length)
        form = Form(
            text,
            pattern.action,
            held=tuple(slot.held for slot in slots),
            many=bool(slots) and slots[0].many,
            free=tuple(slot.kind == "other" for slot in slots),
        )
        order = (len(pattern.parts), -usage(text.split()[0]), text)
        groups.setdefault((pattern.action, len(slots), pattern.swapped), []).append((order, form))
    found: list[Form] = []
    for options in groups.values():
        ranked = [form for _, form in sorted(options, key=lambda option: option[0])]
        found.append(ranked[0])
        looser = [form for form in ranked[1:] if sum(form.held) < sum(ranked[0].held)]
        found += [replace(form, spare=True) for form in looser[:1]]
    return sorted(found, key=lambda form: (len(form.held), form.action, form.text))

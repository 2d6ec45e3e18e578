"""Forms: for each action its usual wording, with gaps that a search fills with names of things."""

from __future__ import annotations

from dataclasses import dataclass, replace

from engine.games.actions.grammar import Slot, StoryGrammar
from engine.games.actions.phrases import phrase, usage
from engine.games.zmachine.commands import for_program


@dataclass(frozen=True, slots=True)
class CommandForm:
    """The usual wording of one action.

    Attributes:
        text: The command, with "{}" for each thing.
        action: Number of the action.
        held: By slot: whether the thing must be carried.
        many: Whether the first slot accepts "all".
        free: By slot: whether it takes words instead of things.
        only: By slot: which test of the story a thing must pass, 0 for none.
        wide: By slot: whether it takes things that are not at hand, such as spells known by heart.
        picks: Whether the parser looks at what the things are like, beyond their names.
        routines: Addresses of the story's routines that decide which words fit.
        spare: Whether to use it only for things that handle the action themselves.
    """

    text: str
    action: int
    held: tuple[bool, ...]
    many: bool
    free: tuple[bool, ...]
    only: tuple[int, ...]
    spare: bool = False
    wide: tuple[bool, ...] = ()
    picks: bool = False
    routines: tuple[int, ...] = ()


def forms(grammar: StoryGrammar, length: int) -> list[CommandForm]:
    """Return the forms for each action and number of things, sorted by number of things, then by action.

    Of several grammar lines for the same action and things the shortest is used, then the one with the most usual
    verb. Lines whose things must pass a test of the story are kept beside those without a test. If another line
    needs fewer things to be held, it is kept as a spare for things that cannot be held.
    """
    groups: dict[tuple[int, int, bool, tuple[int, ...]], list[tuple[tuple[int, int, str], CommandForm]]] = {}
    taken: set[tuple[str, tuple[tuple[str, ...] | Slot, ...]]] = set()
    for pattern in grammar.patterns:
        slots = pattern.slots
        own = [verb for verb in pattern.verbs if (verb, pattern.parts) not in taken]  # the parser takes the first line
        taken.update((verb, pattern.parts) for verb in own)
        verbs = tuple(verb for verb in own if not for_program((verb,)))
        if pattern.meta or len(slots) > 2 or not verbs or (not slots and verbs != tuple(own)):
            continue
        text = phrase(replace(pattern, verbs=verbs), length)
        form = CommandForm(
            text,
            pattern.action,
            held=tuple(slot.held for slot in slots),
            many=bool(slots) and slots[0].many,
            free=tuple(slot.kind == "other" for slot in slots),
            only=tuple(slot.only for slot in slots),
            routines=tuple(slot.routine for slot in slots if slot.routine),
            wide=tuple(slot.kind == "scope" for slot in slots),
            picks=any(slot.held or slot.picks or slot.only or slot.kind != "noun" for slot in slots),
        )
        order = (len(pattern.parts), -usage(text.split()[0]), text)
        groups.setdefault((pattern.action, len(slots), pattern.swapped, form.only), []).append((order, form))
    found: list[CommandForm] = []
    for options in groups.values():
        ranked = [form for _, form in sorted(options, key=lambda option: option[0])]
        found.append(ranked[0])
        looser = [form for form in ranked[1:] if sum(form.held) < sum(ranked[0].held)]
        found += [replace(form, spare=True) for form in looser[:1]]
    return sorted(found, key=lambda form: (len(form.held), form.action, form.text))

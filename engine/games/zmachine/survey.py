"""Surveys the start of a story: what changes without a command's doing, and which object is the player.

The survey is always the same (fixed random seeds, fixed order of directions), so its result depends only on the story.
It goes a few moves far, and the state is restored afterwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from engine.games.actions.grammar import StoryGrammar
from engine.games.zmachine.commands import for_program
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.variables import globals_now
from engine.games.zmachine.vocabulary import Wording

_PLACES = 6
_OFTEN = 3
_LUCK = (0x1F2E3D4C, 0x2B3C4D5E)


@dataclass(frozen=True, slots=True)
class Survey:
    """The result of a survey.

    Attributes:
        restless: Numbers of global variables that change by themselves or with many different commands.
        noisy: (address, bits) in the object table that change by themselves.
        stirred: Addresses of the bytes of memory that change by themselves.
        player: Number of the player's object, 0 if it was not found.
    """

    restless: frozenset[int]
    stirred: frozenset[int]
    noisy: tuple[tuple[int, int], ...]
    player: int


def look_around(
    machine: Machine,
    story: StoryFile,
    grammar: StoryGrammar | None,
    nouns: Sequence[str] = (),
    wording: Wording = Wording(),  # noqa: B008 - frozen
) -> Survey:
    """Survey the story from the machine's current state, which is restored afterwards.

    Args:
        machine: The interpreter.
        story: The story file.
        grammar: Its grammar, None if unknown.
        nouns: Words for things that are present.
        wording: The words for the most common commands.
    """
    start = machine.take()
    try:
        places, moved = _walk(machine, story, wording, replace(start, random=(_LUCK[0], 0, 0)))
        restless: set[int] = set()
        stirred: set[int] = set()
        noisy: dict[int, int] = {}
        for place in places:
            for luck in _LUCK:
                _idle(machine, story, wording, replace(place, random=(luck, 0, 0)), restless, stirred, noisy)
        if grammar is not None:
            restless |= _scratch(machine, story, grammar, nouns, start)
        wanderers = {(at - story.object_at(1)) // story.object_size + 1 for at in noisy}
        own = [number for number in moved if number not in wanderers]
        player = max(own, key=lambda number: (moved[number], -number), default=0)
        return Survey(frozenset(restless), frozenset(stirred), tuple(sorted(noisy.items())), player)
    finally:
        machine.put(start)


def _walk(
    machine: Machine, story: StoryFile, wording: Wording, start: Snapshot
) -> tuple[list[Snapshot], Counter[int]]:
    """Return states at different places, and how often each object moved on the way there."""
    places, texts = [start], {_shown(machine, wording, start)}
    moved: Counter[int] = Counter()
    for place in places:
        for way in _words(story, wording.ways):
            machine.rewind(place)
            machine.run(way)
            if machine.ended:
                continue
            after = machine.take()
            text = _shown(machine, wording, after)
            if text in texts:
                continue
            moved.update(
                number
                for number in range(1, story.object_count + 1)
                if story.parent(place.memory, number) != story.parent(after.memory, number)
            )
            texts.add(text)
            places.append(after)
            if len(places) >= _PLACES:
                return places, moved
    return places, moved


def _shown(machine: Machine, wording: Wording, situation: Snapshot) -> bytes:
    machine.rewind(situation)
    return machine.run(wording.look)


def _idle(
    machine: Machine,
    story: StoryFile,
    wording: Wording,
    place: Snapshot,
    restless: set[int],
    stirred: set[int],
    noisy: dict[int, int],
) -> None:
    """Pass time at a place, and add what changed to `restless`, `stirred` and `noisy`."""
    machine.rewind(place)
    before = globals_now(machine, story)
    begin, end = story.object_at(1), story.object_at(story.object_count + 1)
    table = place.memory[begin:end]
    for command in _words(story, wording.idle):
        machine.rewind(place)
        machine.run(command)
        if machine.ended:
            continue
        now = globals_now(machine, story)
        restless.update(i for i, (old, new) in enumerate(zip(before, now, strict=True)) if old != new)
        everything = bytes(machine.memory)
        stirred.update(at for at, (old, new) in enumerate(zip(place.memory, everything, strict=True)) if old != new)
        after = everything[begin:end]
        if after != table:
            for offset, (old, new) in enumerate(zip(table, after, strict=True)):
                if old != new:
                    noisy[begin + offset] = noisy.get(begin + offset, 0) | _bits(story, offset, old ^ new)


def _bits(story: StoryFile, offset: int, changed: int) -> int:
    """Return the bits to ignore: those that changed in an attribute byte, all eight in a tree link."""
    return changed if offset % story.object_size < story.attribute_bytes else 0xFF


def _scratch(
    machine: Machine, story: StoryFile, grammar: StoryGrammar, nouns: Sequence[str], start: Snapshot
) -> set[int]:
    """Return the global variables that many different commands change: working variables of the parser."""
    machine.rewind(start)
    before = globals_now(machine, story)
    counts: Counter[int] = Counter()
    for command in _commands(grammar, nouns):
        machine.rewind(start)
        machine.run(command)
        if machine.ended:
            continue
        now = globals_now(machine, story)
        counts.update(i for i, (old, new) in enumerate(zip(before, now, strict=True)) if old != new)
    return {number for number, count in counts.items() if count >= _OFTEN}


def _commands(grammar: StoryGrammar, nouns: Sequence[str]) -> Iterable[str]:
    """Yield one command for each action and number of things."""
    seen: set[tuple[int, int]] = set()
    for pattern in grammar.patterns:
        key = (pattern.action, len(pattern.slots))
        if pattern.meta or for_program(pattern.verbs) or key in seen:
            continue
        seen.add(key)
        words = [pattern.verbs[0]]
        for part in pattern.parts:
            if isinstance(part, tuple):
                words.append(part[0])
            elif nouns:
                words.append(nouns[(len(seen) + len(words)) % len(nouns)])
        yield " ".join(words)


def _words(story: StoryFile, words: Iterable[str]) -> list[str]:
    return [word for word in words if story.cut(word) in story.dictionary]

"""Finds the global variables in which a story's parser stores the action and object it understood.

No knowledge about the particular story is used. Commands are run whose action and object are known from the grammar
and the dictionary, and all global variables are searched for these values.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from engine.games.actions.grammar import Grammar, Pattern
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.story import BadStory, StoryFile

NO_ACTION = 0xFFFF
"""What Inform's parser stores for the action of a command that it does not understand."""
_GLOBALS = 240
_NOUN = 0x80
_ENOUGH = 12
_OFTEN = 5
_STRANGE = 24
_WORD = re.compile(r"[a-z][a-z'-]*")
_NEVER_WORDS = """
    save restore restor restart restar quit q script scripting unscript unscri noscript transcript transcrip
    verbose verbos brief superbrief superb superbrie super normal long short version versio $ve verify $verify
    again g oops o undo score scores full fullscore notify pronouns nouns places objects help hint hints info
    about credits command comman record unrecord replay random recording trace showverb showobj showheap tree
    goto gonear purloin abstract scope actions routines timers daemons messages changes faults nofaults tw-print
    tw-trace-actions tw-extra-infos #rand #comm #reco #unre $random $record $command win winnag die max_scor
    endofobje menu license licence terms eula copyright responses test showme showheap relations rules quotes
"""
NEVER = frozenset(_NEVER_WORDS.split())
"""First words of commands to the program rather than to the player's character."""


@dataclass(frozen=True, slots=True)
class Bearings:
    """The variables that were found.

    Attributes:
        action_globals: Numbers of the global variables that hold the action's number.
        noun_globals: Numbers of the global variables that hold the first object; () if not found.
        examine: The command that looks at one thing.
        absent: Objects that the parser stores for things that are not present.
        words: Nouns that were understood.
    """

    action_globals: tuple[int, ...]
    noun_globals: tuple[int, ...]
    examine: str
    absent: frozenset[int] = frozenset()
    words: tuple[str, ...] = ()


def take_bearings(machine: Machine, story: StoryFile, grammar: Grammar) -> Bearings | None:
    """Find the parser's variables from the machine's current state, which is restored afterwards.

    Returns:
        None if the parser has no such variables.
    """
    saved = machine.take()
    try:
        actions = _action_globals(machine, story, grammar, saved)
        if not actions:
            return None
        examine = _examine_word(grammar)
        if not examine:
            return Bearings(actions, (), "")
        return _find_nouns(machine, story, saved, Bearings(actions, (), examine))
    finally:
        machine.put(saved)


def find_player(machine: Machine, story: StoryFile, bearings: Bearings) -> int:
    """Return the object that the parser takes "me" for, 0 if there is none. The machine's state is restored."""
    saved = machine.take()
    try:
        for number in bearings.noun_globals:
            set_global(machine, story, number, 0)
        machine.step(f"{bearings.examine} me")
        meant = [global_value(machine, story, number) for number in bearings.noun_globals]
    finally:
        machine.put(saved)
    fits = [value for value in meant if 0 < value <= story.object_count and story.parent(saved.memory, value)]
    return fits[0] if fits and fits[0] not in bearings.absent else 0


def global_value(machine: Machine, story: StoryFile, number: int) -> int:
    """Return the current value of a global variable."""
    at = story.globals_at + 2 * number
    return machine.memory[at] << 8 | machine.memory[at + 1]


def set_global(machine: Machine, story: StoryFile, number: int, value: int) -> None:
    """Set a global variable."""
    at = story.globals_at + 2 * number
    machine.memory[at : at + 2] = value.to_bytes(2, "big")


def globals_now(machine: Machine, story: StoryFile) -> list[int]:
    """Return the values of all global variables."""
    at = story.globals_at
    count = min(_GLOBALS, (len(machine.memory) - at) // 2)
    cells = bytes(machine.memory[at : at + 2 * count])
    return [cells[2 * i] << 8 | cells[2 * i + 1] for i in range(count)]


def _bare(grammar: Grammar) -> Iterator[Pattern]:
    """Yield the patterns that consist of one harmless word."""
    for pattern in grammar.patterns:
        if not pattern.parts and not pattern.meta and not NEVER & set(pattern.verbs):
            yield pattern


def _action_globals(machine: Machine, story: StoryFile, grammar: Grammar, saved: Snapshot) -> tuple[int, ...]:
    votes: Counter[int] = Counter()
    tried = 0
    seen: set[int] = set()
    for pattern in _bare(grammar):
        if pattern.action in seen or pattern.action == 0:
            continue
        seen.add(pattern.action)
        machine.rewind(saved)
        machine.step(pattern.verbs[0])
        if machine.ended:
            if machine.halted:
                return ()
            continue
        tried += 1
        votes.update(i for i, value in enumerate(globals_now(machine, story)) if value == pattern.action)
    return tuple(sorted(i for i, count in votes.items() if tried >= 4 and count >= 0.7 * tried))


def _examine_word(grammar: Grammar) -> str:
    """Return the command that looks at a thing without changing it: "examine" or a synonym; "" if there is none."""
    for wanted in ("examine", "examin", "x", "describe", "descri", "inspect", "look at", "take"):
        verb, *more = wanted.split()
        for pattern in grammar.patterns:
            if (
                verb in pattern.verbs
                and len(pattern.slots) == 1
                and [part[0] for part in pattern.parts[:-1] if isinstance(part, tuple)] == more
            ):
                return wanted
    return ""


def _find_nouns(machine: Machine, story: StoryFile, saved: Snapshot, bearings: Bearings) -> Bearings:
    """Try nouns, those in the place's text first, until `_ENOUGH` were understood; return completed bearings."""
    shown = machine.step("look") + " " + machine.step("inventory")
    here = dict.fromkeys(word[: story.word_length] for word in _WORD.findall(shown.lower()))
    words = [word for word in here if word in story.dictionary]
    words += [word for word in story.dictionary if word not in here]
    votes: Counter[int] = Counter()
    understood: list[str] = []
    strange: list[str] = []
    for word in words:
        address, data = story.dictionary[word]
        if not data or not data[0] & _NOUN:
            continue
        machine.rewind(saved)
        machine.step(f"{bearings.examine} {word}")
        values = globals_now(machine, story)
        fits = [i for i, value in enumerate(values) if answers_to(story, value, address)]
        (understood if fits else strange).append(word)
        votes.update(fits)
        if len(understood) >= _ENOUGH:
            break
    most = max(votes.values(), default=0)
    if len(understood) < 2 or most < 2:
        return bearings
    found = tuple(sorted(i for i, count in votes.items() if count == most))
    absent = _stand_ins(machine, story, saved, bearings.examine, found, strange)
    return replace(bearings, noun_globals=found, absent=absent, words=tuple(understood))


def _stand_ins(
    machine: Machine, story: StoryFile, saved: Snapshot, examine: str, nouns: tuple[int, ...], strange: list[str]
) -> frozenset[int]:
    """Return the objects that the parser puts in the place of things that are not here.

    The variables are cleared before each command: some parsers leave what they held before.

    Args:
        nouns: Numbers of the variables that hold the thing meant.
        strange: Words of things that are not here.
    """
    votes: Counter[int] = Counter()
    for word in strange[:_STRANGE]:
        machine.rewind(saved)
        for number in nouns:
            set_global(machine, story, number, 0)
        machine.step(f"{examine} {word}")
        votes.update({global_value(machine, story, number) for number in nouns})
    return frozenset(v for v, count in votes.items() if count >= _OFTEN and 0 < v <= story.object_count)


def answers_to(story: StoryFile, number: int, word: int) -> bool:
    """Whether a dictionary word (its address) is among an object's names."""
    if not 0 < number <= story.object_count:
        return False
    try:
        properties = story.properties(number).values()
    except BadStory:
        return False
    return any(story.word(at + offset) == word for at, size in properties for offset in range(0, size - 1, 2))

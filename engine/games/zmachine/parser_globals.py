"""Finds the global variables in which a story's parser stores the action and object it understood.

No knowledge about the particular story is used. Commands are run whose action and object are known from the grammar
and the dictionary, and all global variables are searched for these values.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from engine.games.actions.grammar import StoryGrammar
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.story import WORD, BadStory, StoryFile
from engine.games.zmachine.variables import global_value, globals_now, set_global
from engine.games.zmachine.vocabulary import Wording, bare, find_wording, most_named

_NOUN = 0x80
_ENOUGH = 12
_OFTEN = 5
_STRANGE = 24


@dataclass(frozen=True, slots=True)
class ParserGlobals:
    """The variables that were found.

    Attributes:
        action_globals: Numbers of the global variables that hold the action's number.
        noun_globals: Numbers of the global variables that hold the first object; () if not found.
        wording: The words by which the story takes its most common commands.
        absent: Objects that the parser stores for things that are not present.
        words: Nouns that were understood.
        stand: Where the parser reads commands (`Machine.stand`), () if unknown.
    """

    action_globals: tuple[int, ...]
    noun_globals: tuple[int, ...]
    wording: Wording
    absent: frozenset[int] = frozenset()
    words: tuple[str, ...] = ()
    stand: tuple[int, ...] = ()


def find_parser_globals(machine: Machine, story: StoryFile, grammar: StoryGrammar) -> ParserGlobals | None:
    """Find the parser's variables from the machine's current state, which is restored afterwards.

    Returns:
        None if the parser has no such variables.
    """
    saved = machine.take()
    try:
        actions = _action_globals(machine, story, grammar, saved)
        if not actions:
            return None
        machine.put(saved)
        parser_globals = ParserGlobals(actions, (), find_wording(machine, story, grammar, actions), stand=machine.stand)
        return _find_nouns(machine, story, saved, parser_globals) if parser_globals.wording.examine else parser_globals
    finally:
        machine.put(saved)


def find_player(machine: Machine, story: StoryFile, parser_globals: ParserGlobals) -> int:
    """Return the object that the parser takes "me" for, or the one that most variables name; 0 if there is none.

    The machine's state is restored.
    """
    saved = machine.take()
    try:
        for number in parser_globals.noun_globals:
            set_global(machine, story, number, 0)
        machine.step(f"{parser_globals.wording.examine} me")
        meant = [global_value(machine, story, number) for number in parser_globals.noun_globals]
    finally:
        machine.put(saved)
    fits = [value for value in meant if 0 < value <= story.object_count and story.parent(saved.memory, value)]
    if fits and fits[0] not in parser_globals.absent:
        return fits[0]
    return 0 if story.cut("me") in story.dictionary else most_named(machine, story)


def _action_globals(machine: Machine, story: StoryFile, grammar: StoryGrammar, saved: Snapshot) -> tuple[int, ...]:
    votes: Counter[int] = Counter()
    tried = 0
    seen: set[int] = set()
    for pattern in bare(grammar):
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


def _find_nouns(machine: Machine, story: StoryFile, saved: Snapshot, parser_globals: ParserGlobals) -> ParserGlobals:
    """Try nouns, those in the place's text first, until `_ENOUGH` were understood; return all variables found."""
    shown = machine.step(parser_globals.wording.look) + " " + machine.step(parser_globals.wording.inventory)
    here = dict.fromkeys(story.cut(word) for word in WORD.findall(shown.lower()))
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
        machine.step(f"{parser_globals.wording.examine} {word}")
        values = globals_now(machine, story)
        fits = [i for i, value in enumerate(values) if answers_to(story, value, address)]
        (understood if fits else strange).append(word)
        votes.update(fits)
        if len(understood) >= _ENOUGH:
            break
    most = max(votes.values(), default=0)
    if len(understood) < 2 or most < 2:
        return parser_globals
    found = tuple(sorted(i for i, count in votes.items() if count == most))
    absent = _stand_ins(machine, story, saved, parser_globals.wording.examine, found, strange)
    return replace(parser_globals, noun_globals=found, absent=absent, words=tuple(understood))


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

"""Reads the command patterns that a story's parser accepts from the grammar tables in its file.

Three layouts are known: Infocom's (ZIL, versions 3 to 5) and the two of Inform (before 6.10, and from 6.10 on). Each
grammar line becomes a `Pattern`: its words, its slots, and the action it leads to. A layout is accepted only if all
its tables join without gap or overlap, so a wrong layout is practically never accepted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

from engine.games.zmachine.story import BadStory, StoryFile

_ZIL_HELD, _ZIL_CARRIED, _ZIL_TAKE, _ZIL_HAVE = 128, 64, 8, 2
_ROUTINES_FROM = 48
"""The first token of the older layout for which a routine of the story reads words."""
_MOST_VERBS, _MOST_LINES = 255, 64
_FILTER, _ATTRIBUTE, _SCOPE, _ROUTINE = 3, 4, 5, 6
"""Inform's kinds of tokens for which the story decides what fits."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A place in a pattern that takes a thing or words.

    Attributes:
        kind: "noun", "creature", "scope" (things that a routine of the story names, at hand or not), or "other" (a
            number, a topic, or whatever a routine of the story accepts).
        held: The thing must be carried, or is picked up first.
        many: "all" is accepted here.
        picks: The parser looks at whether the thing is carried, can be picked up, or is a living one.
        routine: Address of the story's routine that decides which words fit, 0 for none.
        only: Which test of the story a thing must pass, as a number that tells the tests apart; 0 for none.
    """

    kind: str
    held: bool = False
    many: bool = False
    only: int = 0
    picks: bool = False
    routine: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line of the grammar.

    Attributes:
        verbs: Words it may begin with, as in the dictionary.
        parts: What follows the verb: slots, and words (each a tuple of synonyms).
        action: Number of the action it leads to.
        swapped: Whether the second slot is the action's first thing.
        meta: Whether it controls the program instead of acting in the world.
    """

    verbs: tuple[str, ...]
    parts: tuple[tuple[str, ...] | Slot, ...]
    action: int
    swapped: bool = False
    meta: bool = False

    @property
    def slots(self) -> tuple[Slot, ...]:
        """The slots, in order."""
        return tuple(part for part in self.parts if isinstance(part, Slot))


@dataclass(frozen=True, slots=True)
class StoryGrammar:
    """A story's grammar.

    Attributes:
        layout: "zil", "inform1" or "inform2".
        patterns: Its lines.
        action_routines: By action number: addresses of the routines that carry the action out (0 for none). In ZIL,
            the address of the action's pre-action routine follows.
        directions: Words that are commands to move; () for Inform.
    """

    layout: str
    patterns: tuple[Pattern, ...]
    action_routines: dict[int, tuple[int, ...]]
    directions: tuple[str, ...]


def read_grammar(story: StoryFile) -> StoryGrammar | None:
    """Return the grammar of a story, None if its layout is not known."""
    readers: tuple[Callable[[StoryFile], StoryGrammar | None], ...] = (_zil, _inform1, _inform2)
    for reader in readers:
        try:
            grammar = reader(story)
        except BadStory:
            continue
        if grammar is not None and grammar.patterns:
            return grammar
    return None


def _pointers(story: StoryFile, table: int) -> list[int]:
    """Return the pointers of the verb table. The first entry directly follows the table.

    Raises:
        BadStory: There is no such table.
    """
    first = story.word(table)
    count = (first - table) // 2
    if not 0 < count <= _MOST_VERBS or first <= table:
        raise BadStory("no verb table")
    return [story.word(table + 2 * number) for number in range(count)]


def _verbs(story: StoryFile, numbered: Callable[[bytes], int | None]) -> dict[int, list[str]]:
    """Return the words of each verb number; `numbered` takes a word's data bytes and returns its number or None."""
    found: dict[int, list[str]] = {}
    for word, (_, data) in story.dictionary.items():
        number = numbered(data)
        if number is not None:
            found.setdefault(255 - number, []).append(word)
    return found


# --------------------------------------------------------------------------------------------- Infocom


def _zil(story: StoryFile) -> StoryGrammar | None:
    if story.version > 5:
        return None
    table = story.static_at
    pointers = _pointers(story, table)
    lines: list[tuple[int, bytes]] = []
    expected = pointers[0]
    for verb, at in enumerate(pointers):
        if at != expected:
            return None
        count = story.byte(at)
        if count > _MOST_LINES:
            return None
        for number in range(count):
            start = at + 1 + 8 * number
            story.byte(start + 7)
            lines.append((verb, story.data[start : start + 8]))
        expected = at + 2 + 8 * count  # a zero byte ends each entry
        if story.byte(expected - 1) != 0:
            return None
    prepositions = _zil_prepositions(story)
    verbs = _verbs(story, lambda data: zil_value(data, 64, 1))
    patterns = []
    for verb, line in lines:
        words = verbs.get(verb)
        if not words or line[0] > 2:
            continue
        if any(preposition and preposition not in prepositions for preposition in line[1:3]):
            continue
        parts: list[tuple[str, ...] | Slot] = []
        for which in range(2):
            preposition, flag, where = line[1 + which], line[3 + which], line[5 + which]
            if preposition:
                parts.append(prepositions[preposition])
            if which < line[0]:
                parts.append(_zil_slot(where, flag))
        patterns.append(Pattern(tuple(words), tuple(parts), line[7]))
    count = max(line[7] for _, line in lines) + 1
    routines = {
        action: tuple(
            story.unpack(packed)
            for packed in (story.word(expected + 2 * action), story.word(expected + 2 * (count + action)))
        )
        for action in range(count)
    }
    directions = tuple(
        word for word, (_, data) in story.dictionary.items() if zil_value(data, 16, 3) is not None
    )
    return StoryGrammar("zil", tuple(patterns), routines, directions)


def _zil_slot(where: int, flag: int) -> Slot:
    del flag
    picks = bool(where & (_ZIL_HAVE | _ZIL_TAKE))
    return Slot("noun", held=bool(where & _ZIL_HAVE), many=bool(where & 4), picks=picks)


def zil_value(data: bytes, part: int, first: int) -> int | None:
    """Return a word's number as one part of speech, None if it is not one. Two parts of speech share two bytes."""
    if not data or not data[0] & part:
        return None
    return data[1] if data[0] & 3 == first else data[2]


def _zil_prepositions(story: StoryFile) -> dict[int, tuple[str, ...]]:
    """Return the words of each preposition number."""
    found: dict[int, tuple[str, ...]] = {}
    for word, (_, data) in story.dictionary.items():
        number = zil_value(data, 8, 0)
        if number is not None:
            found[number] = (*found.get(number, ()), word)
    return found


# ---------------------------------------------------------------------------------------------- Inform


def _inform_verbs(story: StoryFile) -> tuple[dict[int, list[str]], frozenset[str]]:
    verbs = _verbs(story, lambda data: data[1] if data[0] & 1 else None)
    meta = frozenset(word for word, (_, data) in story.dictionary.items() if data[0] & 2)
    return verbs, meta


def _inform1(story: StoryFile) -> StoryGrammar | None:
    pointers = _pointers(story, story.static_at)
    lines: list[tuple[int, bytes]] = []
    expected = pointers[0]
    for verb, at in enumerate(pointers):
        if at != expected:
            return None
        count = story.byte(at)
        for number in range(count):
            start = at + 1 + 8 * number
            story.byte(start + 7)
            lines.append((verb, story.data[start : start + 8]))
        expected = at + 1 + 8 * count
    verbs, meta = _inform_verbs(story)
    prepositions: dict[int, tuple[str, ...]] = {}
    for word, (_, data) in story.dictionary.items():
        if data[0] & 8:
            prepositions[data[2]] = (*prepositions.get(data[2], ()), word)
    count = max(line[7] for _, line in lines) + 1
    routines_at = expected + 2 * count  # behind the actions' routines
    patterns = []
    for verb, line in lines:
        words = verbs.get(verb)
        if not words or line[0] > 6:
            continue
        parts: list[tuple[str, ...] | Slot] = []
        slots = 0
        for token in line[1:7]:
            if token >= 176:
                if token not in prepositions:
                    return None
                parts.append(prepositions[token])
            elif slots < line[0]:
                test = _inform1_test(token)
                at = routines_at + 2 * (token - _ROUTINES_FROM) if test == _ROUTINE else 0
                routine = story.unpack(story.word(at)) if at >= routines_at else 0
                parts.append(_inform_slot(token) if token < 9 else _tested_slot(test, token, routine))
                slots += 1
            else:
                break
        patterns.append(
            Pattern(tuple(words), tuple(parts), line[7], meta=all(word in meta for word in words))
        )
    routines: dict[int, tuple[int, ...]] = {
        action: (story.unpack(story.word(expected + 2 * action)),) for action in range(count)
    }
    return StoryGrammar("inform1", tuple(patterns), routines, ())


def _inform2(story: StoryFile) -> StoryGrammar | None:
    pointers = _pointers(story, story.static_at)
    verbs, meta = _inform_verbs(story)
    words_at = {at: word for word, (at, _) in story.dictionary.items()}
    patterns: list[Pattern] = []
    at = pointers[0]
    highest = 0
    for verb, pointer in enumerate(pointers):
        if pointer != at:
            return None
        count = story.byte(at)
        at += 1
        for _ in range(count):
            head = story.word(at)
            highest = max(highest, head & 0x3FF)
            tokens, at = _inform2_tokens(story, at + 2)
            words = verbs.get(verb)
            parts = _inform2_parts(story, tokens, words_at)
            if words and parts is not None:
                patterns.append(
                    Pattern(
                        tuple(words),
                        parts,
                        head & 0x3FF,
                        swapped=bool(head & 0x400),
                        meta=all(word in meta for word in words),
                    )
                )
    routines: dict[int, tuple[int, ...]] = {
        action: (story.unpack(story.word(at + 2 * action)),) for action in range(highest + 1)
    }
    return StoryGrammar("inform2", tuple(patterns), routines, ())


def _inform2_tokens(story: StoryFile, at: int) -> tuple[list[tuple[int, int]], int]:
    tokens: list[tuple[int, int]] = []
    while (kind := story.byte(at)) != 15:
        tokens.append((kind, story.word(at + 1)))
        at += 3
        if len(tokens) > 32 or not 1 <= kind & 15 <= 6:
            raise BadStory("no grammar line")
    return tokens, at + 1


def _inform2_parts(
    story: StoryFile, tokens: list[tuple[int, int]], words_at: dict[int, str]
) -> tuple[tuple[str, ...] | Slot, ...] | None:
    parts: list[tuple[str, ...] | Slot] = []
    for kind, value in tokens:
        if kind & 15 == 2:
            if value not in words_at:
                return None
            if kind & 0x10 and parts and isinstance(parts[-1], tuple):  # an alternative to the word before
                parts[-1] = (*parts[-1], words_at[value])
            else:
                parts.append((words_at[value],))
        elif kind & 15 == 1:
            parts.append(_inform_slot(value))
        else:
            test = _code(story, value) if kind & 15 in (_FILTER, _SCOPE) else value
            parts.append(_tested_slot(kind & 15, test << 4 | kind & 15, story.unpack(value)))
    return tuple(parts)


def _code(story: StoryFile, packed: int) -> int:
    """Return a number for a routine, the same for those with the same code: Inform 7 has one for each line."""
    at = story.unpack(packed)
    try:
        return crc32(story.data[at : story.routine(at)[-1].next])
    except (BadStory, IndexError):
        return packed


def _inform_slot(token: int) -> Slot:
    """Return the slot of an elementary token: noun, held, multi, ..., creature, special, number, topic."""
    kind = "noun" if token < 6 else "creature" if token == 6 else "other"
    return Slot(kind, held=token in (1, 3), many=token in (2, 3, 4, 5), only=token if token == 6 else 0)


def _inform1_test(token: int) -> int:
    """Return the kind of a test of the older layout as the newer one counts it."""
    if _ROUTINES_FROM <= token < 80 or token < 16:
        return _ROUTINE
    return _SCOPE if 80 <= token < 112 else _FILTER


def _tested_slot(kind: int, only: int, routine: int = 0) -> Slot:
    """Return the slot of a token for which a routine or an attribute of the story decides what fits."""
    if kind == _SCOPE:
        return Slot("scope", only=only)
    return Slot("noun", only=only) if kind in (_FILTER, _ATTRIBUTE) else Slot("other", routine=routine)

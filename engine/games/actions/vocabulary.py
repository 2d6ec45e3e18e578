"""The words that a story file gives to each object, and the scenery it gives to each place."""

from __future__ import annotations

from collections import Counter

from engine.games.actions.grammar import zil_value
from engine.games.zmachine.story import WORD, BadStory, StoryFile

NOUN, ADJECTIVE, VERB, PREPOSITION = 0x80, 0x20, 0x01, 0x08
"""Flags of a dictionary word. Inform has only the first."""


class Vocabulary:
    """The words of one story's objects."""

    def __init__(self, story: StoryFile) -> None:
        self._story = story
        self._by_address = {at: word for word, (at, _) in story.dictionary.items()}
        self._adjective_words: dict[int, list[str]] = {}
        self._nouns: dict[int, list[str]] = {}
        self._called: dict[str, list[int]] = {}
        self._adjective_property = self._scenery_property = 0
        if story.version == 3:
            self._adjective_property = self._find_adjectives()
            self._scenery_property = self._find_scenery()

    def names_something(self, word: str) -> bool:
        """Whether the story knows `word` as a name or part of one."""
        entry = self._story.dictionary.get(self._story.cut(word))
        wanted = NOUN | ADJECTIVE if self._story.version == 3 else NOUN
        return entry is not None and bool(entry[1]) and bool(entry[1][0] & wanted)

    def is_noun(self, word: str) -> bool:
        """Whether `word` can be a name by itself."""
        return bool(self._story.dictionary[self._story.cut(word)][1][0] & NOUN)

    def is_verb(self, word: str) -> bool:
        """Whether `word` can begin a command by the grammar (Inform only)."""
        entry = self._story.dictionary.get(self._story.cut(word))
        return entry is not None and bool(entry[1]) and bool(entry[1][0] & VERB)

    def is_plain_noun(self, word: str) -> bool:
        """Whether `word` names something and is neither verb nor preposition (Inform only)."""
        flags = self._story.dictionary[self._story.cut(word)][1][0]
        return bool(flags & NOUN) and not flags & (VERB | PREPOSITION)

    def own_words(self, number: int) -> list[str]:
        """Return the words of an object's short name, in lower case."""
        return WORD.findall(self._story.name(number).lower())

    def nouns(self, number: int) -> list[str]:
        """Return the dictionary words that refer to an object."""
        known = self._nouns.get(number)
        if known is None:
            known = self._nouns[number] = self._read_nouns(number)
        return known

    def _read_nouns(self, number: int) -> list[str]:
        return [
            self._by_address[value]
            for _, (at, size) in self._properties(number)
            for value in (self._story.word(at + offset) for offset in range(0, size - 1, 2))
            if value in self._by_address
        ]

    def adjectives(self, number: int) -> list[str]:
        """Return an object's adjectives; only Infocom's version 3 stories store them, as numbers."""
        return [
            word
            for value in self._bytes(number, self._adjective_property)
            for word in self._adjective_words.get(value, ())
        ]

    def scenery(self, place: int) -> list[int]:
        """Return the objects that a place shares with other places (Infocom's version 3 only)."""
        return list(self._bytes(place, self._scenery_property))

    def known_by(self, word: str) -> list[int]:
        """Return the objects that a word refers to."""
        if not self._called:
            for number in range(1, self._story.object_count + 1):
                for noun in dict.fromkeys(self.nouns(number)):
                    self._called.setdefault(noun, []).append(number)
        return self._called.get(self._story.cut(word), [])

    def full_names(self, number: int) -> list[str]:
        """Return names that may identify an object: its short name, then its adjectives with its nouns."""
        own = " ".join(self.own_words(number))
        nouns = self.nouns(number)[:3]
        pairs = [f"{adjective} {noun}" for adjective in self.adjectives(number)[:4] for noun in nouns]
        return [name for name in dict.fromkeys([own, *pairs]) if name]

    # -------------------------------------------------------------------------------------- reading

    def _properties(self, number: int) -> list[tuple[int, tuple[int, int]]]:
        try:
            return list(self._story.properties(number).items())
        except BadStory:
            return []

    def _bytes(self, number: int, which: int) -> bytes:
        if not 0 < number <= self._story.object_count:
            return b""
        at, size = dict(self._properties(number)).get(which, (0, 0))
        return self._story.data[at : at + size]

    def _find_adjectives(self) -> int:
        """Return the property of adjectives: it holds, for most objects, the number of their name's first word."""
        numbers: dict[str, int] = {}
        for word, (_, data) in self._story.dictionary.items():
            number = zil_value(data, ADJECTIVE, 2)
            if number is not None:
                numbers[word] = number
                self._adjective_words.setdefault(number, []).append(word)
        votes: Counter[int] = Counter()
        for number in range(1, self._story.object_count + 1):
            first = self._story.cut(next(iter(self.own_words(number)), ""))
            if first in numbers:
                votes.update(
                    which
                    for which, (at, size) in self._properties(number)
                    if numbers[first] in self._story.data[at : at + size]
                )
        return votes.most_common(1)[0][0] if votes else 0

    def _find_scenery(self) -> int:
        """Return the property of shared scenery: for most places it lists objects that are all in one other object.

        Infocom's stories keep the objects that several places share in one object called "local globals".
        """
        story = self._story
        votes: Counter[tuple[int, int]] = Counter()
        for number in range(1, story.object_count + 1):
            own = story.parent(story.data, number)  # a property that lists sibling places holds exits, not scenery
            for which, (at, size) in self._properties(number):
                listed = story.data[at : at + size]
                parents = {
                    story.parent(story.data, other) for other in listed if 0 < other <= story.object_count
                }
                if len(parents) == 1 and own not in parents and size > 1 and 0 not in listed:
                    votes[which, parents.pop()] += 1
        votes = Counter({key: count for key, count in votes.items() if key[1]})
        return votes.most_common(1)[0][0][0] if votes else 0

"""Names the things at hand in words that the story's parser resolves to exactly one object."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.games.actions.handlers import Handlers
from engine.games.actions.vocabulary import Vocabulary
from engine.games.zmachine.bearings import Bearings, set_global
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.survey import WAYS
from engine.games.zmachine.world import World

_WORD = re.compile(r"[a-z][a-z'-]*")
_NUMBER = re.compile(r"\b(\d{1,3})(?:(?: (?:through|to) |-)(\d{1,3})\b)?")
_MOST_NUMBERS = 10
_Key = tuple[int, tuple[int, ...]]
"""An object and the addresses of its routines. Some stories use one object for several things in turn."""
_PRONOUN_WORDS = "it this that them these those all everything me myself you your yourself self i him her one"
_PRONOUNS = frozenset(_PRONOUN_WORDS.split())


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing that commands can refer to now.

    Attributes:
        name: Words to call it by.
        number: Number of its object, 0 if unknown.
        carried: Whether the player has it, directly or in something carried.
        asks: Actions that its routines ask for; see `engine.games.actions.handlers`.
        topics: Words that its routines compare something with.
        is_value: Whether it is a number or a direction: something to set things to, or to push them in.
    """

    name: str
    number: int
    carried: bool
    asks: frozenset[int]
    topics: tuple[str, ...] = ()
    is_value: bool = False


class Namer:
    """Names the things in states of one story."""

    def __init__(
        self,
        machine: Machine,
        world: World,
        story: StoryFile,
        bearings: Bearings,
        handlers: Handlers,
        vocabulary: Vocabulary,
        player: int,
    ) -> None:
        self._machine = machine
        self._world = world
        self._story = story
        self._bearings = bearings
        self._handlers = handlers
        self._player = player
        self._vocabulary = vocabulary
        self.looked: list[bytes] = []
        """`World.facts` after each thing was looked at."""

    def things(self, shown: str, saved: Snapshot) -> list[Thing]:
        """Return the things that `shown` mentions and those in the object tree.

        Args:
            shown: What `look` and `inventory` print.
            saved: The state. The machine is left in another one.
        """
        vocabulary = self._vocabulary
        words: dict[str, str] = {}
        at_hand = self._at_hand(saved)
        shown = f"{shown} {', '.join(self._story.name(number) for number in at_hand)}"
        for word in _WORD.findall(shown.lower()):
            forms = (word, word.removesuffix("s"))
            form = next((form for form in forms if vocabulary.names_something(form)), "")
            if form and not _PRONOUNS & set(forms):
                words.setdefault(form[: self._story.word_length], form)
        myself = self._meant("me", saved)
        found: dict[_Key, list[str]] = {}
        unclear: list[str] = []
        for word in words.values():
            key = self._meant(word, saved)
            if key is None:
                unclear.append(word)
            elif key != myself and key[0] != self._player:
                found.setdefault(key, []).append(word)
        things = [
            self._thing(key, self._name(key, known, unclear, saved), saved) for key, known in found.items()
        ]
        numbers = {thing.number for thing in things} | {self._player}
        sharing = [number for word in unclear for number in vocabulary.known_by(word)]
        for number in dict.fromkeys([*sharing, *at_hand, *vocabulary.scenery(self._place(saved))]):
            if number in numbers:
                continue
            numbers.add(number)
            names = [*vocabulary.full_names(number), *vocabulary.nouns(number)[:2]]
            for name in (name for name in names if name not in _PRONOUNS):
                key = self._meant(name, saved)
                if key is not None and key[0] == number and key != myself:
                    things.append(self._thing(key, name, saved))
                    break
        return things + self._values(shown, saved)

    def _values(self, shown: str, saved: Snapshot) -> list[Thing]:
        """Return the numbers that the text shows ("1 through 8" shows eight) and the directions, as things.

        A number with object 0 can only fill a slot for words.
        """
        found: dict[int, None] = {}
        for low, high in _NUMBER.findall(shown):
            found.update(dict.fromkeys(range(int(low), min(int(high or low), int(low) + _MOST_NUMBERS) + 1)))
        numbers = [str(value) for value in found][:_MOST_NUMBERS]
        ways = [way for way in WAYS[:8] if self._vocabulary.names_something(way)]
        values: list[Thing] = []
        for words in (numbers, ways):
            key = self._meant(words[0], saved) if words else None
            if key is not None or words is numbers:
                number = key[0] if key is not None else 0
                values += [Thing(word, number, False, frozenset(), is_value=True) for word in words]
        return values

    def _meant(self, words: str, saved: Snapshot) -> _Key | None:
        """Return the object that the parser resolves `words` to, with its routines; None if there is not just one."""
        machine, story = self._machine, self._story
        machine.rewind(saved)
        for number in self._bearings.noun_globals:
            set_global(machine, story, number, 0)
        machine.step(f"{self._bearings.examine} {words}")
        if machine.halted:
            return None
        at = story.globals_at
        memory = machine.memory
        values = [
            memory[at + 2 * number] << 8 | memory[at + 2 * number + 1]
            for number in self._bearings.noun_globals
        ]
        values = [value for value in values if 0 < value <= story.object_count]
        self.looked.append(self._world.facts())
        if not values or values[0] in self._bearings.absent:
            return None
        number = max(values, key=lambda value: (values.count(value), -values.index(value)))
        return number, self._handlers.routines_of(number, memory)

    def _name(self, key: _Key, known: list[str], unclear: list[str], saved: Snapshot) -> str:
        """Return the name for a thing that each of the words `known` refers to."""
        own = self._vocabulary.own_words(key[0])
        if own and own[-1] in unclear and self._meant(" ".join(own), saved) == key:
            return " ".join(own)  # "door" alone may be ambiguous where "trap door" is not
        words = [word for word in known if self._vocabulary.is_noun(word)] or known
        return max(words, key=lambda word: (word in own[-1:], word in own, -words.index(word)))

    def _thing(self, key: _Key, name: str, saved: Snapshot) -> Thing:
        number, routines = key
        carried, asks = self._is_carried(number, saved), self._handlers.asked(routines)
        return Thing(name, number, carried, asks, self._handlers.topics(routines))

    def _is_carried(self, number: int, saved: Snapshot) -> bool:
        for _ in range(16):
            number = self._story.parent(saved.memory, number)
            if number == self._player:
                return True
            if not 0 < number <= self._story.object_count:
                return False
        return False

    def _place(self, saved: Snapshot) -> int:
        return self._story.parent(saved.memory, self._player) if self._player else 0

    def _at_hand(self, saved: Snapshot) -> list[int]:
        """Return all objects at the player's place, and those inside them."""
        story, memory = self._story, saved.memory
        found: list[int] = []
        front = [self._place(saved)]
        while front and len(found) < 200:
            place = front.pop()
            for child in story.children(memory, place) if 0 < place <= story.object_count else ():
                found.append(child)
                front.append(child)
        return found

"""Names the things at hand in words that the story's parser resolves to exactly one object."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.games.actions import limits
from engine.games.actions.handlers import Handlers
from engine.games.actions.vocabulary import Vocabulary
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.parser_globals import ParserGlobals
from engine.games.zmachine.story import WORD, StoryFile
from engine.games.zmachine.variables import NO_ACTION, global_value, set_global
from engine.games.zmachine.world import World

_NUMBER = re.compile(r"\b(\d{1,4})\b(?:(?: (?:through|to) |-)(\d{1,4})\b)?")
NO_WORD = "qqqq"
"""A command that no story knows. Its answer shows how a story answers to such a command."""
_Key = tuple[int, tuple[int, ...]]
"""An object and the addresses of its routines. Some stories use one object for several things in turn."""
_NO_NAMES_WORDS = """
it this that them these those all everything me myself you your yourself self i him her one
a an the and then but of
"""
_NO_NAMES = frozenset(_NO_NAMES_WORDS.split())
"""Words that name nothing by themselves, even where a story has them among the words of a thing."""


@dataclass(frozen=True, slots=True)
class Thing:
    """One thing that commands can refer to now.

    Attributes:
        name: Words to call it by.
        number: Number of its object, 0 if unknown.
        carried: Whether the player has it, directly or in something carried.
        asks: Actions that its routines ask for; see `engine.games.actions.handlers`.
        topics: Words that its routines compare something with.
        full: Whether something is in it.
        twins: Numbers of other objects at hand that go by the same name. The story may choose one of them.
        is_value: Whether it is a number or a direction: something to set things to, or to push them in.
    """

    name: str
    number: int
    carried: bool
    asks: frozenset[int]
    topics: tuple[str, ...] = ()
    full: bool = False
    twins: tuple[int, ...] = ()
    is_value: bool = False


@dataclass(frozen=True, slots=True)
class CommandParts:
    """What commands can be made of in one state.

    Attributes:
        things: The things at hand.
        looked: `World.facts` after looking at each.
        heard: Words that the texts mention and that name something, but nothing at hand: spells, topics.
        spoken: Words of things, or heard, that the story now accepts as the first word of a command.
        stirring: Commands that look at a thing, of the looks that changed something.
        listeners: Numbers of the things to which the parser passes an order.
    """

    things: tuple[Thing, ...]
    looked: tuple[bytes, ...] = ()
    heard: tuple[str, ...] = ()
    spoken: tuple[str, ...] = ()
    stirring: tuple[str, ...] = ()
    listeners: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class _Meaning:
    """What words meant in a state.

    Attributes:
        number: The object, 0 if there is not just one.
        text: What looking at it prints.
        changed: Index, value before and value after of each fact that the look changed.
    """

    number: int
    text: str
    changed: tuple[tuple[int, int, int], ...]

    def facts_after(self, facts: bytes) -> bytes:
        """Return what the facts are after the look, where they are as they were then."""
        after = bytearray(facts)
        for i, was, became in self.changed:
            if facts[i] == was:
                after[i] = became
        return bytes(after)


class Namer:
    """Names the things in states of one story.

    Args:
        speaks: Whether the parser asks the story about a command that begins with a word that is no verb.
        waiting: Number of the action of waiting, 0 if there is none.
    """

    def __init__(
        self,
        machine: Machine,
        world: World,
        story: StoryFile,
        parser_globals: ParserGlobals,
        handlers: Handlers,
        vocabulary: Vocabulary,
        player: int,
        *,
        speaks: bool,
        waiting: int,
    ) -> None:
        self._meanings: dict[str, _Meaning] = {}
        self._speaks = speaks
        self._waiting = waiting
        self._machine = machine
        self._world = world
        self._story = story
        self._parser_globals = parser_globals
        self._wording = parser_globals.wording
        self._handlers = handlers
        self._player = player
        self._vocabulary = vocabulary
        self._looked: list[bytes] = []
        self._texts: dict[_Key, str] = {}
        self._stirred: set[int] = set()
        self._facts = b""
        self._near: list[int] = []
        self._before: set[tuple[bytes, int]] = set()

    def hand(self, shown: str, saved: Snapshot) -> CommandParts:
        """Return the things that `shown` and the looks at them mention, those in the object tree, and other words.

        Args:
            shown: What `look` and `inventory` print.
            saved: The state. The machine is left in another one.
        """
        vocabulary = self._vocabulary
        self._machine.rewind(saved)
        self._before = {(self._world.objects(), self._world.score())}
        at_hand = self._near = self._at_hand(saved)
        self._facts = self._world.facts()
        shown = f"{shown} {', '.join(self._story.name(number) for number in at_hand)}"
        myself = self._meant("me", saved)
        self._before.add((self._world.objects(), self._world.score()))  # what changes by itself in a turn
        found: dict[_Key, list[str]] = {}
        unclear: list[str] = []
        words: dict[str, str] = {}
        for word in self._new_words(shown, words):
            key = self._meant(word, saved)
            if key is None:
                unclear.append(word)
            elif key != myself and key[0] != self._player:
                found.setdefault(key, []).append(word)
        read = "\n".join(self._texts[key] for key in found)
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
            for name in (name for name in names if name not in _NO_NAMES):
                key = self._meant(name, saved)
                if key is not None and key[0] == number and key != myself:
                    things.append(self._thing(key, name, saved))
                    break
        if not self._sees(shown, saved):
            ways = {self._story.cut(way) for way in self._wording.ways}
            for number in range(1, min(self._story.object_count, limits.DARK) + 1):
                nouns = [noun for noun in vocabulary.nouns(number) if noun not in _NO_NAMES]
                if number in numbers or not nouns or ways & {*nouns}:
                    continue
                key = self._meant(nouns[0], saved)
                if key is not None and key[0] == number and key != myself:
                    own = (word for word in vocabulary.own_words(number) if self._story.cut(word) in nouns)
                    things.append(self._thing(key, next(own, nouns[0]), saved))
        heard: list[str] = []
        if self._speaks:
            far = [word for word in self._new_words(read, words) if self._meant(word, saved) is None]
            heard = self._heard([*far, *reversed(unclear)], things)
        return CommandParts(
            (*things, *self._values(f"{shown} {read}", saved)),
            tuple(self._looked),
            tuple(heard),
            self._spoken([*heard, *(thing.name for thing in things)], saved) if self._speaks else (),
            tuple(
                f"{self._wording.examine} {thing.name}" for thing in things if thing.number in self._stirred
            ),
            frozenset(thing.number for thing in things if self._listens(thing, saved)),
        )

    def _listens(self, thing: Thing, saved: Snapshot) -> bool:
        """Whether the parser passes an order to a thing, whatever that does with it.

        Where the name is a command by itself, "floor, wait" goes down and waits; so such a name is no address.
        """
        order = f"{thing.name}, {self._wording.idle[0]}"
        listens = bool(self._waiting) and self._waiting in self._actions(order, saved)
        return listens and self._actions(thing.name, saved) <= {0, NO_ACTION}

    def _actions(self, command: str, saved: Snapshot) -> set[int]:
        """Return what the parser's variables for the action hold after a command, if it sets them; else 0."""
        self._machine.rewind(saved)
        for number in self._parser_globals.action_globals:
            set_global(self._machine, self._story, number, 0)
        self._machine.run(command)
        return {global_value(self._machine, self._story, number) for number in self._parser_globals.action_globals}

    def _new_words(self, text: str, known: dict[str, str]) -> list[str]:
        """Return the words of a text that name something, and add them to those known."""
        new: list[str] = []
        for word in WORD.findall(text.lower()):
            forms = (word, word.removesuffix("s"))
            form = next((form for form in forms if self._vocabulary.names_something(form)), "")
            cut = self._story.cut(form)
            if form and not _NO_NAMES & set(forms) and cut not in known:
                known[cut] = form
                new.append(form)
        return new

    def _heard(self, unclear: list[str], things: list[Thing]) -> list[str]:
        """Return those of these words that name something, but nothing at hand."""
        present = {word for thing in things for word in self._vocabulary.nouns(thing.number)}
        cut = self._story.cut
        far = [word for word in unclear if cut(word) not in present]
        return [word for word in far if self._vocabulary.is_plain_noun(word)][: limits.HEARD]

    def _spoken(self, words: list[str], saved: Snapshot) -> tuple[str, ...]:
        """Return those words to which the story, as a command, gives another answer than to a word it does not know.

        Inform's parser asks the story about a command whose first word is no verb; so spells become verbs once learnt.
        """
        self._machine.rewind(saved)
        unknown = self._machine.run(NO_WORD)
        spoken: list[str] = []
        for word in dict.fromkeys(words):
            if " " in word or word in self._wording.ways or self._vocabulary.is_verb(word):
                continue
            self._machine.rewind(saved)
            if self._machine.run(word) != unknown and not self._machine.halted:
                spoken.append(word)
        going = self._actions(self._wording.ways[0], saved) if spoken else set()  # Inform's floor is a way, too
        return tuple([word for word in spoken if self._actions(word, saved) != going][: limits.SPOKEN])

    def _values(self, shown: str, saved: Snapshot) -> list[Thing]:
        """Return the numbers that the text shows ("1 through 8" shows eight) and the directions, as things.

        A number with object 0 can only fill a slot for words.
        """
        spans = [(int(low), int(high or low)) for low, high in _NUMBER.findall(shown)]
        found = dict.fromkeys(low for low, high in spans if low == high)
        for low, high in spans:
            found.update(dict.fromkeys(range(low, min(high, low + limits.NUMBERS) + 1)))
        numbers = [str(value) for value in found][: limits.NUMBERS]
        ways = [way for way in self._wording.ways[:8] if self._vocabulary.names_something(way)]
        values: list[Thing] = []
        for words in (numbers, ways):
            key = self._meant(words[0], saved) if words else None
            if key is not None or words is numbers:
                number = key[0] if key is not None else 0
                values += [Thing(word, number, False, frozenset(), is_value=True) for word in words]
        return values

    def _meant(self, words: str, saved: Snapshot) -> _Key | None:
        """Return the object that the parser resolves `words` to, with its routines; None if there is not just one."""
        known = self._meanings.get(words)
        if known is None:
            known = self._look_up(words, saved)
            if known.number not in self._stirred:
                self._meanings[words] = known
        self._looked.append(known.facts_after(self._facts))
        if not known.number:
            return None
        meant = known.number, self._handlers.routines_of(known.number, saved.memory)
        self._texts.setdefault(meant, known.text)
        return meant

    def _look_up(self, words: str, saved: Snapshot) -> _Meaning:
        """Look at what `words` refer to."""
        machine, story = self._machine, self._story
        machine.rewind(saved)
        for number in self._parser_globals.noun_globals:
            set_global(machine, story, number, 0)
        text = machine.step(f"{self._wording.examine} {words}")
        if machine.halted:
            return _Meaning(0, "", ())
        pairs = enumerate(zip(self._facts, self._world.facts(), strict=True))
        changed = tuple((i, before, now) for i, (before, now) in pairs if before != now)
        at = story.globals_at
        memory = machine.memory
        values = [
            memory[at + 2 * number] << 8 | memory[at + 2 * number + 1]
            for number in self._parser_globals.noun_globals
        ]
        values = [value for value in values if 0 < value <= story.object_count]
        if not values or values[0] in self._parser_globals.absent:
            return _Meaning(0, text, changed)
        number = max(values, key=lambda value: (values.count(value), -values.index(value)))
        if (self._world.objects(), self._world.score()) not in self._before:
            self._stirred.add(number)
        return _Meaning(number, text, changed)

    def _name(self, key: _Key, known: list[str], unclear: list[str], saved: Snapshot) -> str:
        """Return the name for a thing that each of the words `known` refers to."""
        own = self._vocabulary.own_words(key[0])
        if own and own[-1] in unclear and self._meant(" ".join(own), saved) == key:
            return " ".join(own)  # "door" alone may be ambiguous where "trap door" is not
        words = [word for word in known if self._vocabulary.is_noun(word)] or known
        return max(words, key=lambda word: (word in own[-1:], word in own, -words.index(word)))

    def _thing(self, key: _Key, name: str, saved: Snapshot) -> Thing:
        number, routines = key
        carried = self._story.is_in(saved.memory, number, self._player)
        asks = self._handlers.asked(routines)
        full = any(True for _ in self._story.children(saved.memory, number))
        known = [self._vocabulary.known_by(word) for word in name.split()]
        twins = tuple(other for other in self._near if other != number and all(other in those for those in known))
        return Thing(name, number, carried, asks, self._handlers.topics(routines), full, twins)

    def _sees(self, shown: str, saved: Snapshot) -> bool:
        """Whether a text names the place, as no text does in the dark."""
        place, text = self._place(saved), shown.lower()
        while 0 < place <= self._story.object_count:
            if self._story.name(place).lower() in text:
                return True
            place = self._story.parent(saved.memory, place)
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

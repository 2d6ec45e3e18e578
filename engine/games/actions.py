"""Valid actions: the commands that would change the world now, found by trying.

What is tried comes from the story's own grammar and from the things at hand, and only where it can matter:
an action that moves or marks something, or one that a thing or the place has an answer to
(`engine.games.handlers`). Of several commands with one effect the most usual is kept.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from engine.games.bearings import NEVER, Bearings
from engine.games.grammar import Grammar
from engine.games.handlers import Handlers
from engine.games.machine import Machine, Snapshot
from engine.games.names import Namer, Thing
from engine.games.phrasing import phrase, usage
from engine.games.survey import IDLE, WAYS
from engine.games.trial import Trial
from engine.games.vocabulary import Vocabulary
from engine.games.world import World
from engine.games.zmachine import StoryFile

SCHEME = 2
"""Part of the cache's key; to be raised when the way actions are found changes."""


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


class ActionFinder:
    """Finds the valid actions of one story in any of its situations."""

    def __init__(
        self,
        story: StoryFile,
        grammar: Grammar,
        bearings: Bearings,
        *,
        player: int,
        poison: frozenset[str] = frozenset(),
    ) -> None:
        self._story = story
        self._poison = poison
        self._grammar = grammar
        self._bearings = bearings
        self._player = player
        self.handlers = Handlers(story, grammar, bearings.action_globals)
        self._vocabulary = Vocabulary(story)
        length = story.word_length
        self._forms = forms(grammar, length)
        bare = [form.text for form in self._forms if not form.held]
        ways = [way for way in WAYS if way[:length] in story.dictionary]
        self._bare = list(dict.fromkeys([*ways, *bare]))
        self.idle: Sequence[str] = [word for word in IDLE if word[:length] in story.dictionary]
        self._strict = grammar.layout == "zil"  # there, picking up by the way is announced and not wanted
        self._pickup = {
            form.action for form in self._forms if len(form.held) == 1 and form.text in ("take {}", "get {}")
        }

    def search(self, machine: Machine, world: World, shown: str, saved: Snapshot) -> Search:
        """Return a search in the situation `saved`, not yet begun.

        Args:
            shown: What `look` and `inventory` print.
        """
        return Search(self, machine, world, shown, saved)

    def things(
        self, machine: Machine, world: World, shown: str, saved: Snapshot
    ) -> tuple[list[Thing], list[bytes]]:
        """Return the things at hand, and the facts after looking at each."""
        namer = Namer(
            machine, world, self._story, self._bearings, self.handlers, self._vocabulary, self._player
        )
        return namer.things(shown, saved), namer.looked

    def attempts(self, trial: Trial, things: Sequence[Thing], saved: Snapshot) -> Iterator[None]:
        """Try everything that can matter, one command at each step."""
        for command in self._bare:
            if command not in self._poison:
                trial(command)
                yield
        here = self._asked_here(saved)
        portable: set[int] = set()
        for form, thing in self._singles(things, here):
            command = form.text.format(thing.name)
            if command in self._poison:
                continue
            if form.held[0] and not thing.carried and (self._strict or thing.number not in portable):
                continue
            if trial(command, 1) and form.action in self._pickup:
                portable.add(thing.number)
            yield
        effective = self.handlers.effective
        everything = [
            form.text.format("all")
            for form in self._forms
            if len(form.held) == 1 and form.many and form.action in effective
        ]
        for count, commands in ((1, everything), (2, self._doubles(things, here, portable))):
            for command in commands:
                if command not in self._poison:
                    trial(command, count)
                    yield

    def _asked_here(self, saved: Snapshot) -> frozenset[int]:
        """Return the actions that the place asks for."""
        place = self._story.parent(saved.memory, self._player) if self._player else 0
        asks: frozenset[int] = frozenset()
        for _ in range(4):
            if not 0 < place <= self._story.object_count:
                break
            asks |= self.handlers.asked(self.handlers.routines_of(place, saved.memory))
            place = self._story.parent(saved.memory, place)
        return asks

    def _singles(self, things: Sequence[Thing], here: frozenset[int]) -> Iterator[tuple[Form, Thing]]:
        singles = [form for form in self._forms if len(form.held) == 1 and not form.free[0]]
        singles.sort(key=lambda form: form.held[0])  # by then it is known what can be picked up
        for form in singles:
            always = form.action in here or (form.action in self.handlers.effective and not form.spare)
            for thing in things:
                if always or form.action in thing.asks:
                    yield form, thing

    def _doubles(self, things: Sequence[Thing], here: frozenset[int], portable: set[int]) -> Iterator[str]:
        carried = {thing.number for thing in things if thing.carried}
        at_hand = carried | portable
        alone = {form.action for form in self._forms if len(form.held) == 1}
        highest = self.handlers.highest
        for form in self._forms:
            if len(form.held) != 2:
                continue
            effective = form.action in self.handlers.effective and form.action not in alone and not form.spare
            tool = form.text.endswith(" with {}")
            for first, second in itertools.permutations(things, 2):
                if form.held[0] and first.number not in at_hand:
                    continue
                if form.held[1] and second.number not in at_hand:
                    continue
                asked = form.action in first.asks or form.action in second.asks or form.action in here
                received = any(action > highest for action in second.asks) and not form.spare
                reach = (second if tool else first).number in (carried if self._strict else at_hand)
                if asked or ((effective or received) and reach):
                    yield form.text.format(first.name, second.name)
            if form.many and form.action in self.handlers.effective:
                for thing in things:
                    yield form.text.format("all", thing.name)


class Finder(Protocol):
    """What a search asks: what is here, and what to try."""

    @property
    def idle(self) -> Sequence[str]:
        """Commands that only let time pass."""
        ...

    def things(
        self, machine: Machine, world: World, shown: str, saved: Snapshot
    ) -> tuple[list[Thing], list[bytes]]:
        """Return the things at hand, and the facts after looking at each."""
        ...

    def attempts(self, trial: Trial, things: Sequence[Thing], saved: Snapshot) -> Iterator[None]:
        """Try commands, yielding after each."""
        ...


class Search:
    """Finding the valid actions of one situation, a few commands at a time."""

    def __init__(self, finder: Finder, machine: Machine, world: World, shown: str, saved: Snapshot) -> None:
        self._finder = finder
        self._machine = machine
        self._world = world
        self._shown = shown
        self._saved = saved
        self._trial: Trial | None = None
        self._attempts: Iterator[None] = iter(())
        self.done = False

    @property
    def tried(self) -> int:
        """How many commands have been tried."""
        return self._trial.tried if self._trial is not None else 0

    def run(self, commands: int | None = None) -> bool:
        """Try so many commands more (all if None) and return whether nothing is left to try.

        The machine is left anywhere.
        """
        if self._trial is None:
            finder = self._finder
            things, looked = finder.things(self._machine, self._world, self._shown, self._saved)
            self._trial = Trial(self._machine, self._world, self._saved, finder.idle, looked)
            self._attempts = finder.attempts(self._trial, things, self._saved)
        for _ in itertools.islice(self._attempts, commands):
            pass
        if commands is None or next(self._attempts, self) is self:
            self.done = True
        return self.done

    def found(self) -> tuple[str, ...]:
        """Return what was found so far: the most usual command for each change, sorted."""
        return self._trial.found() if self._trial is not None else ()


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

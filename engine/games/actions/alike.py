"""Tells which commands a story treats alike, so that one of them is tried for all, and once for many states.

Commands of the same wording do alike if their things are alike: in the same places, with the same attributes and
properties, and neither handled by a routine of their own nor named by the action's. Of the attributes and properties,
those count that the action's routines look at, unless the parser itself looks at the things. What a command that did
nothing depends on is read from the code: its things, the variables and the objects that the routines look at, and the
place, where the place asks for the action. As long as these are the same, it does nothing again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterable

from engine.games.actions import limits
from engine.games.actions.experience import Key
from engine.games.actions.handlers import Handlers, RoutineReads
from engine.games.actions.looks import Looks
from engine.games.actions.names import Thing
from engine.games.actions.order import ORDER, Attempt
from engine.games.zmachine.story import HEADER, StoryFile

_PAIR = 4
"""Parts of the key of a command for two things."""
_Part = tuple[int, tuple[int, ...]]
"""What a command depends on in one of its things, and the routines of one that is special."""


class Alike:
    """Names what commands depend on, in one state.

    Args:
        story: The story file.
        handlers: What its code tells.
        facts: Numbers of the global variables that belong to the world state.
        player: Number of the player's object.
        here: Actions that the place asks for.
        placed: Addresses of the routines of the place.
        memory: The story's memory in this state.
        lit: Whether the player sees the place.
        ways: The directions, as commands.
        waited: The memory after time has passed. A table that has changed then decides nothing.
        number: Numbers what commands depend on, equal things alike, in all states.
    """

    def __init__(
        self,
        story: StoryFile,
        handlers: Handlers,
        facts: frozenset[int],
        player: int,
        here: frozenset[int],
        placed: tuple[int, ...],
        memory: bytes,
        *,
        lit: bool,
        ways: frozenset[str],
        waited: bytes,
        number: Callable[[Hashable], int],
    ) -> None:
        self._number = number
        self._waited = waited
        self._story = story
        self._handlers = handlers
        self._player = player
        self._here = here
        self._at_place = handlers.reading(placed)
        self._readings: dict[int, RoutineReads] = {}
        self._once = object()
        self._memory = memory
        self._lit = lit
        self._ways = ways
        self._room = story.parent(memory, player) if player else 0
        at = story.globals_at  # a variable that holds the place says nothing more than the place
        room = self._room.to_bytes(2)
        self._placing = frozenset(
            number for number in range(240) if memory[at + 2 * number : at + 2 * number + 2] == room
        )
        self._facts = facts - self._placing
        self._carried = sum(1 for _ in story.children(memory, player)) if player else 0
        self._looks = Looks(story, player, memory)
        self._contexts: dict[tuple[int, ...], int] = {}
        self._objects: dict[int, Hashable] = {}
        self._wordings: dict[Hashable, tuple[int, int, dict[str, _Part]]] = {}
        self._selves: dict[int, _Part] = {}
        self._fitting: dict[int, frozenset[int]] = {}
        self._itselves: set[Hashable] = set()
        self._printed: dict[int, re.Pattern[str]] = {}

    def key(self, attempt: Attempt) -> Key:
        """Return what decides what a command does. No other state has the key of one that is tried in each state."""
        if not attempt.form:
            return attempt.command, self._once
        form = attempt.form, attempt.action, attempt.picks
        known = self._wordings.get(form)
        if known is None:
            known = self._wordings[form] = self._wording(attempt), self._context(attempt.action, ()), {}
        wording, context, parts_of = known
        things = attempt.things
        parts: list[int] = []
        routines: tuple[int, ...] = ()
        for thing in things:
            part = parts_of.get(thing.name)
            if part is None:
                part = parts_of[thing.name] = self._with_twins(self._part(attempt, thing), thing)
            parts.append(part[0])
            routines += part[1]
        if routines:
            context = self._context(attempt.action, routines)
            if len(parts) > 1:  # "give feather to tinker": his routine names the feather
                named = self._handlers.reading(routines).named
                for i, thing in enumerate(things):
                    if thing.number in named:
                        parts[i] = self._itself(thing)[0]
        if len(things) == 2 and self._is_fitting(things[0].number, things[1].number):
            parts = [self._itself(thing)[0] for thing in things]
        return wording, context, *parts

    def load(self, attempt: Attempt) -> int:
        """Return how many things the player has, for what may first take another one; else 0."""
        return self._carried if attempt.many and not attempt.things[0].carried else 0

    def _wording(self, attempt: Attempt) -> int:
        placed = not attempt.things or attempt.action in self._here
        return self._number((attempt.form, self._lit, attempt.every and self._once, self._room if placed else 0))

    def is_plain(self, key: Key) -> bool:
        """Whether a key is that of a command for two things to neither of which something special is done."""
        return len(key) == _PAIR and self._itselves.isdisjoint(key[-2:])

    def answered(self, answer: bytes, attempt: Attempt) -> str:
        """Return the answer to a command without the names of its things."""
        text = answer.decode("latin-1")
        for place, thing in enumerate(attempt.things):
            if thing.number not in self._printed:
                name = re.escape(self._story.name(thing.number) or thing.name)
                self._printed[thing.number] = re.compile(rf"\b(?:(?:an?|the|some) )?{name}\b", re.IGNORECASE)
            text = self._printed[thing.number].sub(f"{{{place}}}", text)
        return text

    def _is_fitting(self, first: int, second: int) -> bool:
        """Whether one of two things has the other one as a property: its key, say."""
        return second in self._fits(first) or first in self._fits(second)

    def _fits(self, number: int) -> frozenset[int]:
        known = self._fitting.get(number)
        if known is None:
            values = self._story.numbers(self._memory, number)
            known = self._fitting[number] = frozenset(value for _, value in values)
        return known

    def _part(self, attempt: Attempt, thing: Thing) -> _Part:
        if self._is_special(attempt.action, thing, receives=len(attempt.things) > 1 or attempt.every):
            return self._itself(thing)
        reading = self._reading(attempt.action)
        tested = None if attempt.picks else (reading.attributes, reading.properties)
        if thing.name.split()[0] in self._ways:  # Inform has an object for each, with the way as a property
            tested = tested and (tested[0], frozenset())
        return self._number((thing.carried, self._looks(thing.number, tested))), ()

    def _with_twins(self, part: _Part, thing: Thing) -> _Part:
        """Return what a command depends on in a thing, and in those of the same name, of which it may mean any."""
        if not thing.twins:
            return part
        both = self._number((part[0], tuple(map(self._looks, thing.twins))))
        if part[0] in self._itselves:
            self._itselves.add(both)
        return both, part[1]

    def _reading(self, action: int) -> RoutineReads:
        """Return what an action's routines look at, and those of the place if they ask for it."""
        known = self._readings.get(action)
        if known is None:
            own = self._handlers.action_reading(action)
            known = self._readings[action] = own.and_of(self._at_place) if action in self._here else own
        return known

    def _itself(self, thing: Thing) -> _Part:
        """Return what a command depends on in a thing that is like no other, and its routines."""
        known = self._selves.get(thing.number)
        if known is None:
            itself = self._number((thing.number, self._looks(thing.number), "itself"))
            self._itselves.add(itself)
            known = self._selves[thing.number] = itself, self._handlers.routines_of(thing.number, self._memory)
        return known

    def _is_special(self, action: int, thing: Thing, *, receives: bool) -> bool:
        """Whether something is done to this thing that is not done to others that look alike."""
        return (
            not thing.number
            or action == ORDER
            or action in thing.asks
            or (receives and not thing.asks.isdisjoint(self._handlers.receiving(action)))
            or thing.number in self._reading(action).named
        )

    def _context(self, action: int, routines: tuple[int, ...]) -> int:
        """Return the number of what the routines of an action and of things look at."""
        known = self._contexts.get((action, *routines))
        if known is None:
            special = self._handlers.reading(routines)
            values = self._values([self._reading(action), special])
            room = self._room if special.variables & self._placing else 0
            known = self._contexts[action, *routines] = self._number((values, room))
        return known

    def _values(self, readings: Iterable[RoutineReads]) -> Hashable:
        memory, at = self._memory, self._story.globals_at
        variables = self._facts & frozenset(number for reading in readings for number in reading.variables)
        objects = {number for reading in readings for number in reading.objects}
        tables = {table for reading in readings for table in reading.tables}
        return (
            tuple(memory[at + 2 * number : at + 2 * number + 2] for number in sorted(variables)),
            tuple(map(self._placed, sorted(objects))),
            tuple(self._table(*table) for table in sorted(tables)),
        )

    def _table(self, is_variable: bool, which: int) -> bytes:
        """Return what a table begins with: how long it is, no story tells. Nothing of one that cannot change."""
        at = which
        if is_variable:
            cell = self._story.globals_at + 2 * which
            at = self._memory[cell] << 8 | self._memory[cell + 1]
        part = slice(at, min(at + limits.TABLE, self._story.static_at)) if at >= HEADER else slice(0)
        return self._memory[part] if self._memory[part] == self._waited[part] else b""

    def _placed(self, number: int) -> Hashable:
        known = self._objects.get(number)
        if known is None:
            known = self._objects[number] = (
                self._looks.features(number),
                self._story.parent(self._memory, number),
            )
        return known

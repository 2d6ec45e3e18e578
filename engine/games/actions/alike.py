"""Tells which commands a story treats alike in one state, so that one of them is tried for all.

Commands of the same wording do alike if their things are alike: in the same places, with the same attributes and
properties, and neither handled by a routine of their own nor named by the action's. Of the attributes and properties,
those count that the action's routines look at, unless the parser itself looks at the things.
"""

from __future__ import annotations

import re
from collections.abc import Hashable

from engine.games.actions.experience import Key
from engine.games.actions.handlers import Handlers, RoutineReads
from engine.games.actions.looks import Looks
from engine.games.actions.names import Thing
from engine.games.actions.order import ORDER, Attempt
from engine.games.zmachine.story import StoryFile

_PAIR = 3
"""Parts of the key of a command for two things."""
_Part = tuple[Hashable, tuple[int, ...]]
"""What a command depends on in one of its things, and the routines of one that is special. What is special is the only
thing like it, and stands here by its number."""


class Alike:
    """Names what commands depend on, in one state.

    Args:
        story: The story file.
        handlers: What its code tells.
        player: Number of the player's object.
        here: Actions that the place asks for.
        placed: Addresses of the routines of the place.
        memory: The story's memory in this state.
        ways: The directions, as commands.
    """

    def __init__(
        self,
        story: StoryFile,
        handlers: Handlers,
        player: int,
        here: frozenset[int],
        placed: tuple[int, ...],
        memory: bytes,
        *,
        ways: frozenset[str],
    ) -> None:
        self._story = story
        self._handlers = handlers
        self._here = here
        self._at_place = handlers.reading(placed)
        self._readings: dict[int, RoutineReads] = {}
        self._memory = memory
        self._ways = ways
        self._looks = Looks(story, player, memory)
        self._parts: dict[Hashable, dict[str, _Part]] = {}
        self._fitting: dict[int, frozenset[int]] = {}
        self._printed: dict[int, re.Pattern[str]] = {}

    def key(self, attempt: Attempt) -> Key:
        """Return what decides what a command does."""
        if not attempt.form:
            return (attempt.command,)
        things = attempt.things
        takes = attempt.many and not things[0].carried  # it may first take its thing
        wording = attempt.form, attempt.action, attempt.picks, attempt.every, takes
        parts_of = self._parts.setdefault(wording, {})
        parts: list[Hashable] = []
        routines: tuple[int, ...] = ()
        for thing in things:
            part = parts_of.get(thing.name)
            if part is None:
                part = parts_of[thing.name] = self._part(attempt, thing)
            parts.append(part[0])
            routines += part[1]
        if routines and len(parts) > 1:  # "give feather to tinker": his routine names the feather
            named = self._handlers.reading(routines).named
            for i, thing in enumerate(things):
                if thing.number in named:
                    parts[i] = thing.number
        if len(things) == 2 and self._is_fitting(things[0].number, things[1].number):
            parts = [thing.number for thing in things]
        return wording, *parts

    def is_plain(self, key: Key) -> bool:
        """Whether a key is that of a command for two things to neither of which something special is done."""
        return len(key) == _PAIR and not any(isinstance(part, int) for part in key[1:])

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
            return thing.number, self._handlers.routines_of(thing.number, self._memory)
        reading = self._reading(attempt.action)
        tested = None if attempt.picks else (reading.attributes, reading.properties)
        if thing.name.split()[0] in self._ways:  # Inform has an object for each, with the way as a property
            tested = tested and (tested[0], frozenset())
        twins = tuple(map(self._looks, thing.twins))  # things of the same name, of which it may mean any
        return (thing.carried, self._looks(thing.number, tested), twins), ()

    def _reading(self, action: int) -> RoutineReads:
        """Return what an action's routines look at, and those of the place if they ask for it."""
        known = self._readings.get(action)
        if known is None:
            own = self._handlers.action_reading(action)
            known = self._readings[action] = own.and_of(self._at_place) if action in self._here else own
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

"""Tells which commands a story treats alike, so that one of them is tried for all, and once for many states.

Commands of the same wording do alike if their things are alike: in the same places, with the same attributes, and
neither handled by a routine of their own nor named by the action's. Of the attributes, those count that the action's
routines test, unless the parser itself looks at the things. What a command that did nothing depends on is read from
the code: its things, the variables and the objects that the routines look at, and the place, where the place asks for
the action. As long as these are the same, it does nothing again.
"""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable

from engine.games.actions.handlers import Handlers, Reading
from engine.games.actions.looks import Looks
from engine.games.actions.names import Thing
from engine.games.actions.order import ORDER, Attempt
from engine.games.zmachine.story import StoryFile


class Alike:
    """Names what commands depend on, in one state.

    Args:
        story: The story file.
        handlers: What its code tells.
        facts: Numbers of the global variables that belong to the world state.
        player: Number of the player's object.
        here: Actions that the place asks for.
        memory: The story's memory in this state.
        lit: Whether the player sees the place.
    """

    def __init__(
        self,
        story: StoryFile,
        handlers: Handlers,
        facts: frozenset[int],
        player: int,
        here: frozenset[int],
        memory: bytes,
        *,
        lit: bool,
    ) -> None:
        self._story = story
        self._handlers = handlers
        self._player = player
        self._here = here
        self._once = object()
        self._memory = memory
        self._lit = lit
        self._room = story.parent(memory, player) if player else 0
        at = story.globals_at  # a variable that holds the place says nothing more than the place
        room = self._room.to_bytes(2)
        self._placing = frozenset(
            number for number in range(240) if memory[at + 2 * number : at + 2 * number + 2] == room
        )
        self._facts = facts - self._placing
        self._carried = sum(1 for _ in story.children(memory, player)) if player else 0
        self._looks = Looks(story, player, memory)
        self._contexts: dict[tuple[int, ...], Hashable] = {}
        self._objects: dict[int, Hashable] = {}
        self._owned: dict[tuple[int, str, bool], tuple[int, ...] | None] = {}

    def key(self, attempt: Attempt) -> Hashable:
        """Return what decides what a command does. No other state has the key of one that is tried in each state."""
        if not attempt.form:
            return attempt.command, self._once
        pair = len(attempt.things) > 1 or attempt.every
        tested = None if attempt.picks else self._handlers.action_reading(attempt.action).attributes
        own = [self._own(attempt.action, thing, receives=pair) for thing in attempt.things]
        routines = tuple(itertools.chain.from_iterable(filter(None, own)))
        if routines and pair:  # "give feather to tinker": his routine names the feather
            named = self._handlers.reading(routines).named
            own = [
                () if its is None and thing.number in named else its
                for thing, its in zip(attempt.things, own, strict=True)
            ]
        return (
            attempt.form,
            self._lit,
            attempt.every and self._once,
            self._carried if attempt.many and not attempt.things[0].carried else 0,
            self._room if not own or attempt.action in self._here else 0,
            self._context(attempt.action, routines),
            *(
                (thing.number, self._looks(thing.number))
                if its is not None
                else (thing.carried, self._looks(thing.number, tested))
                for thing, its in zip(attempt.things, own, strict=True)
            ),
        )

    def _own(self, action: int, thing: Thing, *, receives: bool) -> tuple[int, ...] | None:
        """Return the routines of a thing to which something special is done, None for others."""
        which = action, thing.name, receives
        if which not in self._owned:
            special = self._is_special(action, thing, receives=receives)
            self._owned[which] = self._handlers.routines_of(thing.number, self._memory) if special else None
        return self._owned[which]

    def _is_special(self, action: int, thing: Thing, *, receives: bool) -> bool:
        """Whether something is done to this thing that is not done to others that look alike."""
        return (
            not thing.number
            or action == ORDER
            or action in thing.asks
            or action in self._here
            or (receives and any(asked > self._handlers.highest for asked in thing.asks))
            or thing.number in self._handlers.action_reading(action).named
        )

    def _context(self, action: int, routines: tuple[int, ...]) -> Hashable:
        """Return what the routines of an action and of things look at."""
        known = self._contexts.get((action, *routines))
        if known is None:
            special = self._handlers.reading(routines)
            known = self._contexts[action, *routines] = (
                self._values([self._handlers.action_reading(action), special]),
                self._room if special.variables & self._placing else 0,
            )
        return known

    def _values(self, readings: Iterable[Reading]) -> Hashable:
        memory, at = self._memory, self._story.globals_at
        variables = self._facts & frozenset(number for reading in readings for number in reading.variables)
        objects = {number for reading in readings for number in reading.objects}
        return (
            tuple(memory[at + 2 * number : at + 2 * number + 2] for number in sorted(variables)),
            tuple(map(self._placed, sorted(objects))),
        )

    def _placed(self, number: int) -> Hashable:
        known = self._objects.get(number)
        if known is None:
            known = self._objects[number] = (
                self._looks.features(number),
                self._story.parent(self._memory, number),
            )
        return known

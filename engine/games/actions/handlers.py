"""Finds out which actions can affect which things, by reading a story's code without running it.

An action can change the world in two ways. Its own routine may move things or set attributes. Or a routine of an
object or of the place handles this action. Both show in the code: the first as instructions that change objects,
the second as comparisons of the variable that holds the current action with the action's number. A command has to be
tried only if one of the two applies. Here "a routine asks for an action" means that it makes such a comparison.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from engine.games.actions import limits
from engine.games.actions.grammar import StoryGrammar
from engine.games.zmachine.story import BadStory, Instruction, StoryFile

_CALLS = frozenset({("v", 0), ("v", 12), ("v", 25), ("v", 26), ("1", 8), ("2", 25), ("2", 26)})
_CALL_1N = ("1", 15)
_CHANGES = frozenset({("2", 11), ("2", 12), ("2", 14), ("1", 9), ("v", 3)})
"""set_attr, clear_attr, insert_obj, remove_obj, put_prop."""
_JUMP_EQUAL, _STORE = ("2", 1), ("2", 13)
_ANY = -1
"""An attribute or a property that a variable says."""
_TEST_ATTRIBUTE = ("2", 10)
_PROPERTIES = frozenset({("2", 17), ("2", 18), ("2", 19)})
"""get_prop, get_prop_addr, get_next_prop."""
_STORE_WORD, _PUT_PROPERTY = ("v", 1), ("v", 3)
_NAME = 1
"""Inform's property of an object's words. In others, a number that could be a word's is a routine's."""
_PROPERTY = 2
"""The local variable in which Inform's routines that write a property find its number."""
_WRITTEN = 3
"""The local variable in which Inform's routine that writes a property finds the value."""
_COUNTS = frozenset({("1", 5), ("1", 6), ("2", 4), ("2", 5)})
"""inc, dec and their branching forms. A variable they change is a counter of time or chance, not a fact."""


@dataclass(frozen=True, slots=True)
class _Routine:
    asks: frozenset[int]
    words: frozenset[int]
    calls: frozenset[int]
    sets: frozenset[int]
    others: frozenset[int]
    counts: frozenset[int]
    changes: bool
    performs: bool
    begins: frozenset[int]
    passed: frozenset[tuple[int, int, bool, int]]
    stores: bool
    names: frozenset[int]
    attributes: frozenset[int]
    properties: frozenset[int]
    puts: frozenset[int]


@dataclass(frozen=True, slots=True)
class RoutineReads:
    """What routines look at, apart from the things that a command names.

    Attributes:
        named: Numbers that variables other than the action's are compared with: the things of a command, most of them.
        attributes: Numbers of the attributes that are tested; None if a variable says which.
        properties: Numbers of the properties that are read; None if a variable says which.
    """

    named: frozenset[int]
    attributes: frozenset[int] | None
    properties: frozenset[int] | None

    def and_of(self, other: RoutineReads) -> RoutineReads:
        """Return what these routines and others look at."""
        return RoutineReads(
            self.named | other.named,
            None if self.attributes is None or other.attributes is None else self.attributes | other.attributes,
            None if self.properties is None or other.properties is None else self.properties | other.properties,
        )


class Handlers:
    """What a story's code tells about its actions and objects.

    Args:
        story: The story file.
        grammar: Its grammar.
        action_globals: Numbers of the global variables that hold the current action.

    Attributes:
        effective: Actions whose own routines change things; all actions where rules carry them out.
        facts: Numbers of the global variables that routines of objects or actions set. Some belong to the parser or
            the clock; see `engine.games.zmachine.parser_globals`.
        highest: Highest action number that a command can lead to.
    """

    def __init__(
        self,
        story: StoryFile,
        grammar: StoryGrammar,
        action_globals: Iterable[int],
    ) -> None:
        self._story = story
        self._action_routines = grammar.action_routines
        self._variables = frozenset(16 + number for number in action_globals)
        self._known: dict[int, _Routine | None] = {}
        self._asked: dict[tuple[int, ...], frozenset[int]] = {}
        self._read_by: dict[tuple[int, ...], RoutineReads] = {}
        self._read_by_action: dict[int, RoutineReads] = {}
        self._code_at = min(
            (at for routines in grammar.action_routines.values() for at in routines if at),
            default=story.static_at,
        )
        self._spelt = {at: word for word, (at, _) in story.dictionary.items()}
        self._many = grammar.layout != "zil"  # Inform's properties may hold several routines
        self._variables |= self._copies(grammar)
        self.highest = max(grammar.action_routines, default=0)
        closures = {
            action: [routine for at in routines if at for _, routine in self._closure(at)]
            for action, routines in grammar.action_routines.items()
        }
        self._leads = self._led_to(closures)
        self._asking_seconds = {
            action: frozenset(number for routine in routines for number in routine.begins if number > self.highest)
            for action, routines in closures.items()
        }
        writing = Counter(variable for action in closures for variable in self._written(action))
        shared = {variable for variable, count in writing.items() if count > limits.WRITERS}
        changing = {
            action
            for action, routines in closures.items()
            if any(r.changes or self._sets(r) for r in routines)
            or self._written(action) - shared
        }
        if self.is_by_rules:  # any action may have rules, and its routines do not tell
            changing = set(closures)
        self.facts = self._read_facts()
        self.effective = frozenset(
            action for action in closures if action in changing or self._leads.get(action, set()) & changing
        )

    def asked(self, routines: tuple[int, ...]) -> frozenset[int]:
        """Return the actions that the routines at these addresses ask for."""
        known = self._asked.get(routines)
        if known is None:
            asks: set[int] = set()
            for at in routines:
                for depth, routine in self._closure(at):
                    if depth == 0 or len(routine.asks) <= limits.GENERAL:
                        asks |= routine.asks
            asks |= {action for action, others in self._leads.items() if others & asks}
            known = self._asked[routines] = frozenset(asks)
        return known

    def topics(self, routines: tuple[int, ...]) -> tuple[str, ...]:
        """Return the dictionary words that these routines compare something with, such as topics to ask about."""
        found = {at for start in routines for _, routine in self._closure(start) for at in routine.words}
        return tuple(sorted(self._spelt[at] for at in found)) if len(found) <= limits.GENERAL else ()

    def action_topics(self, action: int) -> tuple[str, ...]:
        """Return the dictionary words that an action's own routines compare something with."""
        return self.topics(tuple(at for at in self._action_routines.get(action, ()) if at))

    def receiving(self, action: int) -> frozenset[int]:
        """Return the actions without a grammar under which an action asks its things: to receive something, say."""
        return self._asking_seconds.get(action, frozenset())

    def reading(self, routines: tuple[int, ...]) -> RoutineReads:
        """Return what the routines at these addresses look at."""
        known = self._read_by.get(routines)
        if known is None:
            whole = [pair for at in routines for pair in self._closure(at)]
            attributes = frozenset(number for _, routine in whole for number in routine.attributes)
            properties = frozenset(number for _, routine in whole for number in routine.properties)
            known = self._read_by[routines] = RoutineReads(
                frozenset(number for depth, routine in whole if depth <= limits.READING for number in routine.names),
                None if _ANY in attributes else attributes,
                None if _ANY in properties else properties,
            )
        return known

    def _sets(self, routine: _Routine) -> bool:
        """Return whether a routine has another one write a property: Inform's takes object, property and value."""
        return any(local == _WRITTEN and self._stores(at) for at, local, _, _ in routine.passed)

    def _written(self, action: int) -> frozenset[int]:
        """Return the global variables that an action's own routines write, not those that they call."""
        routines = [self._routine(at) for at in self._action_routines.get(action, ()) if at]
        written = (routine.sets | routine.counts for routine in routines if routine is not None)
        return frozenset(variable for both in written for variable in both if variable >= 16) - self._variables

    def _stores(self, at: int) -> bool:
        routine = self._routine(at)
        return routine is not None and routine.stores

    def action_reading(self, action: int) -> RoutineReads:
        """Return what an action's own routines look at."""
        known = self._read_by_action.get(action)
        if known is None:
            own = tuple(at for at in self._action_routines.get(action, ()) if at)
            known = self._read_by_action[action] = self.reading(own)
        return known

    @property
    def is_by_rules(self) -> bool:
        """Whether rules carry actions out (Inform 7), so that a thing's routines do not tell what is done to it.

        Then the routines of most actions only call one routine, the same for all.
        """
        first = Counter(
            frozenset(routine.calls)
            for routines in self._action_routines.values()
            for at in routines[:1]
            if at and (routine := self._routine(at)) is not None
        )
        calls, count = max(first.items(), key=lambda pair: pair[1], default=(frozenset(), 0))
        return len(calls) == 1 and 2 * count > first.total()

    def routines_of(self, number: int, memory: bytes | memoryview) -> tuple[int, ...]:
        """Return the addresses of the routines in an object's properties, as they are in `memory`."""
        story = self._story
        found: list[int] = []
        try:
            properties = story.properties(number)
        except BadStory:
            return ()
        for which, (at, size) in properties.items():
            if self._many and which == _NAME:
                continue
            for offset in range(0, size - 1 if self._many else min(size - 1, 1), 2):
                value = memory[at + offset] << 8 | memory[at + offset + 1]
                word = not self._many and value in self._spelt
                if not word and self._code_at <= story.unpack(value) < len(story.data):
                    found.append(story.unpack(value))
        return tuple(found)

    def _read_facts(self) -> frozenset[int]:
        """Return the global variables that objects' routines set, and flags of actions: a dam is open, a gong rang."""
        routines: list[_Routine] = []
        for number in range(1, self._story.object_count + 1):
            for at in self.routines_of(number, self._story.data):
                routines += [routine for _, routine in self._closure(at)]
        own = [self._routine(at) for addresses in self._action_routines.values() for at in addresses if at]
        acting = [routine for routine in own if routine is not None]
        sets = {variable for routine in routines for variable in routine.sets}
        flags = {variable for routine in acting for variable in routine.sets}
        flags -= {variable for routine in acting for variable in routine.others}
        counts = {variable for routine in (*routines, *acting) for variable in routine.counts}
        return frozenset(variable - 16 for variable in (sets | flags) - counts - self._variables if variable >= 16)

    def settings(self) -> tuple[int, ...]:
        """Return the addresses of the properties, of one word, that routines of objects or actions set.

        Those of numbers that count time are among them.
        """
        own = {at for addresses in self._action_routines.values() for at in addresses if at}
        for number in range(1, self._story.object_count + 1):
            own |= set(self.routines_of(number, self._story.data))
        routines = [routine for at in own if (routine := self._routine(at)) is not None]
        written = {
            value
            for routine in routines
            for at, local, is_variable, value in routine.passed
            if local == _PROPERTY and not is_variable and self._stores(at)
        }
        written |= {which for routine in routines for which in routine.puts}
        every = range(1, self._story.object_count + 1)
        places = (place for number in every for place in self._story.single(number))
        return tuple(sorted(at for which, at in places if which in written))

    def _copies(self, grammar: StoryGrammar) -> frozenset[int]:
        """Return the variable in which Inform's routines find a copy of the current action, as a set."""
        if grammar.layout == "zil":
            return frozenset()
        counts: dict[int, int] = {}
        for number in range(1, self._story.object_count + 1):
            for at in self.routines_of(number, self._story.data):
                for instruction in self._instructions(at):
                    if (instruction.kind, instruction.number) == _JUMP_EQUAL:
                        is_variable, value = instruction.operands[0] if instruction.operands else (False, 0)
                        if is_variable and value >= 16:
                            counts[value] = counts.get(value, 0) + 1
        return frozenset(sorted(counts, key=lambda v: (-counts[v], v))[:1])

    def _led_to(self, closures: dict[int, list[_Routine]]) -> dict[int, set[int]]:
        """Return for each action the other actions that its routines start.

        A routine starts an action by a call with its number, to a routine that sets the current action.
        """
        found: dict[int, set[int]] = {}
        for action, routines in closures.items():
            for routine in routines:
                for at, local, is_variable, argument in routine.passed:
                    callee = self._routine(at) if local == 1 and not is_variable else None
                    if callee is not None and callee.performs and 0 < argument <= self.highest:
                        found.setdefault(action, set()).add(argument)
        return found

    def _closure(self, at: int) -> list[tuple[int, _Routine]]:
        """Return (depth, routine) of the routine at an address and of those it calls, to a depth of `limits.DEPTH`."""
        seen = {at}
        front = [at]
        found: list[tuple[int, _Routine]] = []
        for depth in range(limits.DEPTH + 1):
            following: list[int] = []
            for address in front:
                routine = self._routine(address)
                if routine is None:
                    continue
                found.append((depth, routine))
                if depth < limits.DEPTH:
                    fresh = routine.calls - seen
                    seen |= fresh
                    following += sorted(fresh)
            front = following
        return found

    def _routine(self, at: int) -> _Routine | None:
        if at not in self._known:
            self._known[at] = self._read(at)
        return self._known[at]

    def _read(self, at: int) -> _Routine | None:
        instructions = self._instructions(at)
        if not instructions:
            return None
        asks: set[int] = set()
        words: set[int] = set()
        calls: set[int] = set()
        sets: set[int] = set()
        others: set[int] = set()  # set to something else than true or false
        counts: set[int] = set()
        names: set[int] = set()
        attributes: set[int] = set()
        properties: set[int] = set()
        begins: set[int] = set()
        passed: set[tuple[int, int, bool, int]] = set()
        puts: set[int] = set()
        changes = performs = False
        for instruction in instructions:
            opcode = (instruction.kind, instruction.number)
            operands = instruction.operands
            changes = changes or opcode in _CHANGES
            if opcode == _JUMP_EQUAL and any(v and o >= 16 and o not in self._variables for v, o in operands):
                names |= {value for is_variable, value in operands if not is_variable}
            elif opcode == _TEST_ATTRIBUTE and len(operands) > 1:
                attributes.add(_ANY if operands[1][0] else operands[1][1])
            elif opcode in _PROPERTIES and len(operands) > 1:
                properties.add(_ANY if operands[1][0] else operands[1][1])
            if opcode == _PUT_PROPERTY and len(operands) > 1 and not operands[1][0]:
                puts.add(operands[1][1])
            if opcode in _CALLS or (opcode == _CALL_1N and self._story.version >= 5):
                if operands and not operands[0][0] and operands[0][1]:
                    at_called = self._story.unpack(operands[0][1])
                    passed |= {(at_called, local, *operand) for local, operand in enumerate(operands[1:], 1)}
                    calls.add(at_called)
            elif opcode == _STORE and operands and not operands[0][0]:
                if operands[0][1] in self._variables:
                    performs = True
                    begins |= {value for is_variable, value in operands[1:] if not is_variable}
                sets.add(operands[0][1])
                if operands[1][0] or operands[1][1] > 1:
                    others.add(operands[0][1])
            elif opcode in _COUNTS and operands and not operands[0][0]:
                counts.add(operands[0][1])
            elif opcode == _JUMP_EQUAL:
                words |= {
                    value for is_variable, value in operands if not is_variable and value in self._spelt
                }
            if opcode == _JUMP_EQUAL and any(v and o in self._variables for v, o in operands):
                asks |= {value for is_variable, value in operands if not is_variable}
        return _Routine(
            frozenset(asks),
            frozenset(words),
            frozenset(calls),
            frozenset(sets),
            frozenset(others),
            frozenset(counts),
            changes,
            performs,
            frozenset(begins),
            frozenset(passed),
            any((instruction.kind, instruction.number) == _STORE_WORD for instruction in instructions),
            frozenset(number for number in names if 0 < number <= self._story.object_count),
            frozenset(attributes),
            frozenset(properties),
            frozenset(puts),
        )

    def _instructions(self, at: int) -> tuple[Instruction, ...]:
        try:
            return self._story.routine(at)
        except BadStory:
            return ()

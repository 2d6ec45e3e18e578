"""Tries commands in one state, and groups those that change the world by their effect."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from engine.games.actions.phrases import usage
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.prompt import COMMAND, StoryPrompt
from engine.games.zmachine.world import World

_Seen = tuple[str, bytes]
"""A world state: hash of the objects, and facts without the changes that time makes."""
Effect = tuple[_Seen, int, str]
"""What a command leads to: a world state, the score, and how the story ended."""
_Screen = tuple[tuple[int, int, int], bytes, bool, tuple[tuple[int, int], ...]]
"""A menu or a question: where the story waits for input, what it shows, whether all things are as they were, and the
facts that have changed."""
_Rank = tuple[int, bool, int, bool, int, int]
"""How usual a command is; the lowest is the most usual."""
_CHANCE = (
    0x1F2E3D4C, 0x2B3C4D5E, 0x05D7A1B3, 0x3C0FFEE1, 0x7A11F00D, 0x11235813, 0x27182818, 0x31415926,
)  # fmt: skip
"""Seeds of the random generator, one per attempt. All commands start with the same seeds, so the result depends on
the state alone. The later seeds give another attempt to commands with a random outcome."""

_WAITS = tuple(random.Random(1).sample(range(1, 2**31), 24))
"""Further seeds for passing time, where it draws random numbers: what happens in one of ten turns is found in 96 %."""
_SEVERAL = 3


class Trial:
    """Tries commands in one state.

    Args:
        machine: The interpreter.
        world: Compares states.
        saved: The state.
        prompt: Tells what the story waits for after a command.
        idle: Commands that only pass time (some more than others), if any is known. Changes after them do not count as
            effects of commands; the first of them is the command for the effect of passing time.
        alike: Facts (`World.facts`) after commands that only look. Cells that change in several of them are ignored.

    Attributes:
        by_score: Whether a command that changes nothing but the score has an effect.
    """

    def __init__(
        self,
        machine: Machine,
        world: World,
        saved: Snapshot,
        prompt: StoryPrompt,
        idle: Sequence[str],
        alike: Iterable[bytes] = (),
    ) -> None:
        self._screens: set[_Screen] = set()
        """Menus and questions that nothing comes of."""
        self._machine = machine
        self._world = world
        self._prompt = prompt
        machine.rewind(saved)
        prompt.forget_action()
        memory = bytes(machine.memory)
        self._starts = [replace(saved, memory=memory, random=(value, 0, 0)) for value in _CHANCE]
        self._things: dict[bytes, str] = {}
        self._facts: dict[bytes, bytes] = {}
        machine.rewind(self._starts[0])
        facts = world.facts()
        self._size = len(facts)
        self._passed = self._pass_time(idle)
        idled = [seen[1] for passed in self._passed for seen in passed]
        self._usual = list(_usual(facts, idled, list(alike)))
        machine.rewind(self._starts[0])
        self._here = self._now()
        self._score = world.score()
        self._same = [
            {self._here} | {(things, self._masked(facts)) for things, facts, _ in passed}
            for passed in self._passed
        ]
        self._drawn = [
            {_CHANCE[attempt]} | {drawn for _, _, drawn in passed}
            for attempt, passed in enumerate(self._passed)
        ]
        self._effects: dict[Effect, tuple[_Rank, str]] = {}
        self._answers: dict[str, bytes] = {}
        self.tried = 0
        self.answer = b""
        self.understood = True
        self.by_score = True
        by_luck = any(passed[0][0] != self._here[0] for passed in self._passed if passed) or self._waits(idle)
        if idle and (by_luck or self._passed[0][0][1] != facts):
            self._add((("time", b""), self._score, ""), 0, idle[0])

    def __call__(self, command: str, things: int = 0) -> Effect | None:
        """Try a command that names `things` things; return its effect, None if it does not change the world."""
        self.tried += 1
        for attempt in range(len(_CHANCE)):
            effect, by_luck = self._attempt(command, things, attempt)
            if effect is not None or not by_luck:
                return effect
        return None

    def asked(self, command: str) -> bytes:
        """Return what a command prints, whatever it does. One that was tried or asked already is not run again."""
        if command not in self._answers:
            self._machine.rewind(self._starts[0])
            self._answers[command] = self._machine.run(command)
        return self._answers[command]

    def has(self, holder: int, number: int) -> bool:
        """Whether an object is in another one, at any depth, after the last command."""
        return self._world.story.is_in(self._machine.memory, number, holder)

    def found(self) -> tuple[str, ...]:
        """Return the most usual command for each effect, sorted."""
        return tuple(sorted({command for _, command in self._effects.values()}))

    def best(self, effect: Effect) -> str:
        """Return the most usual command that has an effect."""
        return self._effects[effect][1]

    def _add(self, effect: Effect, things: int, command: str) -> None:
        """Keep the most usual command for an effect."""
        new = _rank(things, command), command
        self._effects[effect] = min(self._effects.get(effect, new), new)

    def _attempt(self, command: str, things: int, attempt: int) -> tuple[Effect | None, bool]:
        """Return the command's effect, and whether it drew random numbers, so that it may still have another one."""
        machine = self._machine
        machine.rewind(self._starts[attempt])
        text = self.answer = machine.run(command)
        if not attempt:
            self._answers[command] = text
        self.understood = self._prompt.understood()
        if machine.halted:
            return None, False  # never proposed: it crashes the interpreter instead of ending the story
        end = self._world.end(text)
        if end or self._prompt.kind() == COMMAND:
            return self._effect(command, things, attempt, text, end)
        result: tuple[Effect | None, bool] = None, False
        objects, facts = self._now()
        stay = objects == self._here[0]
        pairs = enumerate(zip(facts, self._here[1], strict=True))
        screen = machine.stand, text, stay, tuple((i, now) for i, (now, was) in pairs if now != was)
        if screen in self._screens:
            return result
        for _ in self._prompt.ways():  # what comes of it shows behind what the story asks
            printed = machine.printed
            result = self._effect(command, things, attempt, printed, self._world.end(printed))
            if result[0] is not None:
                return result
        if stay:
            self._screens.add(screen)
        return result

    def _effect(
        self, command: str, things: int, attempt: int, text: bytes, end: str
    ) -> tuple[Effect | None, bool]:
        """Note the effect of a command that has been run; return what `_attempt` does."""
        score = self._world.score()
        seen = self._now()
        if not end and (score == self._score or not self.by_score) and seen in self._same[attempt]:
            return None, self._machine.random()[0] not in self._drawn[attempt]
        if b"(Taken)" in text:
            return None, False  # "(Taken)" reports an implicit `take`, which is tried as a command of its own
        effect = seen, score, end
        self._add(effect, things, command)
        return effect, False

    def _now(self) -> _Seen:
        return self._things_now(), self._masked(self._world.facts())

    def _things_now(self) -> str:
        raw = self._world.objects()
        known = self._things.get(raw)
        if known is None:
            known = self._things[raw] = self._world.things()
        return known

    def _masked(self, facts: bytes) -> bytes:
        known = self._facts.get(facts)
        if known is None:
            plain = bytearray(facts)
            for offset, value, usual in self._usual:
                if usual is None or plain[offset] in usual:
                    plain[offset] = value
            known = self._facts[facts] = bytes(plain)
        return known

    def _waits(self, idle: Sequence[str]) -> bool:
        """Whether passing time changes things with other random numbers than those of all commands."""
        machine, start = self._machine, self._starts[0]
        if not idle or self._passed[0][0][2] == _CHANCE[0]:
            return False
        for seed in _WAITS:
            machine.rewind(replace(start, random=(seed, 0, 0)))
            machine.run(idle[0])
            if not machine.halted and self._things_now() != self._here[0]:
                return True
        return False

    def _pass_time(self, idle: Sequence[str]) -> list[list[tuple[str, bytes, int]]]:
        """Return for each seed things, facts and the random number after each idle command.

        A command that drew no number does the same with every seed.
        """
        passed: list[list[tuple[str, bytes, int]]] = [[] for _ in _CHANCE]
        for command in idle:
            for attempt, seed in enumerate(_CHANCE):
                if attempt and passed[0][-1][2] == _CHANCE[0]:
                    passed[attempt].append((*passed[0][-1][:2], seed))
                    continue
                self._machine.rewind(self._starts[attempt])
                self._machine.run(command)
                passed[attempt].append((self._things_now(), self._world.facts(), self._machine.random()[0]))
        return passed


def _usual(
    facts: bytes, idled: list[bytes], alike: list[bytes]
) -> Iterator[tuple[int, int, frozenset[int] | None]]:
    """Yield the cells that change without a command's doing: index, value in this state, usual values.

    The values after idle commands are usual, as when a clock runs down; any other value is an effect of a command. A
    cell that changes when the player looks at things is ignored altogether: its usual values are None.
    """
    for offset, value in enumerate(facts):
        if sum(other[offset] != value for other in alike) >= _SEVERAL:
            yield offset, value, None
        elif any(other[offset] != value for other in idled):
            yield offset, value, frozenset({value, *(other[offset] for other in idled)})


def _rank(things: int, command: str) -> _Rank:
    """Return what decides how usual a command is.

    Fewest things, no abbreviation, fewest words, no number, most usual verb, shortest.
    """
    words = command.split()
    number = words[-1].isdigit()
    verb = command.rpartition(", ")[2].split()[0]  # of an order, the verb that follows the name
    return things, len(command) < 3, len(words), number, -usage(verb), len(command)

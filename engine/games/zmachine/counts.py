"""What a story counts: score, turns, the highest score, and whether it has ended and how.

Inform's library keeps these in variables, in whatever language the story is. Which ones they are, the file tells for
score and turns (`engine.games.zmachine.variables`); the command that tells the score confirms it, as it prints what the
variables were set to. The variable of the end is the one that ends the story when it is set: to 1 for a death, to 2
for a victory, to other numbers for ends of the story's own.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.games.actions.grammar import StoryGrammar
from engine.games.zmachine.commands import Controls
from engine.games.zmachine.machine import Machine
from engine.games.zmachine.printed import last_words
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.variables import StatusVariables, global_value, set_global, status_variables

DEAD, WON, _OWN = 1, 2, 3
"""Values of the variable of the end: a death, a victory, the first end of the story's own."""
_SCORE, _TURNS = 4321, 1234
"""Set to find the command that prints them. No story has so many points by itself."""
_NUMBER = re.compile(r"\d+")
_TEST, _STORE = 0xA0, 0x0D
"""The instructions jz, of a variable, and store, of a small number."""
_VARIABLES = 224
_LIKELY = 4
"""Variables that are tried for that of the end: of those that are set to the value of a victory, and then of those that
are set to that of any end, the ones tested most often. A story may run for ever when another one is set."""


@dataclass(frozen=True, slots=True)
class StoryCounts:
    """Numbers of the global variables that count, None where they are not known.

    Attributes:
        score: The variable of the score.
        turns: That of the turns.
        maximum: The highest score, None if the story does not tell it.
        end: The variable that is not 0 when the story has ended.
    """

    score: int | None = None
    turns: int | None = None
    maximum: int | None = None
    end: int | None = None

    def ended(self, machine: Machine, story: StoryFile) -> int:
        """Return the value of the variable of the end: 0 while the story goes on, or if it is not known."""
        return 0 if self.end is None else global_value(machine, story, self.end)

    def over(self, machine: Machine, story: StoryFile | None, words: str | None) -> bool:
        """Return whether a story has ended.

        Words between asterisks can also be those of a sign or the title of a chapter, so they tell it only where the
        variable of the end is not known.

        Args:
            words: What stood between asterisks (`last_words`), None if nothing did.
        """
        if machine.halted or story is None or self.end is None:
            return machine.halted or words is not None
        return self.ended(machine, story) != 0


def find_counts(
    machine: Machine, story: StoryFile, grammar: StoryGrammar, controls: Controls, idle: str
) -> StoryCounts:
    """Return what is known of a story's counts, from its first situation, to which the machine returns.

    Args:
        controls: The verbs that the story must not see.
        idle: A command that passes time.
    """
    saved = machine.take()
    try:
        end = _find_end(machine, story, idle) if grammar.layout != "zil" else None
        known = status_variables(story)
        maximum = _stated_maximum(machine, story, grammar, controls, known) if known is not None else None
        if known is None or maximum is None:
            return StoryCounts(end=end)
        return StoryCounts(known.score, known.turns, maximum or None, end)
    finally:
        machine.put(saved)


def _stated_maximum(
    machine: Machine, story: StoryFile, grammar: StoryGrammar, controls: Controls, known: StatusVariables
) -> int | None:
    """Return the highest score that the command for the score tells, 0 if none; None if there is no such command."""
    saved = machine.take()
    verbs = [pattern.verbs[0] for pattern in grammar.patterns if pattern.meta and not pattern.parts]
    for command in dict.fromkeys(["score", *(verb for verb in verbs if controls.intercepted(verb) is None)]):
        machine.rewind(saved)
        set_global(machine, story, known.score, _SCORE)
        set_global(machine, story, known.turns, _TURNS)
        numbers = [int(number) for number in _NUMBER.findall(machine.step(command))]
        if _SCORE in numbers:
            return next((number for number in numbers if number not in (_SCORE, _TURNS)), 0)
    return None


def _find_end(machine: Machine, story: StoryFile, idle: str) -> int | None:
    saved = machine.take()
    data = story.data
    tested = [(data.count(bytes([_TEST, 16 + number])), number) for number in range(_VARIABLES)]
    ends = (DEAD, WON, _OWN)
    set_to = {value: [n for _, n in tested if bytes([_STORE, 16 + n, value]) in data] for value in ends}
    ever = {number for numbers in set_to.values() for number in numbers}
    used = [number for _, number in sorted(tested, key=lambda use: -use[0]) if number in ever]
    won = [number for number in used if number in set_to[WON]]
    for number in dict.fromkeys(won[:_LIKELY] + used[:_LIKELY]):
        if global_value(machine, story, number) != 0:
            continue
        words = []
        for value in (DEAD, WON):
            machine.rewind(saved)
            set_global(machine, story, number, value)
            words.append(last_words(machine.step(idle)))
        machine.rewind(saved)
        if None not in words and words[0] != words[1]:
            return number
    return None

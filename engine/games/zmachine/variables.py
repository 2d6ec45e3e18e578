"""The global variables of a story."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.games.zmachine.machine import Machine
from engine.games.zmachine.story import StoryFile

NO_ACTION = 0xFFFF
"""What Inform's parser stores for the action of a command that it does not understand."""
_GLOBALS = 240
_TIME_GAME = 0x02
_COPIES = re.compile(rb"\x2d([\x10-\xff])([\x10-\xff])(?=\x2d([\x10-\xff])([\x10-\xff]))", re.DOTALL)
"""Two instructions one after the other, each of which stores one global variable in another one."""


def global_value(machine: Machine, story: StoryFile, number: int) -> int:
    """Return the current value of a global variable."""
    at = story.globals_at + 2 * number
    return machine.memory[at] << 8 | machine.memory[at + 1]


def set_global(machine: Machine, story: StoryFile, number: int, value: int) -> None:
    """Set a global variable."""
    at = story.globals_at + 2 * number
    machine.memory[at : at + 2] = value.to_bytes(2, "big")


def globals_now(machine: Machine, story: StoryFile) -> list[int]:
    """Return the values of all global variables."""
    at = story.globals_at
    count = min(_GLOBALS, (len(machine.memory) - at) // 2)
    cells = bytes(machine.memory[at : at + 2 * count])
    return [cells[2 * i] << 8 | cells[2 * i + 1] for i in range(count)]


@dataclass(frozen=True, slots=True)
class StatusVariables:
    """Numbers of the global variables that a story's status line is drawn from."""

    place: int
    score: int
    turns: int


def status_variables(story: StoryFile) -> StatusVariables | None:
    """Return the variables of the place, the score and the turns; None if the story does not tell.

    The status line of version 3 is drawn by the interpreter, from the first three variables (Z-Machine Standards
    Document 1.1, 8.2). Inform's library copies score and turns into two variables after that of the place, one directly
    after the other, in stories of all versions. So the two instructions that copy tell all three.
    """
    if story.version == 3:
        return None if story.data[1] & _TIME_GAME else StatusVariables(0, 1, 2)
    found: list[tuple[int, int, int]] = []
    for copies in _COPIES.finditer(story.data):
        to, score, then, turns = (copies.group(part)[0] - 16 for part in (1, 2, 3, 4))
        if then == to + 1 and to and score != turns and story.word(story.globals_at + 2 * (to - 1)):
            found.append((to, score, turns))
    if not found:
        return None
    to, score, turns = min(found)  # the library declares them before all others
    return StatusVariables(to - 1, score, turns)

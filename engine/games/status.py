"""Place, score, moves and end of a story: as Jericho knows them, or as the story itself shows them.

Stories of version 3 keep the place, the score and the moves in their first three global variables, because
the interpreter draws their status line; Inform's library does so in every version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.games.bearings import global_value
from engine.games.grammar import Grammar
from engine.games.machine import Machine
from engine.games.zmachine import StoryFile

_BANNER = re.compile(r"-= (.+?) =-")
_ENDING = re.compile(r"\*{3,}\s*([^*\n]{2,80}?)\s*\*{3,}")
_WON = re.compile(r"\b(won|win|victory|victorious|triumph\w*|congratulations|succeeded)\b", re.IGNORECASE)
_TIME_GAME = 0x02


@dataclass(frozen=True, slots=True)
class Status:
    """Where the player stands."""

    score: float
    moves: int
    won: bool
    over: bool


def place_of(look: str) -> str:
    """Return the name of the place that `look` printed.

    It is the first line. In the dark there is none, and asking the interpreter would tell more than the
    player knows.
    """
    banner = _BANNER.search(look)
    if banner:
        return banner.group(1)
    first = next((line.strip() for line in look.splitlines() if line.strip()), "")
    return first.split(". ")[0].rstrip(".!")[:60]


def known_status(machine: Machine) -> Status:
    """Return the status of a story that Jericho knows."""
    env = machine.env
    won = machine.won
    return Status(float(env.get_score()), int(env.get_moves()), won, won or machine.ended)


class PlainStatus:
    """The status of a story that Jericho does not know.

    Attributes:
        known: Whether score and moves can be told.
    """

    def __init__(self, story: StoryFile | None, grammar: Grammar | None) -> None:
        self._story = story
        inform = grammar is not None and grammar.layout != "zil"
        scored = story is not None and story.version == 3 and not story.data[1] & _TIME_GAME
        self.known = story is not None and (scored or inform)

    def read(self, machine: Machine, text: str, turns: int) -> Status:
        """Return the status.

        Args:
            text: What was printed last.
            turns: Commands so far, for stories that do not count them.
        """
        ending = _ENDING.search(text)
        won = ending is not None and bool(_WON.search(ending.group(1)))
        over = ending is not None or machine.halted
        if not self.known or self._story is None:
            return Status(0.0, turns, won, over)
        score = global_value(machine, self._story, 1)
        moves = global_value(machine, self._story, 2)
        return Status(float(score - 0x10000 if score & 0x8000 else score), moves, won, over)

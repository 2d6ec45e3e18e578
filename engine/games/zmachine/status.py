"""Place, score, moves and end of a story: as Jericho knows them, or as the story itself shows them.

Stories of version 3 keep the place, the score and the moves in their first three global variables, because
the interpreter draws their status line. Other stories are asked: SCORE is a command in nearly all of them, and
after it the situation is put back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from engine.games.zmachine.counts import DEAD, WON, StoryCounts
from engine.games.zmachine.machine import Machine
from engine.games.zmachine.printed import last_words, outcome, says_died
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.variables import global_value, globals_now, set_global

_BANNER = re.compile(r"-= (.+?) =-")
_FAR = re.compile(r"[^\S\n]{3,}|\t")
"""Between a place's name and what a status line shows beside it."""
_NO_PLACE = re.compile(r"\W*\w?\W*|.*\?|please answer .*", re.IGNORECASE)
"""A first line that names no place: a prompt, a single letter, a question."""
_SENTENCE = re.compile(r"(?<=\w{3})\. ")
"""The end of a sentence. A stop after one or two letters is that of an abbreviation, as in "S. Tower"."""
_FIRST_PART = (
    re.compile(r".+?(?=[;:(—]|\s[-–]\s|, (?:a|an|the|now|and) )", re.IGNORECASE),
    re.compile(r"(?:\S+ ){2,}?\S+?(?=,? (?:which|that|who|where|whose|with) )", re.IGNORECASE),
)
"""The first part of a sentence. A comma alone can stand between two adjectives."""
_WRAPPED = re.compile(r"(?<![.!?\s]) *\n(?=[a-z])")
"""The end of a line within a sentence."""
_LEAD = re.compile(
    r"(?:you(?:['’]re| are| stand)|i(?:['’]m| am))(?: (?:now|still|here))?(?: \w+ing)?"
    r"(?: (?:at|by|in|inside|near|on|within))*\s+(?:(?:a|an|the)\s+)?(?=\S)",
    re.IGNORECASE,
)
"""How a sentence begins that tells where the player is: "You are standing in a"."""
_LOOSE = re.compile(r"(?:,|\s+(?:a|an|the|and|of|at|by|in|on|to|from|into|for|is|are|its|your|this))+\Z", re.IGNORECASE)
"""Words that do not end a name."""
_MOST_WORDS = 8
"""Words of a sentence that name a place. Printed names are seldom longer."""
_FIRST_LINES = 4
"""Lines of a description among which the name of the place is looked for."""
_TIME_GAME = 0x02
_SCORE = re.compile(
    r"\b(?:score[ds]?|potential|earned)\b[^\d-]{0,40}(-?\d+)\b(?:\D{0,40}?\b(?:of|maximum|possible)\b\D{0,30}|/)(\d+)"
    r"(?:\D{0,40}?(\d+) (?:turn|move))?",
    re.IGNORECASE,
)
"""As Infocom's parser and Inform's library word it: score, maximum, and turns."""


@dataclass(frozen=True, slots=True)
class PlayerStatus:
    """Where the player stands.

    Attributes:
        over: Whether the story has ended.
        words: Its last words, "" if it had none.
        won: Whether it is known without these that it was won.
        lost: The same for lost.
    """

    score: float
    moves: int
    over: bool
    words: str = ""
    won: bool = False
    lost: bool = False

    def outcome(self, maximum: float | None) -> str:
        """Return "won", "lost", or "" while it goes on, or if it ended as neither.

        Args:
            maximum: The highest score, None if unknown.
        """
        if not self.over:
            return ""
        return outcome(self.words, self.score, maximum, won=self.won, lost=self.lost)


def place_of(look: str, name: str = "") -> str:
    """Return the name of the place that `look` printed, "" if it printed none.

    It is the line that begins with the name in the object tree, or else the first line: a story may print another name,
    and in the dark the player does not know where this is. Of a sentence it is the first words, without "You are in a".

    Args:
        name: The name in the object tree, "" if unknown.
    """
    banner = _BANNER.search(look)
    if banner:
        return banner.group(1)
    lines = [_FAR.split(line.strip())[0] for line in look.splitlines() if line.strip()]
    named = [line for line in lines[:_FIRST_LINES] if name and line.lower().startswith(name.lower())]
    first = next((line for line in (*named, *lines[:1]) if not _NO_PLACE.fullmatch(line)), "")
    sentence, *others = _SENTENCE.split(first)
    text = sentence.rstrip(".!")
    if first in named or not (others or text != sentence or _LEAD.match(text) or not _is_short(text)):
        return text[:60]
    if not others:
        first = _WRAPPED.sub(" ", look[look.index(first) :]).splitlines()[0]
    return _first_words(_SENTENCE.split(first)[0].rstrip(".!"))[:60]


def _is_short(heading: str) -> bool:
    """Whether a line can be a printed name: it has few words, or its long ones are capitalised."""
    words = heading.split()
    return len(words) <= _MOST_WORDS or all(word[0].isupper() for word in words if len(word) > 4 and word[0].isalpha())


def _first_words(sentence: str) -> str:
    """Return the first words of a sentence, by which the place that it describes can be named."""
    rest = _LEAD.sub("", sentence, count=1) if _LEAD.match(sentence) else sentence
    first = min((part[0] for form in _FIRST_PART if (part := form.match(rest))), key=len, default=rest)
    short = " ".join(first.split()[:_MOST_WORDS])
    short = _LOOSE.sub("", short) or short
    return short[:1].upper() + short[1:]


def known_status(machine: Machine, text: str) -> PlayerStatus:
    """Return the status of a story that Jericho knows.

    Jericho knows the text of a victory. The other text that ends a story for it is that of a death in some stories, and
    the question after any end in others; so last words of the story's own, and all points, count for more.

    Args:
        text: What was printed last.
    """
    env, words = machine.env, last_words(text)
    score, most = float(env.get_score()), env.get_max_score()
    lost = words is None and machine.failed and (not 0 < most <= score or says_died(text))
    return PlayerStatus(score, int(env.get_moves()), machine.ended, words or "", machine.won, lost)


class PlainStatus:
    """The status of a story that Jericho does not know.

    Attributes:
        known: Whether a score can be told.
        maximum: The highest score, as the story says; None if it does not.
    """

    def __init__(self, machine: Machine, story: StoryFile | None, counts: StoryCounts) -> None:
        if story is not None and story.version == 3 and not story.data[1] & _TIME_GAME:
            counts = replace(counts, score=1, turns=2)
        self._counted = counts.score is not None and counts.turns is not None
        self._story = story
        self._counts = counts
        self._last = 0.0
        answer = _ask(machine)
        self._asked = answer is not None and not self._counted
        self.known = self._counted or self._asked
        maximum = (answer[2] if answer is not None else 0) or counts.maximum
        self.maximum = float(maximum) if maximum else None

    def read(self, machine: Machine, text: str, turns: int, *, asks: bool = True) -> PlayerStatus:
        """Return the status.

        Args:
            text: What was printed last.
            turns: Commands so far, for stories that do not count them.
            asks: Whether the story waits for a command, so that it can be asked.
        """
        words, counts, story = last_words(text), self._counts, self._story
        end = counts.ended(machine, story) if story is not None else 0
        over = counts.over(machine, story, words)
        score, moves = self._last, turns
        if self._counted and story is not None:
            score = float(_signed(global_value(machine, story, counts.score or 0)))
            moves = global_value(machine, story, counts.turns or 0)
        elif self._asked and (answer := _ask(machine) if asks and not over else printed_score(text)) is not None:
            score = self._last = float(answer[0])
            moves = turns if answer[1] is None else answer[1]
        return PlayerStatus(score, moves, over, words or "", won=end == WON, lost=end == DEAD)


def _signed(value: int) -> int:
    return value - 0x10000 if value & 0x8000 else value


def find_score(machine: Machine, story: StoryFile) -> int | None:
    """Return the number of the global variable that holds the score; None if it cannot be told.

    Later versions keep it anywhere. It is the variable whose value SCORE tells: each that has the value of the score
    is set to another one, and the story asked. The situation stays.
    """
    if story.version == 3:
        return None if story.data[1] & _TIME_GAME else 1
    saved = machine.take()
    try:
        answer = printed_score(machine.step("score"))
        if answer is None:
            return None
        other = answer[0] + 3  # small, as other variables that are set on the way stay plausible
        machine.rewind(saved)
        for number, value in enumerate(globals_now(machine, story)):
            if value != answer[0] & 0xFFFF:
                continue
            machine.rewind(saved)
            set_global(machine, story, number, other & 0xFFFF)
            printed = printed_score(machine.step("score"))
            if printed is not None and printed[0] == other:
                return number
        return None
    finally:
        machine.put(saved)


def _ask(machine: Machine) -> tuple[int, int | None, int] | None:
    """Return score, turns (None if not told) and maximum, as the story answers; the situation stays."""
    saved = machine.take()
    answer = printed_score(machine.step("score"))
    machine.put(saved)
    return answer


def printed_score(text: str) -> tuple[int, int | None, int] | None:
    """Return score, turns (None if not told) and maximum out of what a story prints about them."""
    found = _SCORE.search(" ".join(text.split()))
    if found is None:
        return None
    score, maximum, turns = found.groups()
    return int(score), int(turns) if turns else None, int(maximum)

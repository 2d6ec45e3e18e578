"""What a story waits for: a command, a key, or the answer to a question; and what can be given to it there.

Where in its code a story reads a line tells a command from an answer: the parser reads all commands at one place. A
line that is read elsewhere is a command, too, if LOOK or INVENTORY is understood there, as where the parser asks what
was meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from engine.games.zmachine.keys import choices, keys_in, leave, turn_pages, way_out, ways_through
from engine.games.zmachine.machine import Machine
from engine.games.zmachine.parser_globals import ParserGlobals
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.variables import NO_ACTION, global_value, set_global

COMMAND, KEY, QUESTION = "command", "key", "question"
_YES_NO = ("yes", "no")
_DIGITS = tuple("123456789")
_NONSENSE = "qzx"
"""An answer that no question expects. What is answered like it, where it was not accepted, is none."""
_NUMBER = re.compile(r"\b(number|how (many|much|old|far)|digit|age|guess)\b", re.IGNORECASE)
_LISTS = (
    re.compile(r"^\s*[(\[]?(\d{1,2}|[A-Za-z])[)\].:]", re.MULTILINE),
    re.compile(r"((?:[\w'-]+, )*[\w'-]+,? or [\w'-]+)\s*[?.:)]"),
    re.compile(r"[(\[]([\w'/|,-][\w' /|,-]*)[)\]]"),
    re.compile(r"(?<!\w)[\"“‘']([\w-]+(?: [\w-]+)?)[\"”’'](?!\w)"),
    re.compile(r"\b(\w+(?:/\w+)+)\b"),
)
"""How a text lists answers: "1) a sword", "red, blue or green?", "(Y or N)", a word or two in quotes, "yes/no"."""
_BETWEEN = re.compile(r"\s*(?:[/|,]|,? or )\s*")
_RANGE = re.compile(r"\b(\d{1,3})\s*(?:-|–|to|through|and)\s*(\d{1,3})\b")
_WORD = re.compile(r"\w+")
_MOST_LISTED = 12
_MOST_WAYS = 6
"""Ways out of a screen that are offered."""
_ASKED = 400
"""Characters at the end of a text in which a question is looked for."""


class StoryPrompt:
    """Tells what one machine waits for.

    Args:
        machine: The interpreter.
        story: The story file, None if it cannot be read.
        parser_globals: The parser's variables, None if they are not known. Then every line is taken for a command.
    """

    def __init__(self, machine: Machine, story: StoryFile | None, parser_globals: ParserGlobals | None) -> None:
        self._machine = machine
        self._story = story
        self._parser_globals = parser_globals
        self._takes: dict[tuple[int, int, int], bool] = {}

    def kind(self) -> str:
        """Return what is waited for now: `COMMAND`, `KEY` or `QUESTION`."""
        machine, parser_globals = self._machine, self._parser_globals
        if machine.wants_key:
            return KEY
        if parser_globals is None or not parser_globals.stand or machine.halted:
            return COMMAND
        stand = machine.stand
        if stand == parser_globals.stand:
            return COMMAND
        if stand not in self._takes:
            wording = parser_globals.wording
            self._takes[stand] = self.understands(wording.look) or self.understands(wording.inventory)
        return COMMAND if self._takes[stand] else QUESTION

    def understands(self, command: str) -> bool:
        """Whether the parser understands a command now; the situation stays."""
        if self._story is None or self._parser_globals is None:
            return False
        with self._machine.probing(" ".join(map(str, self._machine.stand))):
            self.forget_action()
            self._machine.step(command)
            return self.understood()

    def forget_action(self) -> None:
        """Clear the parser's variables for the action, so that `understood` tells of the next command."""
        if self._story is not None and self._parser_globals is not None:
            for number in self._parser_globals.action_globals:
                set_global(self._machine, self._story, number, NO_ACTION)

    def understood(self) -> bool:
        """Whether the parser took what was run since `forget_action` for an action; so if its variables are unknown."""
        story, machine = self._story, self._machine
        numbers = self._parser_globals.action_globals if self._parser_globals is not None else ()
        return story is None or all(global_value(machine, story, number) != NO_ACTION for number in numbers)

    def key_commands(self, *, world: Callable[[], str] | None = None, further: Sequence[str] = ()) -> tuple[str, ...]:
        """Return what can be given to a story that waits for a key or an answer; the situation stays.

        Args:
            world: Tells worlds apart. Given it, of keys only those that lead out of the screen are offered, if any do:
                the fewest, and those that lead to other worlds.
            further: Commands that are tried as answers where not every line is one. A place that reads commands by
                itself takes some of them.
        """
        if not self._machine.wants_key:
            return self._answers(further)
        with self._machine.probing("keys"):
            ways = self._ways_out(world) if world is not None else ()
            return tuple(f"press {' '.join(way)}" for way in ways or ((key.name,) for key in choices(self._machine)))

    def give(self, line: str) -> str:
        """Press the keys that a line means, or answer with it; return what is printed."""
        if not self._machine.wants_key:
            return self._machine.answer(line)
        printed = []
        for key in keys_in(line):
            if self._machine.wants_key and not self._machine.halted:
                printed.append(self._machine.press(key))
        return "\n".join(printed)

    def ways(self) -> Iterator[None]:
        """Lead a story that waits for a key or an answer on, each way in turn; halt at each where it goes on."""
        turn_pages(self._machine, "")
        if self.kind() == COMMAND:
            yield
            return
        if self._machine.wants_key:
            for _ in ways_through(self._machine):
                if not self._machine.halted:
                    yield
            return
        here = self._machine.take()
        for line in self.key_commands():
            self._machine.put(here)
            self.give(line)
            leave(self._machine, "")
            if not self._machine.halted:
                yield

    def _ways_out(self, world: Callable[[], str]) -> tuple[tuple[str, ...], ...]:
        machine = self._machine
        way = way_out(machine)
        if not way:
            return ()
        here = machine.take()
        for key in way:
            machine.press(key)
        ways = {world(): way}
        machine.put(here)
        for way in ways_through(machine):
            if not machine.halted:
                ways.setdefault(world(), way)
            if len(ways) == _MOST_WAYS:
                break
        return tuple(ways.values())

    def _answers(self, further: Sequence[str]) -> tuple[str, ...]:
        """Return the answers that a question takes: what its text lists, numbers if it speaks of one, or yes and no."""
        machine = self._machine
        listed = listed_in(machine.text)
        with machine.probing("answers"):
            begun, stand = machine.take(), machine.stand
            refused = self._answer_words(_NONSENSE)
            anything = refused[1] != _reading(stand)
            tried = (listed or _YES_NO) if anything else (*_YES_NO, *listed, *further)
            found = []
            for answer in dict.fromkeys(tried):
                machine.rewind(begun)
                answered = self._answer_words(answer)
                if not machine.halted and (anything or answered != refused):
                    found.append(answer)
        return tuple(found) or _YES_NO

    def _answer_words(self, answer: str) -> tuple[str, tuple[int, int]]:
        """Return the words that an answer prints, apart from its own, and where the story reads the next line."""
        words = _WORD.findall(self._machine.answer(answer).lower())
        own = answer.lower().split()
        return " ".join(_NONSENSE if word in own else word for word in words), _reading(self._machine.stand)


def _reading(stand: tuple[int, int, int]) -> tuple[int, int]:
    """Return what is the same whenever a story reads the same line: a loop may leave something on the stack."""
    return stand[0], stand[2]


def listed_in(text: str) -> tuple[str, ...]:
    """Return the answers that the text of a question lists, and numbers if it speaks of one."""
    asked = text[-_ASKED:]
    listed = [part for form in _LISTS for listing in form.findall(asked) for part in _BETWEEN.split(listing.lower())]
    numbers: list[str] = []
    for low, high in _RANGE.findall(asked):
        numbers += map(str, range(int(low), min(int(high), int(low) + _MOST_LISTED - 1) + 1))
    if _NUMBER.search(asked) and not numbers:
        numbers += _DIGITS
    return tuple(dict.fromkeys([*filter(None, listed)][:_MOST_LISTED] + numbers))

"""Finds valid actions with a list of command templates, for stories whose grammar cannot be read.

Each template is filled with the words of the game's text that its parser recognises. Nothing tells which commands can
matter, so this tries many more than `engine.games.actions.search`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from engine.games.actions.names import Hand, Thing
from engine.games.actions.search import Memory, Search
from engine.games.zmachine.bearings import Bearings
from engine.games.zmachine.commands import for_program
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.story import WORD, StoryFile
from engine.games.zmachine.trial import Trial
from engine.games.zmachine.wording import Wording
from engine.games.zmachine.world import World

_NOT_THINGS_WORDS = """
a an the this that these those some any all each every no not of in on at to from with into onto out off over
under by for as and or but if then than so is are was were be been being am do does did has have had can could
will would shall should may might must i me my we us our you your he him his she her it its they them their
there here what which who whom whose when where why how north south east west northeast northwest southeast
southwest up down
"""
_NOT_THINGS = frozenset(_NOT_THINGS_WORDS.split())


class TemplateFinder:
    """Finds the valid actions of one story from templates such as "put OBJ in OBJ"."""

    def __init__(
        self,
        story: StoryFile,
        templates: Iterable[str],
        *,
        player: int,
        poison: frozenset[str] = frozenset(),
    ) -> None:
        self.bearings: Bearings | None = None
        self._story = story
        self._player = player
        self._poison = poison
        self._templates = [
            template
            for template in dict.fromkeys([*Wording().ways, *templates])
            if not for_program(template.split()[:1])
        ]
        self.bare: Sequence[str] = [template for template in self._templates if "OBJ" not in template]
        self.idle: Sequence[str] = [word for word in Wording().idle if story.cut(word) in story.dictionary]

    def search(
        self, machine: Machine, world: World, shown: str, saved: Snapshot, *, remember: bool = False
    ) -> Search:
        """Return a search in the state `saved`, not yet started. It remembers nothing."""
        del remember
        return Search(self, machine, world, shown, saved, Memory())

    def hand(self, machine: Machine, world: World, shown: str, saved: Snapshot, memory: Memory) -> Hand:
        """Return the things at hand."""
        del memory
        story = self._story
        here = story.parent(saved.memory, self._player) if self._player else 0
        names = [story.name(child) for child in story.children(saved.memory, here)] if here else []
        words = dict.fromkeys(WORD.findall(f"{shown} {' '.join(names)}".lower()))
        answers: dict[str, str] = {}
        looked: list[bytes] = []
        for word in words:
            if word in _NOT_THINGS or story.cut(word) not in story.dictionary:
                continue
            machine.rewind(saved)
            answer = machine.step(f"examine {word}")
            if not machine.halted and _recognised(answer):
                looked.append(world.facts())
                answers.setdefault(answer, word)
        things = tuple(Thing(word, 0, False, frozenset()) for word in answers.values())
        return Hand(things, tuple(looked))

    def attempts(self, trial: Trial, hand: Hand, saved: Snapshot, memory: Memory) -> Iterator[None]:
        """Try all commands, those with few things first, one per iteration."""
        del memory, saved
        names = [thing.name for thing in hand.things]
        for holes in (0, 1, 2):
            for template in self._templates:
                if template.count("OBJ") != holes:
                    continue
                for chosen in itertools.permutations([*names, "all"] if holes == 1 else names, holes):
                    command = template
                    for name in chosen:
                        command = command.replace("OBJ", name, 1)
                    if command not in self._poison:
                        trial(command, holes)
                        yield


def _recognised(answer: str) -> bool:
    from jericho import defines

    return not any(pattern.match(answer) for pattern in defines.UNRECOGNIZED_REGEXPS)

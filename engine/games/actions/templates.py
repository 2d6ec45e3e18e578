"""Finds valid actions with a list of command templates, for stories whose grammar cannot be read.

The templates are those whose words the story's dictionary has, if it has any of them. Each is filled with the words of
the text that the parser recognises. Nothing tells which commands can matter, so this tries more for each thing than
`engine.games.actions.search`. Words of the dictionary that begin no template are tried, too, if the story takes them
for no thing but for a command; these are found once, at its start.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from engine.games.actions import limits
from engine.games.actions.names import NO_WORD, CommandParts, Thing
from engine.games.actions.search import ActionSearch
from engine.games.zmachine.commands import for_program, is_like_one_for_program
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.parser_globals import ParserGlobals
from engine.games.zmachine.story import WORD, StoryFile
from engine.games.zmachine.trial import Trial
from engine.games.zmachine.vocabulary import Wording
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
    """Finds the valid actions of one story from templates such as "put OBJ in OBJ".

    Args:
        story: The story file.
        templates: The templates.
        words: Further words that the story takes for commands (`command_words`).
        player: Number of the player's object, 0 if unknown.
        poison: Commands that are never tried.
    """

    def __init__(
        self,
        story: StoryFile,
        templates: Iterable[str],
        words: Sequence[str] = (),
        *,
        player: int,
        poison: frozenset[str] = frozenset(),
    ) -> None:
        self.parser_globals: ParserGlobals | None = None
        self._story = story
        self._words = words
        self._player = player
        self._poison = poison
        usable = [
            template
            for template in dict.fromkeys([*Wording().ways, *templates])
            if not for_program(template.split()[:1])
        ]
        known = [
            template
            for template in usable
            if all(word == "OBJ" or story.cut(word) in story.dictionary for word in template.split())
        ]
        self._templates = known or usable
        self.bare: Sequence[str] = [template for template in self._templates if "OBJ" not in template]
        self.idle: Sequence[str] = [word for word in Wording().idle if story.cut(word) in story.dictionary]
        begun = {template.split()[0] for template in self._templates}
        self._begun = frozenset(begun)

    def search(self, machine: Machine, world: World, shown: str, saved: Snapshot) -> ActionSearch:
        """Return a search in the state `saved`, not yet started."""
        return ActionSearch(self, machine, world, shown, saved)

    def hand(self, machine: Machine, world: World, shown: str, saved: Snapshot) -> CommandParts:
        """Return the things at hand."""
        story = self._story
        here = story.parent(saved.memory, self._player) if self._player else 0
        names = [story.name(child) for child in story.children(saved.memory, here)] if here else []
        words = dict.fromkeys(WORD.findall(f"{shown} {' '.join(names)}".lower()))
        known = story.dictionary.keys()
        answers: dict[str, str] = {}
        looked: list[bytes] = []
        for word in words:
            if word in _NOT_THINGS or not {story.cut(word), story.cut(word.removesuffix("s"))} & known:
                continue
            machine.rewind(saved)
            answer = machine.step(f"examine {word}")
            if not machine.halted and _recognised(answer):
                looked.append(world.facts())
                answers.setdefault(answer, word)
        things = tuple(Thing(word, 0, False, frozenset()) for word in answers.values())
        return CommandParts(things, tuple(looked))

    def attempts(self, trial: Trial, hand: CommandParts, saved: Snapshot) -> Iterator[None]:
        """Try all commands, those with few things first, one per iteration.

        "All" is tried where one thing did something. A template for two things is given up once the story answered to
        it several times as if it knew neither the words nor the second thing.
        """
        del saved
        names = [thing.name for thing in hand.things]
        unknown = trial.asked(NO_WORD)
        for holes in (0, 1, 2):
            # each of two things is another one soon
            chosen = sorted(itertools.permutations(range(len(names)), holes), key=sum)
            for template in self._templates:
                if template.count("OBJ") != holes:
                    continue
                works, understood, refused = False, holes < 2, 0
                for places in chosen:
                    things = [names[place] for place in places]
                    command = _filled(template, things)
                    if command in self._poison:
                        continue
                    works = trial(command, holes) is not None or works
                    if not understood:
                        without = _filled(template, [things[0], NO_WORD])
                        understood = works or trial.answer not in (unknown, trial.asked(without))
                        refused += not understood
                    yield
                    if refused == limits.REFUSED and not understood:
                        break
                command = _filled(template, ["all"])
                if holes == 1 and works and command not in self._poison:
                    trial(command, holes)
                    yield
        trial.by_score = False  # some stories keep something else there until they are asked for the score
        for word in self._words:
            if word in self._poison:
                continue
            if word not in self.bare:
                trial(word)
                yield
            alone = trial.asked(word)
            for name in names if word not in self._begun else ():
                trial(f"{word} {name}", 1)
                yield
                if name == names[0] and _unnamed(trial.answer, word, name) in (_unnamed(alone, word, name), unknown):
                    break  # it takes no thing


def command_words(machine: Machine, story: StoryFile) -> tuple[str, ...]:
    """Return the words of the dictionary that the story takes for commands where it is now: for none it does not know.

    The machine is put back where it was.
    """
    begun = machine.take()

    def asked(command: str) -> bytes:
        machine.rewind(begun)
        return machine.run(command)

    unknown, no_thing = asked(NO_WORD), asked(f"examine {NO_WORD}")
    found: dict[str, bytes] = {}
    for word in sorted(story.dictionary):
        if len(word) <= limits.ABBREVIATION or word in _NOT_THINGS or is_like_one_for_program(word):
            continue
        if _unnamed(asked(f"examine {word}"), word) != no_thing:
            continue  # it names a thing
        answer = _unnamed(asked(word), word)
        if answer != unknown:
            found[word] = answer
    machine.put(begun)
    longer = zip([*found][1:], [*found.values()][1:], strict=True)  # "attac" and "attack" are one
    short = {
        word for (word, answer), (other, same) in zip(found.items(), longer, strict=False)
        if other.startswith(word) and same == answer
    }  # fmt: skip
    return tuple(word for word in found if word not in short)


def _unnamed(answer: bytes, *words: str) -> bytes:
    """Return an answer with the words that were given to the story as if they were unknown ones."""
    for word in words:
        answer = answer.replace(word.encode("latin-1", "replace"), NO_WORD.encode())
    return answer


def _filled(template: str, names: Sequence[str]) -> str:
    for name in names:
        template = template.replace("OBJ", name, 1)
    return template


def _recognised(answer: str) -> bool:
    from jericho import defines

    return not any(pattern.match(answer) for pattern in defines.UNRECOGNIZED_REGEXPS)

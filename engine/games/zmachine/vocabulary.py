"""The words by which a story takes its most common commands, in whatever language it is.

To look around, to look through what is carried, to pass time, to look at one thing, and to go: English stories of all
makers have the same words for these. The file of another story does not say which of its verbs does what. So the verbs
that take no thing, or one thing, are tried at the beginning of the story: what they print and change tells them apart.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from engine.games.actions.grammar import Pattern, StoryGrammar
from engine.games.zmachine.commands import for_program
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.story import BadStory, StoryFile
from engine.games.zmachine.variables import NO_ACTION, global_value, globals_now, set_global, status_variables

WAYS = (
    "north", "south", "west", "east", "northeast", "northwest", "southeast", "southwest",
    "up", "down", "in", "out", "enter", "exit",
)  # fmt: skip
_NOUN, _VERB = 0x80, 0x01
_SHORTEST = 12
"""Letters that a text must have to tell what was printed."""
_LOOKED_AT = 24
"""Letters of a description that are looked for in what a command prints. Later ones may depend on the situation."""
_LONGEST_PROMPT = 30
_MOST_THINGS = 12


@dataclass(frozen=True, slots=True)
class Wording:
    """Words of a story; the defaults are those of English stories.

    Attributes:
        look: The command that describes the place.
        inventory: The command that lists what is carried.
        idle: Commands that only pass time, the usual one first.
        examine: The command that looks at one thing; "" if there is none.
        ways: The directions, as commands.
        prompt: What the story prints before each command, "" if it is a ">".
    """

    look: str = "look"
    inventory: str = "inventory"
    idle: tuple[str, ...] = ("wait", "z", "look", "inventory")
    examine: str = "examine"
    ways: tuple[str, ...] = WAYS
    prompt: str = ""


def find_wording(
    machine: Machine, story: StoryFile, grammar: StoryGrammar, action_globals: tuple[int, ...]
) -> Wording:
    """Return the words of a story, found out from its first situation, to which the machine returns.

    Args:
        machine: The interpreter, where the story takes its first command. Its last text is the story's beginning.
        action_globals: Numbers of the global variables that hold the action's number.
    """
    opening = _plain(machine.text)
    saved = machine.take()
    try:
        search = _Search(machine, story, grammar, action_globals, saved, opening)
        return search.wording()
    finally:
        machine.put(saved)


def bare(grammar: StoryGrammar) -> Iterator[Pattern]:
    """Yield the patterns that consist of one word, for commands to the player's character."""
    for pattern in grammar.patterns:
        if not pattern.parts and not pattern.meta and not for_program(pattern.verbs):
            yield pattern


def own_texts(story: StoryFile, number: int) -> Iterator[str]:
    """Yield the texts that an object's properties hold. What is no text comes out as one of odd characters."""
    try:
        properties = story.properties(number).values()
    except BadStory:
        return
    for at, size in properties:
        if size == 2:
            try:
                yield story.text(story.unpack(story.word(at)))[0]
            except (BadStory, IndexError):
                continue


def most_named(machine: Machine, story: StoryFile) -> int:
    """Return the object at the place that most global variables name, 0 if there is none.

    It is the player's: in Inform's stories the variables for the player and for the one who acts both name it.
    """
    known = status_variables(story)
    here = global_value(machine, story, known.place) if known is not None else 0
    counts = Counter(globals_now(machine, story))
    present = story.children(machine.memory, here) if 0 < here <= story.object_count else ()
    return max((number for number in present if counts[number]), key=lambda number: counts[number], default=0)


class _Search:
    def __init__(
        self,
        machine: Machine,
        story: StoryFile,
        grammar: StoryGrammar,
        action_globals: tuple[int, ...],
        saved: Snapshot,
        opening: str,
    ) -> None:
        self._machine = machine
        self._story = story
        self._grammar = grammar
        self._action_globals = action_globals
        self._saved = saved
        self._opening = opening
        self._bare = {pattern.action: pattern for pattern in bare(grammar)}
        known = status_variables(story)
        self._here = global_value(machine, story, known.place) if known is not None else 0

    def wording(self) -> Wording:
        look = self._word("look") or self._look()
        inventory = self._word("inventory") or self._inventory(look)
        wait = self._word("wait") or self._long("z") or self._wait({look, inventory})
        usual = Wording()
        idle = usual.idle if wait == "wait" else tuple(filter(None, (wait, look, inventory)))
        return Wording(
            look or usual.look,
            inventory or usual.inventory,
            idle or usual.idle,
            self._examine(),
            self._ways(),
            self._prompt(),
        )

    # ---------------------------------------------------------------------------------------- helpers

    @functools.cached_property
    def _said(self) -> dict[int, str]:
        """What each command of one word prints, by action."""
        return {action: self._run(pattern.verbs[0]) for action, pattern in self._bare.items()}

    def _run(self, command: str, moved: int = 0, to: int = 0) -> str:
        """Return what a command prints in the first situation, after an object was moved in it if one is named."""
        self._machine.rewind(self._saved)
        if moved:
            self._machine.move(moved, to)
        return self._machine.step(command)

    def _word(self, usual: str) -> str:
        """Return an English word if the story has it as a command of one word, else ""."""
        cut = self._story.cut(usual)
        return usual if any(cut in pattern.verbs for pattern in self._bare.values()) else ""

    def _long(self, short: str) -> str:
        """Return the longest word for the command of one word that has this short one, which many languages keep."""
        verbs = next((pattern.verbs for pattern in self._bare.values() if short in pattern.verbs), ())
        return max(verbs, key=len, default="")

    def _best(self, action: int) -> str:
        return max(self._bare[action].verbs, key=len)

    # ------------------------------------------------------------------------------- one word commands

    def _look(self) -> str:
        """Return what prints the place: its name first, or what the beginning of the story ended with."""
        place = self._place_name().lower()
        for action, said in self._said.items():
            plain = _plain(said.removesuffix(self._prompt()))
            named = place and plain.lower().startswith(place)
            if len(plain) >= _SHORTEST and (named or plain in self._opening):
                return self._best(action)
        return ""

    def _place_name(self) -> str:
        here = self._here
        return _plain(self._story.name(here)) if 0 < here <= self._story.object_count else ""

    def _inventory(self, look: str) -> str:
        """Return what names a thing after it was given to the player, and did not before."""
        self._machine.rewind(self._saved)
        player = most_named(self._machine, self._story)
        if not player:
            return ""
        for thing in self._things(player):
            name = self._story.name(thing).lower()
            for action, before in self._said.items():
                if look in self._bare[action].verbs or name in before.lower():
                    continue
                if name in self._run(self._bare[action].verbs[0], thing, player).lower():
                    return self._best(action)
        return ""

    def _things(self, player: int) -> list[int]:
        """Return some objects with a name, those at the first place first."""
        story = self._story
        present = list(story.children(self._saved.memory, self._here))
        others = [number for number in range(1, story.object_count + 1) if number not in present]
        named = [n for n in (*present, *others) if n not in (player, self._here) and len(story.name(n)) > 2]
        return [n for n in named if not story.name(n).startswith("(")][:_MOST_THINGS]

    def _wait(self, known: set[str]) -> str:
        """Return what changes nothing but the time.

        There may be several such verbs. That of waiting gives the story a last word before it answers, so its routine
        has two calls and hardly anything else; the routines of the others have one.
        """
        begin, end = self._story.object_at(1), self._story.object_at(self._story.object_count + 1)
        table = self._saved.memory[begin:end]
        quiet: list[int] = []
        for action, pattern in self._bare.items():
            self._run(pattern.verbs[0])
            if not known & set(pattern.verbs) and bytes(self._machine.memory[begin:end]) == table:
                quiet.append(action)
        quiet.sort(key=lambda action: (abs(self._calls(action) - 2), action))
        return self._best(quiet[0]) if quiet else ""

    def _calls(self, action: int) -> int:
        """Return how many calls an action's routine makes, if it does hardly anything else; else a large number."""
        at = next((at for at in self._grammar.action_routines.get(action, ()) if at), 0)
        try:
            instructions = self._story.routine(at)
        except BadStory:
            return 99
        calls = [i for i in instructions if (i.kind, i.number) in _CALLS]
        return len(calls) if len(instructions) <= len(calls) + 4 else 99

    # --------------------------------------------------------------------------- looking at one thing

    def _examine(self) -> str:
        """Return the command that looks at a thing without changing it."""
        story = self._story
        for usual in ("examine", "x", "describe", "inspect", "look at", "take"):
            verb, *more = usual.split()
            for pattern in self._grammar.patterns:
                words = [part[0] for part in pattern.parts[:-1] if isinstance(part, tuple)]
                if story.cut(verb) in pattern.verbs and len(pattern.slots) == 1 and words == more:
                    return usual if len(usual) > 1 else max(pattern.verbs, key=len)
        looks = self._one_thing()
        matches = dict.fromkeys(looks, 0)
        for thing in range(1, story.object_count + 1):
            texts = [text for text in map(_plain, own_texts(story, thing)) if len(text) >= _SHORTEST]
            name = next(iter(self._names(thing)), "")
            if not texts or not name or story.parent(self._saved.memory, thing) != self._here:
                continue
            for verb in looks:
                said = _plain(self._run(f"{verb} {name}"))
                matches[verb] += any(text[:_LOOKED_AT] in said for text in texts)
        return max(looks, key=lambda verb: matches[verb], default="")

    def _one_thing(self) -> list[str]:
        """Return a verb for each action that takes any one thing and no other word."""
        found: dict[int, str] = {}
        for pattern in self._grammar.patterns:
            slots = pattern.slots
            plain = len(pattern.parts) == 1 == len(slots) and slots[0].kind == "noun"
            if plain and not (pattern.meta or slots[0].held or slots[0].many or slots[0].only):
                found.setdefault(pattern.action, max(pattern.verbs, key=len))
        return list(found.values())

    def _names(self, thing: int) -> list[str]:
        """Return the dictionary words that an object has as names."""
        story = self._story
        spelt = {at: word for word, (at, data) in story.dictionary.items() if data and data[0] & _NOUN}
        try:
            properties = story.properties(thing).values()
        except BadStory:
            return []
        values = [story.word(at + offset) for at, size in properties for offset in range(0, size - 1, 2)]
        return [spelt[value] for value in values if value in spelt]

    # -------------------------------------------------------------------------------------- directions

    def _ways(self) -> tuple[str, ...]:
        """Return the directions: those of English stories, before them those that a story has in other words.

        In Inform's stories directions are objects. Their names are commands, all of the same action.
        """
        if self._grammar.layout == "zil":
            return WAYS
        led: dict[str, int] = {}
        for word, (_, data) in self._story.dictionary.items():
            if data and data[0] & (_NOUN | _VERB) == _NOUN:
                action = self._action(word)
                if action not in (0, NO_ACTION):
                    led[word] = action
        going = Counter(led.values()).most_common(1)
        words = {word for word, action in led.items() if action == going[0][0]} if going else set()
        named = {number: self._names(number) for number in range(1, self._story.object_count + 1)}
        parents = Counter(self._parent(number) for number, names in named.items() if words & set(names))
        compass = parents.most_common(1)[0][0] if parents else 0
        known = {self._story.cut(way) for way in WAYS}
        found: list[str] = []
        for number, names in named.items():
            if names and compass and self._parent(number) == compass and not known & set(names):
                whole = {self._story.cut(text): text.lower() for text in own_texts(self._story, number)}
                best = max(names, key=lambda name: (name in whole, len(name)))
                found.append(whole.get(best, best))
        return (*dict.fromkeys(found), *WAYS) if found else WAYS

    def _parent(self, number: int) -> int:
        return self._story.parent(self._saved.memory, number)

    def _action(self, command: str) -> int:
        """Return the action that the parser understands, `NO_ACTION` for none."""
        self._machine.rewind(self._saved)
        for number in self._action_globals:
            set_global(self._machine, self._story, number, NO_ACTION)
        self._machine.step(command)
        values = {global_value(self._machine, self._story, number) for number in self._action_globals}
        return values.pop() if len(values) == 1 else NO_ACTION

    # ------------------------------------------------------------------------------------------ prompt

    def _prompt(self) -> str:
        """Return the last line of most answers."""
        lines = Counter(said.rstrip().rpartition("\n")[2].strip() for said in self._said.values())
        last, count = lines.most_common(1)[0] if lines else ("", 0)
        return last if 2 * count > lines.total() and 0 < len(last) <= _LONGEST_PROMPT else ""


_CALLS = frozenset({("v", 0), ("v", 12), ("v", 25), ("v", 26), ("1", 8), ("1", 15), ("2", 25), ("2", 26)})


def _plain(text: str) -> str:
    return " ".join(text.split())

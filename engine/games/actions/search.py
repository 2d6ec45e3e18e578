"""Finds valid actions, the commands that would change the world state, by trying commands.

The commands come from the story's grammar and the things at hand. Only those that can matter are tried: the action
itself changes something, or a thing or the place asks for it (`engine.games.actions.handlers`). Of several commands
with the same effect the most usual one is kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from engine.games.actions.alike import Alike
from engine.games.actions.experience import Experience
from engine.games.actions.forms import forms
from engine.games.actions.grammar import StoryGrammar
from engine.games.actions.handlers import Handlers
from engine.games.actions.names import CommandParts, Namer
from engine.games.actions.order import ORDER, TryOrder
from engine.games.actions.vocabulary import Vocabulary
from engine.games.zmachine.machine import Machine, Snapshot
from engine.games.zmachine.parser_globals import ParserGlobals
from engine.games.zmachine.prompt import StoryPrompt
from engine.games.zmachine.story import StoryFile
from engine.games.zmachine.trial import Trial
from engine.games.zmachine.world import World

SCHEME = 25
"""Part of the cache's key. Increase it when the search finds other actions than before."""


_FOLLOW = "follow me"
"""With waiting, the orders to which a character that takes orders at all reacts: by staying, or by coming along."""


class ActionFinder:
    """Finds the valid actions of one story in any state."""

    def __init__(
        self,
        story: StoryFile,
        grammar: StoryGrammar,
        parser_globals: ParserGlobals,
        *,
        player: int,
        poison: frozenset[str] = frozenset(),
    ) -> None:
        self._story = story
        self._poison = poison
        self._grammar = grammar
        self.parser_globals = parser_globals
        self._player = player
        self.handlers = Handlers(story, grammar, parser_globals.action_globals)
        self._by_rules = self.handlers.is_by_rules
        self._vocabulary = Vocabulary(story)
        length = story.word_length
        self._forms = forms(grammar, length)
        bare = [form.text for form in self._forms if not form.held]
        cut, wording = story.cut, parser_globals.wording
        self._ways = [way for way in wording.ways if cut(way) in story.dictionary]
        self.bare = list(dict.fromkeys([*self._ways, *bare]))
        self.idle: Sequence[str] = [w for w in wording.idle if cut(w) in story.dictionary and w not in poison]
        orders = (self.idle[0], _FOLLOW) if self.idle else (_FOLLOW,)
        self._orders = [text for text in orders if all(cut(word) in story.dictionary for word in text.split())]
        self._waiting = next((form.action for form in self._forms if form.text in ("wait", "z", *self.idle[:1])), 0)
        self._strict = grammar.layout == "zil"  # ZIL announces implicit taking; trials reject it
        self._pickup = {
            form.action for form in self._forms if len(form.held) == 1 and form.text in ("take {}", "get {}")
        } or {form.action for form in self._forms if form.held == (False,) and form.many}

    def search(self, machine: Machine, world: World, shown: str, saved: Snapshot) -> ActionSearch:
        """Return a search in the state `saved`, not yet started.

        Args:
            machine: The interpreter. The search leaves it in another state.
            world: Compares states.
            shown: What `look` and `inventory` print.
            saved: The state.
        """
        return ActionSearch(self, machine, world, shown, saved)

    def hand(self, machine: Machine, world: World, shown: str, saved: Snapshot) -> CommandParts:
        """Return the things at hand, and the words that the texts mention."""
        namer = Namer(
            machine,
            world,
            self._story,
            self.parser_globals,
            self.handlers,
            self._vocabulary,
            self._player,
            speaks=self._grammar.layout != "zil",
            waiting=self._waiting,
        )
        return namer.hand(shown, saved)

    def attempts(self, trial: Trial, hand: CommandParts, saved: Snapshot) -> Iterator[None]:
        """Try all commands that can matter, one per iteration; see `engine.games.actions.order`."""
        placed = self._routines_here(saved)
        here = self.handlers.asked(placed)
        known = Experience(self._pickup)
        alike = Alike(
            self._story, self.handlers, self._player, here, placed, saved.memory, ways=frozenset(self._ways)
        )
        order = TryOrder(
            self._forms,
            self.bare,
            hand,
            topics=lambda form: (*self.handlers.action_topics(form.action), *self.handlers.topics(form.routines)),
            effective=self.handlers.effective,
            highest=self.handlers.highest,
            here=here,
            strict=self._strict,
            ways=frozenset(self._ways),
            orders=self._orders,
            named=lambda action: self.handlers.action_reading(action).named,
        )
        unfit: set[tuple[int, str]] = set()
        for attempt in order.attempts():
            tests = {(test, thing.name) for test, thing in zip(attempt.only, attempt.things, strict=False) if test}
            if attempt.command in self._poison or tests & unfit:
                continue
            key = alike.key(attempt)
            if not self._by_rules and attempt.form and known.needless(key, attempt, alike.is_plain):
                continue
            changes = trial(attempt.command, attempt.count)
            if len(attempt.things) == 1 and not trial.understood:
                unfit |= tests
            answer = alike.answered(trial.answer, attempt) if alike.is_plain(key) else None
            if changes:
                known.works(key, attempt, changes, answer, best=trial.best(changes) == attempt.command)
            elif attempt.form:
                known.nothing(key, answer)
            if changes and len(attempt.things) > 1:
                order.joining.add((attempt.form, attempt.things[1].number))
            if changes and attempt.action in self._pickup and trial.has(self._player, attempt.thing):
                order.portable.add(attempt.thing)
            if changes and attempt.action == ORDER and attempt.thing in hand.listeners:
                order.obeying.add(attempt.thing)
            yield

    def _routines_here(self, saved: Snapshot) -> tuple[int, ...]:
        """Return the addresses of the routines of the place, and of what it is in."""
        place = self._story.parent(saved.memory, self._player) if self._player else 0
        found: tuple[int, ...] = ()
        for _ in range(4):
            if not 0 < place <= self._story.object_count:
                break
            found += self.handlers.routines_of(place, saved.memory)
            place = self._story.parent(saved.memory, place)
        return found


class Finder(Protocol):
    """What a search needs: the things in a state, and the commands to try."""

    @property
    def idle(self) -> Sequence[str]:
        """Commands that only pass time."""
        ...

    @property
    def bare(self) -> Sequence[str]:
        """Commands that name no thing."""
        ...

    @property
    def parser_globals(self) -> ParserGlobals | None:
        """The parser's variables, None if they are not known."""
        ...

    def hand(self, machine: Machine, world: World, shown: str, saved: Snapshot) -> CommandParts:
        """Return the things at hand, and the words that the texts mention."""
        ...

    def attempts(self, trial: Trial, hand: CommandParts, saved: Snapshot) -> Iterator[None]:
        """Try commands, one per iteration."""
        ...


class ActionSearch:
    """A search for the valid actions of one state, which can be run in parts."""

    def __init__(self, finder: Finder, machine: Machine, world: World, shown: str, saved: Snapshot) -> None:
        self._finder = finder
        self._machine = machine
        self._world = world
        self._shown = shown
        self._saved = saved
        self._trial: Trial | None = None
        self._attempts: Iterator[None] = iter(())
        self.done = False

    @property
    def tried(self) -> int:
        """Number of commands tried so far."""
        return self._trial.tried if self._trial is not None else 0

    def run(self, commands: int | None = None) -> bool:
        """Try up to `commands` more commands (all if None); return whether the search is complete.

        The machine's state afterwards is arbitrary.
        """
        if self._trial is None:
            finder = self._finder
            hand = finder.hand(self._machine, self._world, self._shown, self._saved)
            prompt = StoryPrompt(self._machine, self._world.story, finder.parser_globals)
            self._trial = Trial(self._machine, self._world, self._saved, prompt, finder.idle, hand.looked)
            self._attempts = finder.attempts(self._trial, hand, self._saved)
        until = None if commands is None else self.tried + commands
        while not self.done and (until is None or self.tried < until):
            self.done = next(self._attempts, self) is self
        return self.done

    def found(self) -> tuple[str, ...]:
        """Return what was found so far: the most usual command for each effect, sorted."""
        return self._trial.found() if self._trial is not None else ()

"""The order in which commands are tried: those that most often change something come first.

A search may have a limit of commands, so the order decides what it finds. It is the same for every story:

- directions
- what applies to most things (pick up, drop)
- looks that change something, spells that were learnt
- actions that a thing asks for (`engine.games.actions.handlers`), alone and with something carried
- words and numbers, for what takes them
- the most usual verbs on every thing
- the rest, down to pairs of things for which only the grammar speaks

In three stories, one in two to ten commands of the first stages changed something, and one in a thousand of the last.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from engine.games.actions import limits
from engine.games.actions.forms import CommandForm
from engine.games.actions.names import CommandParts, Thing
from engine.games.actions.phrases import usage

ORDER = -1
"""Action number of commands that are given to another character."""
_Pair = tuple[CommandForm, Thing, Thing]


@dataclass(slots=True)
class Attempt:
    """A command to try.

    Attributes:
        command: Its text.
        count: Number of things it names.
        action: Number of the action, 0 if it names no thing.
        thing: Number of the thing's object, 0 if it names none or several.
        form: The wording without the things, "" for what is tried in each state, whatever was seen before.
        things: The things in the gaps of the wording.
        many: Whether it accepts several things at once.
        picks: Whether the parser looks at what the things are like.
        every: Whether it is done to all things here.
        only: Which test of the story each of the things must pass, 0 for none; () for no tests.
    """

    command: str
    count: int = 0
    action: int = 0
    thing: int = 0
    form: str = ""
    things: tuple[Thing, ...] = ()
    many: bool = False
    picks: bool = True
    every: bool = False
    only: tuple[int, ...] = ()


class TryOrder:
    """The commands to try in one state.

    Args:
        forms: The wordings of actions.
        bare: Commands that name no thing.
        hand: The things at hand, and the words that the texts mention.
        topics: Returns the words that an action's routines, or those of its wording, compare something with.
        effective: Actions whose own routines change things.
        highest: Highest action number that a command can lead to.
        here: Actions that the place asks for.
        strict: Whether the thing to act with must be carried already, instead of being picked up implicitly.
        ways: The directions, as commands.
        orders: Orders to give to every thing. Those that obey one of them get further orders.
        named: Returns the numbers of the things that an action's own routines name.

    Attributes:
        portable: Numbers of objects that could be picked up. The caller adds to it while trying.
        obeying: Numbers of objects that obeyed an order. The caller adds to it while trying.
        joining: Wordings that did something with two things, and the second one's number. The caller adds to it.
    """

    def __init__(
        self,
        forms: Sequence[CommandForm],
        bare: Sequence[str],
        hand: CommandParts,
        *,
        topics: Callable[[CommandForm], Sequence[str]],
        effective: frozenset[int],
        highest: int,
        here: frozenset[int],
        strict: bool,
        ways: frozenset[str],
        orders: Sequence[str] = (),
        named: Callable[[int], frozenset[int]] = lambda action: frozenset(),
    ) -> None:
        self._named = named
        self._orders = orders
        self._ways = ways
        self.obeying: set[int] = set()
        self.joining: set[tuple[str, int]] = set()
        self._bare = bare
        self._hand = hand
        self._topics = topics
        self._things = [thing for thing in hand.things if not thing.is_value]
        self._values = [thing for thing in hand.things if thing.is_value]
        self._effective = effective
        self._highest = highest
        self._here = here
        self._strict = strict
        self.portable: set[int] = set()
        usual = sorted(forms, key=lambda form: -usage(form.text.split()[0]))
        self._singles = [form for form in usual if len(form.held) == 1 and not form.free[0]]
        self._doubles = [form for form in usual if len(form.held) == 2 and not any(form.free)]
        self._alone = [form for form in usual if not form.held]
        self._words_only = [form for form in usual if len(form.held) == 1 and form.free[0]]
        self._worded = [form for form in usual if len(form.held) == 2 and sum(form.free) == 1]
        self._moving = effective - {form.action for form in usual if len(form.held) == 1}
        self._known_pairs: tuple[list[_Pair], ...] = ()
        plain = [form for form in self._singles if len(form.text.split()) == 2 and not form.spare]
        self._everyday = {form.text for form in [f for f in plain if f.action in effective][: limits.EVERYDAY]}

    def attempts(self) -> Iterator[Attempt]:
        """Yield all commands in order, without duplicates."""
        tried: set[str] = set()
        for attempt in self._all():
            if attempt.command not in tried:
                tried.add(attempt.command)
                yield attempt

    def _all(self) -> Iterator[Attempt]:
        ways = [word for word in self._bare if word in self._ways]
        yield from map(Attempt, ways)
        yield from self._single(lambda form, thing: form.many and form.held[0] == thing.carried)
        yield from self._everything()
        yield from map(Attempt, self._hand.stirring)
        yield from self._spoken()
        yield from self._single(lambda form, thing: form.action in thing.asks)
        yield from self._double(0)
        yield from self._with_words()
        yield from self._words_alone()
        yield from self._single(lambda form, thing: form.text in self._everyday)
        actions = {form.text: form.action for form in self._alone}
        rest = [word for word in self._bare if word not in self._ways]
        yield from (Attempt(word, action=actions.get(word, 0), form=word) for word in rest)
        yield from self._double(1)
        yield from self._everything_with()
        yield from self._single(lambda form, thing: True)
        yield from self._order_attempts()
        yield from self._double(2)

    # ----------------------------------------------------------------------------------- one thing

    def _single(self, wanted: Callable[[CommandForm, Thing], bool]) -> Iterator[Attempt]:
        for form in self._singles:
            effective = form.action in self._effective and not form.spare
            named = self._named(form.action)
            for thing in self._things:
                fits = effective and (thing.number in named or not self._is_way(thing))
                always = form.action in self._here or fits
                if not (always or form.action in thing.asks) or not wanted(form, thing):
                    continue
                if form.held[0] and not self._holds(thing):
                    continue
                # Where it is taken first and nothing else comes of it, taking it is the usual wording.
                count = 2 if form.held[0] and not thing.carried else 1
                command = form.text.format(thing.name)
                number, fit = thing.number, form.only
                yield Attempt(command, count, form.action, number, form.text, (thing,), form.many, form.picks, only=fit)

    def _everything(self) -> Iterator[Attempt]:
        for form in self._singles:
            if form.many and form.action in self._effective:
                yield Attempt(form.text.format("all"), 1, form.action)

    def _order_attempts(self) -> Iterator[Attempt]:
        """Yield orders to each thing; to those that listen, also the actions that they ask for."""
        # "n, wait" and "south, east" are two commands of the player
        named = [thing for thing in self._things if not self._is_way(thing) and len(thing.name) > 2]
        for order in self._orders:
            for thing in named:
                yield Attempt(f"{thing.name}, {order}", 2, ORDER, thing.number, f"{{}}, {order}", (thing,))
        for person in named:
            obeys = person.number in self.obeying
            if obeys or person.number in self._hand.listeners:
                for form, action, things in self._orders_to(person, obeys=obeys):
                    # Where asking about something does the same as an order, asking is the usual wording.
                    command = f"{person.name}, {form.format(*(thing.name for thing in things))}"
                    count = 2 if obeys else 3
                    yield Attempt(command, count, action, form=f"{{}}, {form}", things=(person, *things))

    def _orders_to(self, person: Thing, *, obeys: bool) -> Iterator[tuple[str, int, tuple[Thing, ...]]]:
        """Yield orders to one who listens: wording, action, things.

        One who obeys is given also the actions that the other things ask for.
        """
        yield from ((word, ORDER, ()) for word in self._bare if word in self._ways)
        yield from ((form.text, form.action, ()) for form in self._alone if form.action in person.asks)
        for form in self._singles:
            for thing in self._things:
                asked = form.action in person.asks or (obeys and form.action in thing.asks and not form.held[0])
                if asked and thing is not person:
                    yield form.text, form.action, (thing,)
        for form, first, second in itertools.chain.from_iterable(self._pairs()):
            if form.action in person.asks and person not in (first, second):
                yield form.text, form.action, (first, second)

    # --------------------------------------------------------------------------------------- words

    def _spoken(self) -> Iterator[Attempt]:
        """Yield what the story takes for a verb just now, alone and with each thing; and what takes heard words."""
        for word in self._hand.spoken:
            yield Attempt(word, form=word)
            for name in (*(thing.name for thing in self._things), "me", *self._hand.heard):
                if name != word:
                    yield Attempt(f"{word} {name}", 1, form=f"{word} {name}")
        for form in self._singles:
            if form.wide and form.wide[0] and (form.action in self._effective or form.action in self._here):
                for word in self._hand.heard:
                    yield Attempt(form.text.format(word), 1, form.action, form=form.text.format(word))

    def _words_alone(self) -> Iterator[Attempt]:
        """Yield commands that take words or numbers and no thing, such as "say xyzzy"."""
        numbers = [value.name for value in self._values if value.name.isdigit()]
        for form in self._words_only:
            asking = [thing for thing in self._things if form.action in thing.asks]
            if asking or form.action in self._here or form.action in self._effective:
                topics = [topic for thing in asking for topic in thing.topics]
                for word in (*topics, *self._topics(form), *self._hand.heard, *numbers):
                    yield Attempt(form.text.format(word), 1, form.action, form=form.text.format(word))

    # ---------------------------------------------------------------------------------- two things

    def _pairs(self) -> tuple[list[_Pair], ...]:
        """Return the pairs that can matter, cached; the first call must come after things were tried to be taken.

        First those in which a thing or the place asks for the action and the thing to act with is carried, then what
        is carried with verbs for many things, then the others.
        """
        if self._known_pairs:
            return self._known_pairs
        receiving = {thing.number for thing in self._things if any(a > self._highest for a in thing.asks)}
        found: tuple[list[_Pair], ...] = [], [], []
        for form in self._doubles:
            action, tool, here = form.action, _is_tool(form), form.action in self._here
            moves, named = action in self._moving, self._named(action)
            firsts = [thing for thing in self._things if not form.held[0] or self._holds(thing)]
            seconds = [
                (
                    thing,
                    action in thing.asks or thing.number in named,
                    (moves or thing.number in receiving) and self._reaches(thing, form, 1),
                )
                for thing in self._things
                if not form.held[1] or self._holds(thing)
            ]
            for first in firsts:
                asks = action in first.asks
                may = not form.spare and self._reaches(first, form, 0)
                for second, asked, receives in seconds:
                    if first is second or not (here or asks or asked or (may and receives)):
                        continue
                    likely = (asks or asked or (form.many and here)) and (second if tool else first).carried
                    stage = 0 if likely else 1 if form.many and first.carried else 2
                    found[stage].append((form, first, second))
        self._known_pairs = found
        return found

    def _reaches(self, thing: Thing, form: CommandForm, slot: int) -> bool:
        """Whether something can be done with a thing: it is no direction, and at hand if it is what acts.

        Where the verb itself takes it first, taking it is a command of its own.
        """
        acts = slot == _is_tool(form)
        at_hand = thing.carried if self._strict or form.held[slot] else self._holds(thing)
        return not self._is_way(thing) and (at_hand or not acts)

    def _double(self, stage: int) -> Iterator[Attempt]:
        for form, first, second in self._pairs()[stage]:
            command = form.text.format(first.name, second.name)
            things = first, second
            yield Attempt(command, 2, form.action, 0, form.text, things, form.many, form.picks, only=form.only)

    def _with_words(self) -> Iterator[Attempt]:
        """Yield commands with words or numbers to the things that ask for such actions."""
        numbers = [value.name for value in self._values if value.name.isdigit()]
        for thing in self._things:
            for form in self._worded:
                if form.action in thing.asks:
                    for word in (*(thing.topics or self._hand.heard), *numbers):
                        pair = (word, thing.name) if form.free[0] else (thing.name, word)
                        command = form.text.format(*pair)
                        yield Attempt(command, 2, form.action, form=command, things=(thing,))
            for form in self._doubles:
                if form.action in thing.asks and not form.held[1]:
                    to = form.text.endswith("{} {}")  # directions only in "push thing east", not in "turn thing to 4"
                    for value in self._values:
                        if value.number and (to or value.name.isdigit()):
                            command = form.text.format(thing.name, value.name)
                            yield Attempt(command, 2, form.action, form=command, things=(thing,))

    def _everything_with(self) -> Iterator[Attempt]:
        for form in self._doubles:
            if form.many and form.action in self._effective:
                for thing in self._things:
                    if not thing.full and (form.text, thing.number) not in self.joining:
                        continue  # nothing to take out, nothing goes in
                    command = form.text.format("all", thing.name)
                    wording = form.text.format("all", "{}")
                    yield Attempt(command, 2, form.action, 0, wording, (thing,), every=True)

    def _holds(self, thing: Thing) -> bool:
        return thing.carried or thing.number in self.portable

    def _is_way(self, thing: Thing) -> bool:
        """Whether a thing is a direction. Inform has objects for them; nothing can be done to one."""
        return thing.name.split()[0] in self._ways


def _is_tool(form: CommandForm) -> bool:
    """Whether the second thing is the instrument of the action."""
    return form.text.endswith(" with {}") or form.held == (False, True)

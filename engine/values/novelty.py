"""What trying something new brings: an action for the first time, or a thing at a place where it never was.

What first tries brought is counted by the class of the action, and carries over from one part of the world to another.

What comes of most actions shows at once, and the same comes of them again. A blow at a troll that misses shows nothing,
and the next may fell him. So what showed nothing is worth another try: as much as trying it for the first time, times
how often something came at last of actions of its class that had shown nothing, and less with each time in vain.

A lamp shows what is in the dark, a key opens what was locked: it is the thing in hand that makes something possible
that never was. So whoever has nothing better to do takes along what was never somewhere, above all what opened
something elsewhere. How often that happens is counted, by thing and by place.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from engine.settings.planning import PlanNumbers
from engine.values.text import CAN, Situation, Tokens, concerns, name_in, names_in, objects

Key = tuple[str, str]
"""A place and an action."""


class Yields:
    """Counts of first tries and of what they brought."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._tries: defaultdict[str, float] = defaultdict(float)
        self._losses: defaultdict[str, float] = defaultdict(float)
        self._brought: defaultdict[str, float] = defaultdict(float)
        self.version = 0
        """Grows with each first try."""

    def add(self, kind: str, brought: float, *, lost: bool, share: float = 1.0) -> None:
        """Count a first try.

        Args:
            kind: Its class.
            brought: Points, and what was discovered, in points.
            lost: Whether it cost something in hand.
            share: What part of what the class brings was promised.
        """
        self.version += 1
        self._tries[kind] += share
        self._losses[kind] += lost * share
        self._brought[kind] += brought

    def rate(self, kind: str) -> float:
        """Return the points that trying an action of a class for the first time brings."""
        n = self._n
        return (self._brought[kind] + n.first * n.first_tries) / (self._tries[kind] + n.first_tries)

    def loss_rate(self, kind: str) -> float:
        """Return how often an action of a class, tried for the first time, cost something in hand."""
        return (self._losses[kind] + self._n.loss) / (self._tries[kind] + 1.0)


class Vain:
    """Counts of what showed nothing, by place and action, and of what came of doing it again, by class."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.version = 0
        """Grows with each further try of what had shown nothing."""
        self._vain: Counter[Key] = Counter()
        self._showed: set[Key] = set()
        self._times: Counter[str] = Counter()
        self._came: Counter[str] = Counter()

    def add(self, kind: str, key: Key, *, showed: bool, died: bool) -> None:
        """Count a try.

        Args:
            kind: The class of the action.
            showed: Whether anything came of it that shows, dying apart.
        """
        again = self.holds(key)
        if again:
            self.version += 1
            self._times[kind] += 1
            self._came[kind] += showed and not died
        if showed and not died:
            self._showed.add(key)
        elif not died or again:
            self._vain[key] += 1

    def holds(self, key: Key) -> bool:
        """Return whether an action was tried at a place, and nothing ever came of it that shows, dying apart."""
        return self._vain[key] > 0 and key not in self._showed

    def hope(self, kind: str, key: Key) -> float:
        """Return how likely something comes at last of an action that showed nothing so far."""
        n = self._n
        rate = (self._came[kind] + n.vain_came) / (self._times[kind] + n.vain_times)
        return rate * n.vain_patience / (n.vain_patience + self._vain[key] - 1.0)


class Bringing:
    """What was in hand where, and what it opened there."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.things: set[str] = set()
        """Tokens of all that was ever in hand; how it was packed makes no other thing of it."""
        self.names: set[str] = set()
        """Words that name what was ever in hand, or in something in hand."""
        self._at: dict[str, set[str]] = {}
        self._places: Counter[str] = Counter()
        self._actions: set[str] = set()
        self._brought: Counter[str] = Counter()
        self._opened: Counter[str] = Counter()
        self._opened_at: Counter[str] = Counter()
        self._brought_to: Counter[str] = Counter()
        self.openers: dict[str, dict[str, str]] = {}
        """By place, what was opened there, or is otherwise not as it was, and what was done to it."""

    def open(self, now: Situation, action: str, then: Situation) -> None:
        """Learn what an action opened at a place; things that were ever in hand apart, and the dark."""
        if name_in(now.see) != name_in(then.see):
            return
        for token in sorted(then.see - now.see):
            opened = token.startswith(CAN) or (token.startswith("see:") and "=" in token)
            if opened and names_in(token).isdisjoint(self.names):
                self.openers.setdefault(now.place, {})[token] = action

    def see(
        self,
        place: str,
        have: Tokens,
        possible: tuple[str, ...],
        *,
        known: bool,
        new: bool,
        see: Tokens = frozenset(),
    ) -> None:
        """Learn what is in hand at a place, and whether it opens anything there.

        What was opened there is like a place of its own: things may be put to use on it then.

        Args:
            see: What is to be seen there.
            possible: What can be done: an action never possible anywhere that puts the thing to use on something.
            known: Whether the place was known before, so that what is new there comes of what was brought.
            new: Whether anything is seen that never was seen.
        """
        there = self._at.setdefault(place, set())
        opened = [token for token in self.openers.get(place, ()) if token in see]
        if opened or not have <= there:
            unheard = [action for action in possible if action not in self._actions and len(objects(action)) > 1]
            put_to_use = {token for token in have if any(concerns(action, token) for action in unheard)}
            for feature in opened:
                at = _at(place, feature)
                if at in self._at:
                    for token in self._whole(have & there) - self._at[at]:
                        self._count(at, token, token in put_to_use)
                self._at.setdefault(at, set()).update(have)
            for token in have - there:
                self.names |= names_in(token.partition("@")[0])
            for token in self._whole(have) - there:
                if known and token in self.things:
                    self._count(place, token, new or token in put_to_use)
                there.add(token)
                self._places[token] += 1
                self.things.add(token)
        self._actions.update(possible)

    @staticmethod
    def _whole(have: Tokens) -> Tokens:
        """Return the things themselves: how they are packed makes no other things of them."""
        return frozenset(token for token in have if "@" not in token)

    def _count(self, place: str, token: str, opened: bool) -> None:
        self._brought_to[place] += 1
        self._opened_at[place] += opened
        self._brought[token] += 1
        self._opened[token] += opened

    def opens(self, token: str) -> float:
        """Return how likely bringing a thing to a place where it never was makes something new possible, or seen."""
        n = self._n
        overall = (self._opened.total() + n.opening * n.opening_tries) / (self._brought.total() + n.opening_tries)
        return (self._opened[token] + n.opening_own * overall) / (self._brought[token] + n.opening_own)

    def opens_at(self, token: str, place: str) -> float:
        """Return how likely bringing a thing to just this place does so, by what other things did there."""
        own = self._n.opening_own
        return (self._opened_at[place] + own * self.opens(token)) / (self._brought_to[place] + own)

    def new_at(self, place: str, have: Tokens) -> Tokens:
        """Return what of this was in hand somewhere and never at that place."""
        return have.difference(self._at.get(place, ())) & self.things

    def new_with(self, place: str, feature: str, have: Tokens) -> list[float]:
        """Return how likely each thing in hand that never was where something is opened opens more there."""
        at = _at(place, feature)
        return [self.opens_at(token, at) for token in self.new_at(at, have)]

    def all_were_at(self, place: str) -> bool:
        """Return whether there is nothing that was never brought to that place."""
        return len(self._at.get(place, ())) == len(self.things)

    def places_with(self, token: str) -> int:
        """Return at how many places a thing was in hand."""
        return self._places[token]


def _at(place: str, feature: str) -> str:
    """Return the place that a place is with something opened there."""
    return f"{place} {feature}"

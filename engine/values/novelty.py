"""What trying something new brings: an action for the first time, or a thing at a place where it never was.

What first tries brought is counted by the class of the action, and carries over from one part of the world to another.

A lamp shows what is in the dark, a key opens what was locked: it is the thing in hand that makes something possible
that never was. So whoever has nothing better to do takes along what was never somewhere, above all what opened
something elsewhere. How often that happens is counted, by thing and by place.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from engine.settings.plan import PlanNumbers
from engine.values.counts import TryCount
from engine.values.text import Tokens, concerns, is_held, names_in, objects, without_holder


class Yields:
    """Counts of first tries, by class of action, and of what they brought and cost."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._brought: defaultdict[str, TryCount] = defaultdict(TryCount)
        self._lost: defaultdict[str, TryCount] = defaultdict(TryCount)

    def add(self, kind: str, brought: float, *, lost: bool, share: float) -> None:
        """Count a first try.

        Args:
            kind: Its class.
            brought: Points, and what was discovered, in points.
            lost: Whether it cost something in hand.
            share: What part of what the class brings was promised.
        """
        self._brought[kind].add(brought, share)
        self._lost[kind].add(lost * share, share)

    def rate(self, kind: str) -> float:
        """Return the points that trying an action of a class for the first time brings."""
        return self._brought[kind].rate(self._n.first, self._n.doubt)

    def loss_rate(self, kind: str) -> float:
        """Return how often an action of a class, tried for the first time, cost something in hand."""
        return self._lost[kind].rate(self._n.loss, 1.0)


class Bringing:
    """What was in hand where, and what it opened there.

    Attributes:
        names: Words that name what was ever in hand, or in something in hand.
        places: By token of all that was ever in hand, at how many places it was; how it was packed is left out.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.names: set[str] = set()
        self.places: Counter[str] = Counter()
        self._at: defaultdict[str, set[str]] = defaultdict(set)
        """By place, what was in hand there."""
        self._actions: set[str] = set()
        self._all = TryCount()
        self._of: defaultdict[str, TryCount] = defaultdict(TryCount)
        self._to: defaultdict[str, TryCount] = defaultdict(TryCount)

    def see(self, place: str, have: Tokens, possible: tuple[str, ...], *, known: bool, new: bool) -> None:
        """Learn what is in hand at a place, and whether it opens anything there.

        Args:
            possible: What can be done: an action never possible anywhere that puts the thing to use on something.
            known: Whether the place was known before, so that what is new there comes of what was brought.
            new: Whether anything is seen that never was seen.
        """
        there = self._at[place]
        unheard = [action for action in possible if action not in self._actions and len(objects(action)) > 1]
        for token in have - there:
            self.names |= names_in(without_holder(token))
            if is_held(token):
                continue  # how things are packed makes no new ones
            if known and token in self.places:
                opened = new or any(concerns(action, token) for action in unheard)
                for tally in (self._all, self._of[token], self._to[place]):
                    tally.add(opened)
            there.add(token)
            self.places[token] += 1
        self._actions.update(possible)

    def opens(self, token: str) -> float:
        """Return how likely bringing a thing to a place where it never was makes something new possible, or seen."""
        overall = self._all.rate(self._n.opening, 2.0 * self._n.doubt)
        return self._of[token].rate(overall, self._n.doubt)

    def chances(self, place: str, have: Tokens) -> list[float]:
        """Return how likely each thing in hand that never was at a place opens something there.

        Counted is what the thing did anywhere, and what other things did just there.
        """
        there = self._at.get(place, ())
        new = [token for token in have if token in self.places and token not in there]
        return [self._to[place].rate(self.opens(token), self._n.doubt) for token in new]

    def all_were_at(self, place: str) -> bool:
        """Return whether there is nothing that was never brought to that place."""
        return len(self._at.get(place, ())) == len(self.places)

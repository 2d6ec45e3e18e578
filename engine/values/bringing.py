"""What comes of bringing things to places where they never were.

A lamp shows what is in the dark, a key opens what was locked: it is the thing in hand that makes something possible
that never was. So who has nothing better to do takes along what was never somewhere, above all what opened something
elsewhere. How often that happens is counted, as it is for classes of actions.
"""

from __future__ import annotations

from collections import Counter

from engine.values.conditions import Tokens, concerns, name_in, names_in, objects
from engine.values.situations import Situation
from engine.values.unseen import CAN

_FIRST = 0.25
"""Share of things brought that is taken to open something before any was brought, worth `_TRIES` of them."""
_TRIES = 4.0
_OWN = 2.0
"""Things brought that what holds of all things is worth beside what a thing itself did."""


class Bringing:
    """What was in hand where, and what it opened there."""

    def __init__(self) -> None:
        self.version = 0
        """Grows whenever anything is learnt."""
        self.things: set[str] = set()
        """Tokens of all that was ever in hand; how it was packed makes no other thing of it."""
        self.names: set[str] = set()
        """Words that name what was ever in hand, or in something in hand."""
        self._at: dict[str, set[str]] = {}
        self._places: Counter[str] = Counter()
        self._actions: set[str] = set()
        self._brought: Counter[str] = Counter()
        self._opened: Counter[str] = Counter()
        self._totals = [0, 0]
        self._opened_at: Counter[str] = Counter()
        self._brought_to: Counter[str] = Counter()
        self._opens: dict[str, float] = {}
        self.openers: dict[str, dict[str, str]] = {}
        """By place, what was opened there, or is otherwise not as it was, and what was done to it."""

    def open(self, now: Situation, action: str, then: Situation) -> None:
        """Learn what an action opened at a place; things that were ever in hand apart, and the dark."""
        if name_in(now.see) != name_in(then.see):
            return
        for token in sorted(then.see - now.see):
            opened = token.startswith(CAN) or (token.startswith("see:") and "=" in token)
            if opened and names_in(token).isdisjoint(self.names):
                openers = self.openers.setdefault(now.place, {})
                self.version += openers.get(token) != action
                openers[token] = action

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
            unheard = [
                action for action in possible if action not in self._actions and len(objects(action)) > 1
            ]
            for feature in opened:
                within = self._at.get(_at(place, feature))
                for token in (have & there) - (have if within is None else within):
                    if "@" not in token:
                        self._count(
                            _at(place, feature), token, any(concerns(action, token) for action in unheard)
                        )
                if within is None or not have <= within:
                    self._at.setdefault(_at(place, feature), set()).update(have)
                    self.version += 1
            for token in have - there:
                self.names |= names_in(token.partition("@")[0])
                if "@" not in token:
                    if known and token in self.things:
                        self._count(place, token, new or any(concerns(action, token) for action in unheard))
                    there.add(token)
                    self.version += 1
                    self._places[token] += 1
                    self.things.add(token)
        self._actions.update(possible)

    def _count(self, place: str, token: str, opened: bool) -> None:
        self._opens.clear()
        self._brought_to[place] += 1
        self._opened_at[place] += opened
        self._brought[token] += 1
        self._opened[token] += opened
        self._totals[0] += opened
        self._totals[1] += 1

    def opens(self, token: str) -> float:
        """Return how likely bringing a thing to a place where it never was makes something new possible, or seen."""
        found = self._opens.get(token)
        if found is None:
            opened, brought = self._totals
            overall = (opened + _FIRST * _TRIES) / (brought + _TRIES)
            found = (self._opened[token] + _OWN * overall) / (self._brought[token] + _OWN)
            self._opens[token] = found
        return found

    def opens_at(self, token: str, place: str) -> float:
        """Return how likely bringing a thing to just this place does so, by what other things did there."""
        told = self._brought_to[place] + _OWN
        return (self._opened_at[place] + _OWN * self.opens(token)) / told

    def most_at(self, place: str) -> float:
        """Return the share of things brought that made something new possible, or seen, at a place, or with it opened.

        The highest of these shares.
        """
        places = (place, *(_at(place, feature) for feature in self.openers.get(place, ())))
        return max(self._opened_at[at] / (self._brought_to[at] or 1) for at in places)

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

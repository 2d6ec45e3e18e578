"""How dangerous places are, with what in hand, and by what name they go when they are.

A danger may be met in many places under one name: the dark. What is always in hand where such a place does
not go by that name, and never where one does, is taken to lift it everywhere: a lamp that is on.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections import Counter
from dataclasses import dataclass, field

from engine.values.conditions import Tokens

DEADLY = 0.08
"""Share of deadly steps that makes a place one to be prepared for."""

_NONE: Tokens = frozenset()
_MOSTLY = 0.75
"""Share of the deaths at a place that have to come under one name for it to be the name of the danger."""
_CHANCE = 0.1
"""Probability of so few deaths by chance above which nothing is said to have prevented them."""
_LIFTED = 0.1
"""Share of a danger that is left with something in hand that lifts it."""


@dataclass(slots=True)
class Risk:
    """How often one died at a place, with what in hand and what to be seen."""

    steps: int = 0
    deaths: int = 0
    carried: Counter[str] = field(default_factory=Counter)
    died_with: Counter[str] = field(default_factory=Counter)
    hope: float = 1.0
    """How likely something new in hand helps against this danger, after all that did not."""
    guise: str = ""
    """The name that the place went by mostly when one died there, "" if there is none."""
    _rates: dict[str, float] = field(default_factory=dict, repr=False)
    """The shares of deadly steps with each thing that was carried or seen, once asked for."""

    def add(self, context: Tokens, died: bool) -> None:
        """Count a step."""
        self._rates.clear()
        self.steps += 1
        self.carried.update(context)
        if died:
            self.deaths += 1
            self.died_with.update(context)
            self.hope = 2.0 / (2.0 + sum(token.startswith("have:") for token in self.died_with))
            names = (token for token, died in self.died_with.items() if died >= _MOSTLY * self.deaths)
            self.guise = next((_name(token) for token in names if token.startswith("place:")), "")

    def share(self, context: Tokens) -> float:
        """Return the share of deadly steps, cautiously low where hardly anything is known.

        What is carried or seen may be what makes the difference: the share is the lowest that holds with any
        of it, and what never was there is given half a chance.
        """
        if not self.deaths:
            return 0.0
        share = self.deaths / (self.steps + 2.0)
        if not self._rates:
            died_with = self.died_with.get
            self._rates = {
                token: (died_with(token, 0) + share) / (steps + 1.0) for token, steps in self.carried.items()
            }
        return min(share, min(map(self._rates.get, context, itertools.repeat(0.5 * share)), default=share))

    def lessened_by(self, token: str) -> bool:
        """Return whether one died clearly less with this in hand: less than half as often, and hardly by chance."""
        carried, died = self.carried[token], self.died_with[token]
        if not self.deaths or not carried:
            return False
        without = (self.deaths - died) / (self.steps - carried + 1.0)
        if (died + without) / (carried + 1.0) > 0.5 * without:
            return False
        expected = without * carried
        return math.exp(-expected) * (math.e * expected / max(1, died)) ** died <= _CHANCE


@dataclass(slots=True)
class _Guise:
    """A name that several places go by at times, the dark for one, and what was in hand then."""

    places: set[str] = field(default_factory=set)
    carried: set[str] = field(default_factory=set)


class Guises:
    """By what names places go, and what lifts those that come with danger.

    Attributes:
        version: Grows whenever the danger of a name that several places have in common may have changed.
    """

    def __init__(self) -> None:
        self.version = 0
        self._guises: dict[str, _Guise] = {}
        self._always: dict[tuple[str, str], Tokens] = {}
        self._lifting: dict[str, Tokens] = {}
        self._risks: dict[tuple[str, bool], Risk] = {}
        self._ventures: dict[tuple[str, bool], Risk] = {}
        self._worst: dict[str, float] = {}

    def add(self, see: Tokens, moving: bool, died: bool, first: bool = False) -> None:
        """Count a step made where a place goes by a name: the same name is the same danger elsewhere.

        Args:
            first: Whether the action was never taken at the place: known ways in the dark are less deadly than others.
        """
        name = name_in(see)
        for risks in ((self._risks, self._ventures) if first else (self._risks,)) if name else ():
            risk = risks.setdefault((name, moving), Risk())
            risk.steps += 1
            risk.deaths += died
            if risk.deaths and len(self._guises[name].places) > 1:
                self._change()

    def elsewhere(self, context: Tokens, *, moving: bool, first: bool = False) -> float:
        """Return the share of deadly steps at all places while they go by the name that this one has now.

        0 if it is one place's own name.

        Args:
            first: Whether to count first tries above all, for an action never taken at the place.
        """
        name = name_in(context)
        guise, risk = self._guises.get(name), self._risks.get((name, moving))
        if (
            guise is None
            or risk is None
            or len(guise.places) < 2
            or not context.isdisjoint(self._lifts(name))
        ):
            return 0.0
        share = risk.deaths / (risk.steps + 2.0)
        ventures = self._ventures.get((name, moving)) if first else None
        return (ventures.deaths + 2.0 * share) / (ventures.steps + 2.0) if ventures is not None else share

    def worst(self, place: str) -> float:
        """Return the highest share of deadly steps under any name that a place has in common with others."""
        found = self._worst.get(place)
        if found is None:
            found = self._worst[place] = self._worst_at(place)
        return found

    def _worst_at(self, place: str) -> float:
        return max(
            (
                risk.deaths / (risk.steps + 2.0)
                for name, guise in self._guises.items()
                if place in guise.places and len(guise.places) > 1
                for risk in (self._risks.get((name, True)), self._risks.get((name, False)))
                if risk is not None
            ),
            default=0.0,
        )

    def see(self, place: str, have: Tokens, see: Tokens) -> None:
        """Learn by what name a place goes with this in hand."""
        name = name_in(see)
        if not name:
            return
        guise = self._guises.setdefault(name, _Guise())
        if place not in guise.places or not have <= guise.carried:
            guise.places.add(place)
            guise.carried |= have
            self._change()
        known = self._always.get((place, name))
        always = have if known is None else known & have
        if always != known:
            self._always[(place, name)] = always
            self._change()

    def _change(self) -> None:
        self.version += 1
        self._lifting.clear()
        self._worst.clear()

    def share(self, risk: Risk, context: Tokens) -> float:
        """Return the share of deadly steps in this context.

        It is little where the place does not go by the name it had when one died, or something in hand sees to that.
        """
        share = risk.share(context)
        guise = risk.guise if share > 0.0 else ""
        if guise and (name_in(context) not in ("", guise) or not context.isdisjoint(self._lifts(guise))):
            share *= _LIFTED
        return share

    def at_worst(self, risk: Risk) -> float:
        """Return the share of deadly steps with nothing in hand, however often something in hand lifted the danger."""
        named = self._risks.get((risk.guise, True)) if self.lifting(risk) else None
        return max(risk.share(_NONE), named.deaths / (named.steps + 2.0) if named is not None else 0.0)

    def lifting(self, risk: Risk) -> Tokens:
        """Return what lifts the guise that the danger comes in; nothing if it comes in none, or nobody knows."""
        return self._lifts(risk.guise) if risk.deaths and risk.guise else _NONE

    def light(self) -> Tokens:
        """Return all that lifts a deadly name, however seldom a place goes by it to those who have it."""
        deadly = (
            name for (name, _), risk in self._risks.items() if risk.deaths / (risk.steps + 2.0) > DEADLY
        )
        return _NONE.union(*map(self._lifts, deadly))

    def is_lifted(self, see: Tokens) -> bool:
        """Return whether a place goes by a name that something in hand would lift: it is dark."""
        return bool(self._lifts(name_in(see)))

    def _lifts(self, guise: str) -> Tokens:
        """Return what was always in hand where a place did not go by that name, and never where one did."""
        found = self._lifting.get(guise)
        if found is None:
            found, known = _NONE, self._guises.get(guise)
            if known is not None and len(known.places) > 1:
                for (place, name), always in self._always.items():
                    if name != guise and place in known.places:
                        found |= always - known.carried
            self._lifting[guise] = found
        return found


@functools.lru_cache(maxsize=1 << 14)
def name_in(context: Tokens) -> str:
    """Return the name that a place goes by in a context, "" if it has no other."""
    return min((_name(token) for token in context if token.startswith("place:")), default="")


def _name(token: str) -> str:
    return token.partition("#")[0]

"""How dangerous places are: the share of deadly steps among the moves away from a place, and among all other steps.

A danger may come under a name that several places go by at times, an alias: the dark. It is as great in all of them.
What was always in hand where such a place does not go by the alias, and never where any place does, is taken to lift
the danger in all of them: a lamp that is on.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from engine.settings.planning import PlanNumbers
from engine.values.memo import Memo
from engine.values.text import Situation, Tokens, name_in, union

_NONE: Tokens = frozenset()


@dataclass(slots=True)
class _Risk:
    """Steps, how many of them were deadly under which alias, and the same by each token that was there."""

    numbers: PlanNumbers
    steps: int = 0
    deaths: int = 0
    aliases: Counter[str] = field(default_factory=Counter)
    with_token: Counter[str] = field(default_factory=Counter)
    deaths_with: Counter[str] = field(default_factory=Counter)

    def add(self, alias: str, context: Tokens, died: bool) -> None:
        """Count a step."""
        self.steps += 1
        self.with_token.update(context)
        if died:
            self.deaths += 1
            self.aliases[alias] += 1
            self.deaths_with.update(context)

    @property
    def share(self) -> float:
        """The share of deadly steps, cautiously low where hardly anything is known."""
        return self.deaths / (self.steps + self.numbers.unharmed)

    def share_with(self, context: Tokens) -> float:
        """Return the lowest share that holds with anything in a context: it may be what makes the difference.

        What never was there is given half a chance.
        """
        whole = share = self.share
        if not whole:
            return 0.0
        for token in context:
            steps = self.with_token[token]
            rate = (self.deaths_with[token] + whole) / (steps + 1.0) if steps else self.numbers.unmet * whole
            share = min(share, rate)
        return share

    @property
    def hope(self) -> float:
        """How likely something new in hand helps against this danger, after all that did not."""
        hope = self.numbers.hope
        return hope / (hope + sum(token.startswith("have:") for token in self.deaths_with))

    @property
    def alias(self) -> str:
        """The alias under which one mostly died, "" if there is none."""
        least = self.numbers.mostly * self.deaths
        return next((alias for alias, deaths in self.aliases.items() if deaths >= least), "")


@dataclass(slots=True)
class _Place:
    """The dangers of one place."""

    staying: _Risk
    moving: _Risk


@dataclass(slots=True)
class _Alias:
    """A name that several places go by at times, and what was in hand then.

    Attributes:
        risks: Of all moves (True) and other steps (False) where a place went by it.
        first: Of those that were taken at their place for the first time.
    """

    risks: dict[bool, _Risk]
    first: dict[bool, _Risk]
    places: set[str] = field(default_factory=set)
    carried: set[str] = field(default_factory=set)


class Hazards:
    """The dangers of all places.

    Attributes:
        version: Grows whenever places may be more or less dangerous than before.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.version = 0
        self._places: dict[str, _Place] = {}
        self._aliases: dict[str, _Alias] = {}
        self._always: dict[tuple[str, str], Tokens] = {}
        """By place and the name it went by, what was in hand whenever it did."""
        self._told: Memo[tuple[str, Tokens, bool, bool], float] = Memo(1 << 14)
        self._lifting: Memo[str, Tokens] = Memo()
        self._worst: Memo[str, float] = Memo()
        self._deadly: Memo[None, tuple[str, ...]] = Memo()
        self._light: Memo[None, Tokens] = Memo()

    def add(self, now: Situation, *, moving: bool, died: bool, first: bool) -> None:
        """Count a step.

        Args:
            moving: Whether it left the place, or would have.
            first: Whether the action was never taken at the place.
        """
        alias, place = name_in(now.see), self._place(now.place)
        risk = place.moving if moving else place.staying
        before = self._known(alias, now)
        context = union(now.have, now.see)
        risk.add(alias, context, died)
        if alias:
            known = self._alias(alias)
            known.places.add(now.place)
            known.carried |= now.have
            known.risks[moving].add("", _NONE, died)
            if first:
                known.first[moving].add("", _NONE, died)
            always = self._always.get((now.place, alias))
            self._always[(now.place, alias)] = now.have if always is None else always & now.have
        deaths = bool(risk.deaths or (alias and known.risks[moving].deaths))
        self.version += deaths or before != self._known(alias, now)

    def _place(self, name: str) -> _Place:
        """Return the dangers of a place."""
        found = self._places.get(name)
        if found is None:
            found = self._places[name] = _Place(_Risk(self._n), _Risk(self._n))
        return found

    def _alias(self, name: str) -> _Alias:
        """Return what is known of an alias."""
        found = self._aliases.get(name)
        if found is None:
            risks, first = ({moving: _Risk(self._n) for moving in (True, False)} for _ in range(2))
            found = self._aliases[name] = _Alias(risks, first)
        return found

    def _known(self, alias: str, now: Situation) -> object:
        """Return what decides what lifts an alias."""
        if not alias:
            return None
        known = self._alias(alias)
        return len(known.places), len(known.carried), self._always.get((now.place, alias))

    def hazard(self, place: str, context: Tokens = _NONE, *, moving: bool, first: bool = False) -> float:
        """Return the share of deadly steps at a place, of moves away from it or of all others.

        Args:
            context: What is carried, and seen there.
            first: Whether the step is one that was never taken at the place.
        """
        key = (place, context, moving, first)
        return self._told.find(self.version, key, lambda: self._hazard(*key))

    def _hazard(self, place: str, context: Tokens, moving: bool, first: bool) -> float:
        known = self._places.get(place)
        elsewhere = self._elsewhere(context, moving, first)
        if known is None:
            return elsewhere
        risk = known.moving if moving else known.staying
        share, alias = risk.share_with(context), risk.alias
        if alias and (name_in(context) not in ("", alias) or not context.isdisjoint(self._lifts(alias))):
            share *= self._n.lifted
        return max(share, elsewhere)

    def _elsewhere(self, context: Tokens, moving: bool, first: bool) -> float:
        """Return the share of deadly steps wherever a place goes by the alias that it has in this context."""
        name = name_in(context)
        alias = self._aliases.get(name)
        if alias is None or len(alias.places) < 2 or not context.isdisjoint(self._lifts(name)):
            return 0.0
        share, tries = alias.risks[moving].share, alias.first[moving]
        # For what was never done at a place, what came of first tries elsewhere counts most.
        prior = self._n.unharmed
        return (tries.deaths + prior * share) / (tries.steps + prior) if first else share

    def worst(self, place: str) -> float:
        """Return the highest share of deadly steps under any alias that a place has in common with others."""
        return self._worst.find(
            self.version,
            place,
            lambda: max(
                (
                    risk.share
                    for alias in self._aliases.values()
                    if place in alias.places and len(alias.places) > 1
                    for risk in alias.risks.values()
                ),
                default=0.0,
            ),
        )

    def is_safe(self, place: str) -> bool:
        """Return whether nobody ever died of leaving a place, nor of being where it is called as this one at times."""
        known = self._places.get(place)
        return (known is None or not known.moving.deaths) and not self.worst(place)

    def deadly(self) -> tuple[str, ...]:
        """Return the places that one dies of leaving often when nothing lifts the danger."""
        return self._deadly.find(
            self.version,
            None,
            lambda: tuple(
                name for name, place in self._places.items() if self._at_worst(place.moving) > self._n.deadly
            ),
        )

    def _at_worst(self, risk: _Risk) -> float:
        alias = risk.alias
        return max(risk.share, self._alias(alias).risks[True].share) if self._lifts(alias) else risk.share

    def lifting(self, place: str) -> Tokens:
        """Return what lifts the danger of leaving a place; nothing if nothing is known to."""
        known = self._places.get(place)
        return self._lifts(known.moving.alias) if known is not None and known.moving.deaths else _NONE

    def helps(self, token: str) -> bool:
        """Return whether something lifts the danger of leaving any of the deadly places."""
        return any(token in self.lifting(place) for place in self.deadly())

    @property
    def light(self) -> Tokens:
        """All that lifts the danger of a deadly alias, however seldom a place goes by it to those who have it."""

        def light() -> Tokens:
            deadly = (
                name
                for name, alias in self._aliases.items()
                if any(risk.share > self._n.deadly for risk in alias.risks.values())
            )
            return _NONE.union(*map(self._lifts, deadly))

        return self._light.find(self.version, None, light)

    def is_lifted(self, see: Tokens) -> bool:
        """Return whether a place goes by an alias that something in hand would lift: it is dark."""
        return bool(self._lifts(name_in(see)))

    def _lifts(self, name: str) -> Tokens:
        """Return what was always in hand where a place did not go by that alias, and never where one did."""

        def lifts() -> Tokens:
            alias, found = self._aliases.get(name), _NONE
            if alias is not None and len(alias.places) > 1:
                for (place, other), always in self._always.items():
                    if other != name and place in alias.places:
                        found |= always - alias.carried
            return found

        return self._lifting.find(self.version, name, lifts)

    def helpless(self) -> tuple[str, ...]:
        """Return the deadly places that nothing is known to protect at."""
        return tuple(place for place in self.deadly() if not self.lifting(place))

    def untested(self, place: str, have: Tokens) -> int:
        """Return how many of the things in hand never were at that place."""
        known = self._places.get(place)
        if known is None:
            return len(have)
        return sum(not (known.moving.with_token[token] or known.staying.with_token[token]) for token in have)

    def hope(self, place: str) -> float:
        """Return how likely something new in hand helps at a deadly place, after all that did not."""
        return self._place(place).moving.hope

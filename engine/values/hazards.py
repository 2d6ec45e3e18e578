"""How dangerous it is to be at places and to leave them, with what in hand.

Plans ask this thousands of times between two steps, and a step changes it at the place it was made at, or wherever
the same name is met; so each answer is kept until one of these changes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.values.conditions import Tokens, union
from engine.values.dangers import DEADLY, Guises, Risk
from engine.values.situations import Situation

_NONE: Tokens = frozenset()
_KEPT = 1 << 10
"""Answers kept of one place."""


@dataclass(slots=True)
class _Place:
    """The dangers of one place.

    Attributes:
        version: Of what is known of names that several places go by, when `told` was begun.
        told: Shares of deadly steps by context, whether of moves, and whether of first tries.
    """

    staying: Risk = field(default_factory=Risk)
    moving: Risk = field(default_factory=Risk)
    version: int = -1
    told: dict[tuple[Tokens, bool, bool], float] = field(default_factory=dict)


class Hazards:
    """The dangers of all places."""

    def __init__(self) -> None:
        self.guises = Guises()
        self.changes = 0
        """Grows whenever more is known of dying, or not, where one dies."""
        self._places: dict[str, _Place] = {}
        self._light: tuple[int, Tokens] = (-1, _NONE)
        self._deadly: tuple[int, tuple[str, ...]] | None = None
        self._helps: tuple[int, Tokens, list[Risk], dict[str, bool]] | None = None
        """Version, what lifts a danger, dangers that nothing is known to lift, and answers."""

    @property
    def version(self) -> int:
        """A number that grows whenever places may be more or less dangerous than before where nobody was since."""
        return self.guises.version

    def version_at(self, place: str) -> int:
        """Return a number that grows whenever a place may be more or less dangerous than before."""
        known = self._places.get(place)
        if known is None:
            return self.guises.version
        return self.guises.version + sum(risk.steps for risk in (known.moving, known.staying) if risk.deaths)

    def add(self, now: Situation, *, moving: bool, died: bool, first: bool) -> None:
        """Count a step.

        Args:
            moving: Whether it left the place, or would have.
            first: Whether the action was never taken at the place.
        """
        place = self._places.get(now.place)
        if place is None:
            place = self._places[now.place] = _Place()
        self.guises.see(now.place, now.have, now.see)
        risk = place.moving if moving else place.staying
        risk.add(union(now.have, now.see), died)
        self.guises.add(now.see, moving, died, first=first)
        if risk.deaths:
            self._deadly = self._helps = None
            place.told.clear()
        self.changes += bool(place.moving.deaths or place.staying.deaths)

    def hazard(self, place: str, context: Tokens = _NONE, *, moving: bool, first: bool = False) -> float:
        """Return the share of deadly steps at a place, of moves away from it or of all others.

        Args:
            context: What is carried, and seen there.
            first: Whether the step is one that was never taken at the place.
        """
        known = self._places.get(place)
        if known is None:
            # Nobody did anything there yet; but the same name is the same danger, wherever one met it.
            return self.guises.elsewhere(context, moving=moving, first=first)
        if known.version != self.guises.version or len(known.told) > _KEPT:
            known.version = self.guises.version
            known.told.clear()
        key = (context, moving, first)
        found = known.told.get(key)
        if found is None:
            risk = known.moving if moving else known.staying
            elsewhere = self.guises.elsewhere(context, moving=moving, first=first)
            found = known.told[key] = max(self.guises.share(risk, context), elsewhere)
        return found

    def is_safe(self, place: str) -> bool:
        """Return whether nobody ever died of leaving a place, nor of being where it is called as this one at times."""
        known = self._places.get(place)
        return (known is None or not known.moving.deaths) and not self.guises.worst(place)

    @property
    def light(self) -> Tokens:
        """All that lifts a danger."""
        if self._light[0] != self.guises.version:
            self._light = (self.guises.version, self.guises.light())
        return self._light[1]

    def untested(self, place: str, have: Tokens) -> int:
        """Return how many of the things in hand never were at that place."""
        known = self._places.get(place)
        if known is None:
            return len(have)
        return sum(not (known.moving.carried[token] or known.staying.carried[token]) for token in have)

    def hope(self, place: str) -> float:
        """Return how likely something new in hand helps against the danger of a place, after all that did not."""
        return self._places[place].moving.hope

    def protects(self, place: str, token: str) -> bool:
        """Return whether one died clearly less of leaving that place with this in hand."""
        known = self._places.get(place)
        if known is None:
            return False
        lifting = self.guises.lifting(known.moving)
        return token in lifting if lifting else known.moving.lessened_by(token)

    def helps(self, token: str) -> bool:
        """Return whether one died clearly less with this in hand of leaving any of the deadly places."""
        if self._helps is None or self._helps[0] != self.guises.version:
            risks = [self._places[place].moving for place in self.deadly()]
            lifting = _NONE.union(*map(self.guises.lifting, risks))
            self._helps = (self.guises.version, lifting, [r for r in risks if not self.guises.lifting(r)], {})
        _, lifting, others, told = self._helps
        found = told.get(token)
        if found is None:
            found = told[token] = token in lifting or any(risk.lessened_by(token) for risk in others)
        return found

    def helpless(self, place: str) -> bool:
        """Return whether nothing is known yet that protects at a deadly place."""
        return not self.guises.lifting(self._places[place].moving)

    def deadly(self) -> tuple[str, ...]:
        """Return the places that one dies of leaving often."""
        if self._deadly is None or self._deadly[0] != self.guises.version:
            found = (
                name for name, place in self._places.items() if self.guises.at_worst(place.moving) > DEADLY
            )
            self._deadly = (self.guises.version, tuple(found))
        return self._deadly[1]

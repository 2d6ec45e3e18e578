"""How dangerous places are: the share of deadly steps among the moves away from a place, and among all other steps.

Several places may go by the same other name at times, an alias: the dark. Each place is counted apart under each of its
names, and a shared alias is as deadly in all places that go by it. What was always in hand where such a place does not
go by the alias, and never where any place does, is a light: it is taken to lift the danger of a deadly alias.
"""

from __future__ import annotations

from collections import defaultdict

from engine.settings.plan import PlanNumbers
from engine.values.counts import Memo, TryCount
from engine.values.text import EMPTY, Situation, Tokens, name_in


class _Risk:
    """How many steps were deadly, and how many with each token that was there."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._steps = TryCount()
        self._with: defaultdict[str, TryCount] = defaultdict(TryCount)
        self._shares: Memo[Tokens, float] = Memo(numbers.kept)

    def add(self, died: bool, context: Tokens) -> None:
        """Count a step."""
        self._steps.add(died)
        for token in context:
            self._with[token].add(died)

    def share(self, context: Tokens) -> float:
        """Return the lowest share of deadly steps that holds with anything in a context.

        What was there may be what makes the difference. With a token that never was there, the share is `unmet` of the
        whole. Where hardly anything is known, it is cautiously low.
        """
        if not self._steps.hits:
            return 0.0
        return self._shares.find("", self._steps.tries, context, lambda: self._least(context))

    def _least(self, context: Tokens) -> float:
        whole = share = self._steps.rate(0.0, self._n.doubt)
        for token in context:
            known = self._with.get(token)
            share = min(share, self._n.unmet * whole if known is None else known.rate(whole, 1.0))
        return share


class _Alias:
    """A name that several places go by at times, how deadly they are then, and what was in hand then."""

    def __init__(self) -> None:
        self.steps = {moving: TryCount() for moving in (True, False)}
        self.always: dict[str, Tokens] = {}
        """By place that ever went by it, what was in hand whenever it did."""
        self.carried: set[str] = set()


class Hazards:
    """The dangers of all places.

    Attributes:
        deadly: Places that somebody died of leaving.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self.deadly: set[str] = set()
        self._n = numbers
        self._risks: dict[tuple[str, str, bool], _Risk] = {}
        """By place, the name it went by, and whether steps were moves."""
        self._aliases: dict[str, _Alias] = {}
        self._known_lights: dict[str, Tokens] | None = None
        self._light = EMPTY

    def add(self, now: Situation, *, moving: bool, died: bool) -> None:
        """Count a step.

        Args:
            moving: Whether it left the place, or would have.
        """
        name = name_in(now.see)
        self._risks.setdefault((now.place, name, moving), _Risk(self._n)).add(died, now.context)
        if died and moving:
            self.deadly.add(now.place)
        if name:
            alias = self._aliases.setdefault(name, _Alias())
            alias.steps[moving].add(died)
            alias.always[now.place] = alias.always.get(now.place, now.have) & now.have
            alias.carried |= now.have
            self._known_lights = None

    def hazard(self, place: str, context: Tokens = EMPTY, *, moving: bool) -> float:
        """Return the share of deadly steps at a place, of moves away from it or of all others.

        Args:
            context: What is carried, and seen there.
        """
        name = name_in(context)
        if not context.isdisjoint(self._lights.get(name, EMPTY)):
            return 0.0
        alias, risk = self._aliases.get(name), self._risks.get((place, name, moving))
        share = risk.share(context) if risk is not None else 0.0
        if alias is None or len(alias.always) < 2:
            return share
        return max(share, alias.steps[moving].rate(0.0, self._n.doubt))

    @property
    def light(self) -> Tokens:
        """All that lifts the danger of a deadly alias, however seldom a place goes by it to those who have it."""
        return self._light if self._lights else EMPTY

    @property
    def _lights(self) -> dict[str, Tokens]:
        """By alias, what lifts its danger: nothing if it is not deadly, or if no light is known."""
        if self._known_lights is None:
            self._known_lights = {name: self._lifting(alias) for name, alias in self._aliases.items()}
            self._light = EMPTY.union(*self._known_lights.values())
        return self._known_lights

    def _lifting(self, alias: _Alias) -> Tokens:
        """Return what was always in hand where a place did not go by a deadly alias, and never where one did."""
        deadliest = max(steps.rate(0.0, self._n.doubt) for steps in alias.steps.values())
        if deadliest <= self._n.unlikely:
            return EMPTY
        others = (other.always for other in self._aliases.values() if other is not alias)
        otherwise = (always.get(place, EMPTY) for always in others for place in alias.always)
        return EMPTY.union(*otherwise) - alias.carried

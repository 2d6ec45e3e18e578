"""How dangerous places are: the share of deadly steps among the moves away from a place, and among all other steps.

Several places may go by the same other name at times, an alias: the dark. Each place is counted apart under each of its
names, and a shared alias is as deadly in all places that go by it. What was always in hand where such a place does not
go by the alias, and never where any place does, is a light: it is taken to lift the danger of a deadly alias.
"""

from __future__ import annotations

from collections import defaultdict

from engine.settings.planning import PlanNumbers
from engine.values.counts import Tally
from engine.values.text import EMPTY, Situation, Tokens, name_in


class _Risk:
    """How many steps were deadly, and how many with each token that was there."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._steps = Tally()
        self._with: defaultdict[str, Tally] = defaultdict(Tally)

    def add(self, died: bool, context: Tokens) -> None:
        """Count a step."""
        self._steps.add(died)
        for token in context:
            self._with[token].add(died)

    def share(self, context: Tokens = EMPTY) -> float:
        """Return the lowest share of deadly steps that holds with anything in a context.

        What was there may be what makes the difference. With a token that never was there, the share is `unmet` of the
        whole. Where hardly anything is known, it is cautiously low.
        """
        whole = share = self._steps.rate(0.0, self._n.unharmed)
        for token in context if whole else ():
            known = self._with.get(token)
            share = min(share, self._n.unmet * whole if known is None else known.rate(whole, 1.0))
        return share


class _Alias:
    """A name that several places go by at times, how deadly they are then, and what was in hand then."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self.risks = {moving: _Risk(numbers) for moving in (True, False)}
        self.places: set[str] = set()
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
        self._always: dict[tuple[str, str], Tokens] = {}
        """By place and the name it went by, what was in hand whenever it did."""
        self._known_lights: dict[str, Tokens] | None = None

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
            alias, key = self._aliases.setdefault(name, _Alias(self._n)), (now.place, name)
            alias.risks[moving].add(died, EMPTY)
            alias.places.add(now.place)
            alias.carried |= now.have
            self._always[key] = self._always.get(key, now.have) & now.have
            self._known_lights = None

    def hazard(self, place: str, context: Tokens = EMPTY, *, moving: bool) -> float:
        """Return the share of deadly steps at a place, of moves away from it or of all others.

        Args:
            context: What is carried, and seen there.
        """
        name = name_in(context)
        alias, risk = self._aliases.get(name), self._risks.get((place, name, moving))
        share = risk.share(context) if risk is not None else 0.0
        if alias is None or len(alias.places) < 2:
            return share
        is_lifted = not context.isdisjoint(self._lights.get(name, EMPTY))
        return 0.0 if is_lifted else max(share, alias.risks[moving].share())

    @property
    def light(self) -> Tokens:
        """All that lifts the danger of a deadly alias, however seldom a place goes by it to those who have it."""
        return EMPTY.union(*self._lights.values())

    @property
    def _lights(self) -> dict[str, Tokens]:
        """What lifts the danger of each deadly alias of which anything is known to."""
        if self._known_lights is None:
            found = ((name, self._lifting(name)) for name in self._aliases)
            self._known_lights = {name: lights for name, lights in found if lights}
        return self._known_lights

    def _lifting(self, name: str) -> Tokens:
        """Return what was always in hand where a place did not go by a deadly alias, and never where one did."""
        alias, names = self._aliases[name], self._always.items()
        if len(alias.places) < 2 or max(risk.share() for risk in alias.risks.values()) <= self._n.deadly:
            return EMPTY
        otherwise = (always for (place, other), always in names if other != name and place in alias.places)
        return EMPTY.union(*otherwise) - alias.carried

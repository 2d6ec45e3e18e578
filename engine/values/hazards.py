"""How dangerous places are: the share of deadly steps among the moves away from a place, and among all other steps.

Several places may go by the same other name at times, an alias: the dark. A danger that belongs to an alias is equally
great in all places that go by it. What was always in hand where such a place does not go by the alias, and never where
any place does, is taken to lift the danger in all of them: a lamp that is on.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field

from engine.settings.planning import PlanNumbers
from engine.values.counts import Memo, Tally
from engine.values.text import EMPTY, Situation, Tokens, name_in


@dataclass(slots=True)
class _Risk:
    """How many steps were deadly, by alias and by each token that was there."""

    numbers: PlanNumbers
    steps: Tally = field(default_factory=Tally)
    aliases: Counter[str] = field(default_factory=Counter)
    with_token: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))

    def add(self, died: bool, alias: str = "", context: Tokens = EMPTY) -> None:
        """Count a step."""
        self.steps.add(died)
        for token in context:
            self.with_token[token].add(died)
        if died:
            self.aliases[alias] += 1

    @property
    def share(self) -> float:
        """The share of deadly steps, cautiously low where hardly anything is known."""
        return self.steps.rate(0.0, self.numbers.unharmed)

    def share_with(self, context: Tokens) -> float:
        """Return the lowest share that holds with anything in a context: it may be what makes the difference.

        With a token that never was there, the share is `unmet` of the whole.
        """
        whole = share = self.share
        if not whole:
            return 0.0
        for token in context:
            known = self.with_token.get(token)
            share = min(share, self.numbers.unmet * whole if known is None else known.rate(whole, 1.0))
        return share

    @property
    def alias(self) -> str:
        """The alias under which one mostly died, "" if there is none."""
        least = self.numbers.mostly * self.steps.hits
        return next((alias for alias, deaths in self.aliases.items() if deaths >= least), "")


class _Risks:
    """The dangers of moves, and of all other steps."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self.others, self.moves = _Risk(numbers), _Risk(numbers)

    def of(self, moving: bool) -> _Risk:
        """Return the danger of moves, or of all other steps."""
        return self.moves if moving else self.others

    @property
    def worst(self) -> float:
        """The greater share of deadly steps."""
        return max(self.others.share, self.moves.share)


class _Alias:
    """A name that several places go by at times, and what was in hand then.

    Attributes:
        risks: Of all steps where a place went by it.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self.risks = _Risks(numbers)
        self.places: set[str] = set()
        self.carried: set[str] = set()

    @property
    def is_shared(self) -> bool:
        """Whether several places went by it."""
        return len(self.places) > 1


class Hazards:
    """The dangers of all places.

    Attributes:
        version: Grows whenever places may be more or less dangerous than before.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.version = 0
        self._places: dict[str, _Risks] = {}
        self._aliases: dict[str, _Alias] = {}
        self._always: dict[tuple[str, str], Tokens] = {}
        """By place and the name it went by, what was in hand whenever it did."""
        self._cache: Memo[tuple[str, Tokens, bool], float] = Memo(1 << 14)
        self._lifting: Memo[str, Tokens] = Memo()
        self._light: Memo[None, Tokens] = Memo()

    def add(self, now: Situation, *, moving: bool, died: bool) -> None:
        """Count a step.

        Args:
            moving: Whether it left the place, or would have.
        """
        name, risk = name_in(now.see), self._places.setdefault(now.place, _Risks(self._n)).of(moving)
        risk.add(died, name, now.context)
        deaths, otherwise = bool(risk.steps.hits), False
        if name:
            alias, key = self._aliases.setdefault(name, _Alias(self._n)), (now.place, name)
            before = len(alias.places), len(alias.carried), self._always.get(key)
            alias.places.add(now.place)
            alias.carried |= now.have
            alias.risks.of(moving).add(died)
            always = self._always[key] = self._always.get(key, now.have) & now.have
            deaths = deaths or bool(alias.risks.of(moving).steps.hits)
            otherwise = before != (len(alias.places), len(alias.carried), always)  # what lifts an alias
        self.version += deaths or otherwise

    def hazard(self, place: str, context: Tokens = EMPTY, *, moving: bool) -> float:
        """Return the share of deadly steps at a place, of moves away from it or of all others.

        Args:
            context: What is carried, and seen there.
        """
        key = (place, context, moving)
        return self._cache.find(self.version, key, lambda: self._hazard(*key))

    def _hazard(self, place: str, context: Tokens, moving: bool) -> float:
        known, name = self._places.get(place), name_in(context)
        elsewhere = self._elsewhere(name, context, moving)
        if known is None:
            return elsewhere
        share, alias = known.of(moving).share_with(context), known.of(moving).alias
        if alias and (name not in ("", alias) or not context.isdisjoint(self._lifts(alias))):
            share *= self._n.lifted
        return max(share, elsewhere)

    def _elsewhere(self, name: str, context: Tokens, moving: bool) -> float:
        """Return the share of deadly steps wherever a place goes by the alias that it has in this context."""
        alias = self._aliases.get(name)
        if alias is None or not alias.is_shared or not context.isdisjoint(self._lifts(name)):
            return 0.0
        return alias.risks.of(moving).share

    def lifting(self, place: str) -> Tokens:
        """Return what lifts the danger of leaving a place; nothing if nothing is known to."""
        known = self._places.get(place)
        return self._lifts(known.moves.alias) if known is not None and known.moves.steps.hits else EMPTY

    @property
    def light(self) -> Tokens:
        """All that lifts the danger of a deadly alias, however seldom a place goes by it to those who have it."""
        return self._light.find(self.version, None, self._find_light)

    def _find_light(self) -> Tokens:
        deadly = (name for name, alias in self._aliases.items() if alias.risks.worst > self._n.deadly)
        return EMPTY.union(*map(self._lifts, deadly))

    def _lifts(self, name: str) -> Tokens:
        """Return what was always in hand where a place did not go by that alias, and never where one did."""

        def lifts() -> Tokens:
            alias = self._aliases.get(name)
            if alias is None or not alias.is_shared:
                return EMPTY
            names = self._always.items()
            otherwise = (always for (place, other), always in names if other != name and place in alias.places)
            return EMPTY.union(*otherwise) - alias.carried

        return self._lifting.find(self.version, name, lifts)

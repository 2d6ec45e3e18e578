"""What was never tried, where it could be tried, and what that promises."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.values.conditions import Tokens, names_in, objects
from engine.values.experience import MOVE, Experience, Key
from engine.values.offers import LEAST, Offers
from engine.values.progress import PlannerSettings, Progress
from engine.values.routes import Router

_NONE: frozenset[str] = frozenset()
_UNHEARD: Mapping[str, float] = {}
_RETRIED = 2
"""Times that an action is tried at a place in the hope that another situation makes a difference."""
_CARRY = 0.5
"""Share of what bringing a thing to places promises that fetching it is worth."""
_SOURCES = 4
"""Places considered where a thing was taken or made."""
_PLACES = 4
"""Places where a thing never was that count for fetching it."""

Liking = Mapping[str, Mapping[str, float]]
"""By place and action, how much more a model likes it than others."""
Offered = tuple[tuple[float, str], ...]
"""Actions that promise something at a place, with that, best first."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What draws to a place.

    Attributes:
        sums: The most that so many things tried there can promise together, for one, two and so on.
    """

    goal: str
    promising: Offered
    sums: tuple[float, ...]
    _bounds: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def most(self) -> float:
        """The most that all of it together can promise."""
        return self.sums[-1] if self.sums else 0.0

    def bound(self, travel: int) -> float:
        """Return the highest rate that a detour of this length can have."""
        found = self._bounds.get(travel)
        if found is None:
            found = self._bounds[travel] = max(
                (total / (travel + count) for count, total in enumerate(self.sums, 1)),
                default=0.0,
            )
        return found


class Promises:
    """Tells what is worth trying, place by place."""

    def __init__(self, experience: Experience, settings: PlannerSettings, router: Router) -> None:
        self._x = experience
        self._s = settings
        self._router = router
        self.offers = Offers(experience, router)
        self.draws: list[Draw] = []
        """What draws to each place at present."""
        self._wanted: dict[str, list[tuple[str, str]]] = {}
        self._helpful: set[str] = set()
        self._carry: dict[str, float] = {}
        self._failed: set[Key] = set()
        self._promising: dict[str, tuple[object, Offered]] = {}
        self._told: dict[tuple[str, Tokens], tuple[float, dict[str, float]]] = {}
        """What bringing things to places promises in the plan that is being made."""

    def novelty(self, key: Key, liking: Liking) -> float:
        """Return what taking the action at the place promises to discover, in points."""
        x, action = self._x, key[1]
        promise = x.discovery_rate(action) * self._s.curiosity * liking.get(key[0], _UNHEARD).get(action, 1.0)
        # What was deadly led nowhere: what comes of it else is as unknown as before.
        led = x.tried.get(key, 0) - x.fatal.get(key, 0)
        if action in x.moves:
            return promise if led == 0 else promise * self._s.again / led**2
        if x.vain.holds(key):
            return promise * x.vain.hope(x.kind(action), key)
        promise /= x.staleness(action)
        return promise if led == 0 else promise * self._s.again / led

    def think(self, progress: Progress, liking: Liking) -> None:
        """Take note of what draws where."""
        x, bonus = self._x, self.bonus()
        self._failed = progress.failed
        self._told.clear()
        self.offers.think()
        self._wanted = self._wants(progress)
        spent: dict[str, set[str]] = {}
        for key in (*progress.tried, *progress.failed):
            if key in progress.failed or not x.vain.holds(key):
                spent.setdefault(key[0], set()).add(key[1])
        self.draws = []
        for name in x.places:
            promising = self._most_promising(name, frozenset(spent.get(name, _NONE)), liking)
            wanted = len(self._wanted.get(name, ()))
            bringable = name in x.bringing.openers or not x.bringing.all_were_at(name)
            if promising or wanted or bringable:
                promises = sorted([bonus] * wanted + [promise for promise, _ in promising], reverse=True)
                sums = tuple(itertools.accumulate(promises))
                self.draws.append(Draw(name, promising, sums))

    def _most_promising(self, name: str, spent: Tokens, liking: Liking) -> Offered:
        """Return the most promising actions of a place that were not tried yet in this episode."""
        x = self._x
        version = (x.places[name].version, x.yields.version, len(x.moves), self._s.curiosity, spent, liking.get(name))
        known = self._promising.get(name)
        if known is not None and known[0] == version:
            return known[1]
        keys = ((name, action) for action in x.places[name].possible if action not in spent)
        rated = (
            (-self.novelty(key, liking), key[1])
            for key in keys
            if x.tried.get(key, 0) <= _RETRIED or key[1] in x.moves or x.vain.holds(key)
        )
        best = heapq.nsmallest(2 * self._s.several, (item for item in rated if -item[0] >= LEAST))
        found = tuple((-negative, action) for negative, action in best)
        self._promising[name] = (version, found)
        return found

    def brings(self, place: str, have: Tokens) -> float:
        """Return what coming to a place with things that never were there promises, in points."""
        return self._bringing(place, have)[0]

    def opened(self, place: str, have: Tokens) -> dict[str, float]:
        """Return by what can be opened at a place what being there with this in hand promises once it is, in points."""
        return self._bringing(place, have)[1]

    def _bringing(self, place: str, have: Tokens) -> tuple[float, dict[str, float]]:
        found = self._told.get((place, have))
        if found is None:
            bringing, opened = self._x.bringing, dict[str, float]()
            chances = [bringing.opens_at(token, place) for token in bringing.new_at(place, have)]
            brings = self._worth((place, ""), chances)
            for feature, action in bringing.openers.get(place, {}).items():
                promise = self._worth((place, action), bringing.new_with(place, feature, have))
                if promise:
                    opened[feature] = promise
            found = self._told[(place, have)] = (brings, opened)
        return found

    def _worth(self, key: Key, chances: Iterable[float]) -> float:
        """Return what as many of the best chances as are taken on one visit promise, in points."""
        if key in self._failed:
            return 0.0
        best = sum(sorted(chances, reverse=True)[: self._s.several])
        return self._s.curiosity * best / (1.0 + self._x.missed[key]) ** 2

    def stay(self, draw: Draw, have: Tokens, see: Tokens, ahead: bool) -> Iterator[tuple[float, str, bool]]:
        """Yield what can be tried at a place with this in hand: its promise, it, and whether its effect is sought.

        What is sought comes first, then the most promising.

        Args:
            ahead: Whether there is danger ahead.
        """
        bonus, goal = self.bonus(), draw.goal
        for action, token in self._wanted.get(goal, ()):
            promise = self._use(token, have, ahead) * bonus
            if promise >= LEAST:
                yield promise, action, True
        openers = self._x.bringing.openers.get(goal, {})
        for feature, promise in self.opened(goal, have).items():
            if feature not in see and promise >= LEAST:
                yield promise, openers[feature], True
        for promise, action in draw.promising:
            yield promise, action, False

    def _wants(self, progress: Progress) -> dict[str, list[tuple[str, str]]]:
        """Return by place the actions that bring in hand what helps where one dies, or is to be carried; and what."""
        self._reckon_uses()
        found: dict[str, list[tuple[str, str]]] = {}
        here, done = self._router.here.place, frozenset((*progress.tried, *progress.failed))
        for token, sources in self._x.sources.items():
            if token not in self._helpful and token not in self._carry:
                continue
            for place, action in itertools.islice(sources, _SOURCES):
                if (place, action) not in done:
                    found.setdefault(place, []).append((action, token))
            # What brought it about by being done to it elsewhere may be possible here: a lamp can be lit anywhere.
            names = names_in(token)
            for action in dict.fromkeys(action for _, action in sources):
                wanted = (action, token) not in found.get(here, ()) and (here, action) not in progress.tried
                if wanted and action in self._router.valid and not objects(action).isdisjoint(names):
                    found.setdefault(here, []).append((action, token))
        return found

    def _reckon_uses(self) -> None:
        """Work out which things help where one dies, and what carrying things about promises."""
        x, bonus = self._x, self.bonus()
        self._helpful, self._carry = set(), {}
        scale = _CARRY * self._s.curiosity / bonus if self._s.curiosity else 0.0
        for token in x.sources:
            if "@" in token:
                continue  # how things are packed makes no new thing
            if x.dangers.helps(token):
                self._helpful.add(token)
            unknown = len(x.places) - x.bringing.places_with(token)
            carry = min(1.0, scale * x.bringing.opens(token) * min(unknown, _PLACES))
            if unknown and carry * bonus > LEAST:
                self._carry[token] = carry

    def _use(self, token: str, have: Tokens, ahead: bool) -> float:
        """Return how much of a use having it would be: none if it is there, or something as good of the same kind."""
        kind, use = token.partition("=")[0], self._of_use(token, ahead)
        same = (self._of_use(held, ahead) for held in have if held.partition("=")[0] == kind)
        return use if token not in have and use > max(same, default=0.0) else 0.0

    def _of_use(self, token: str, ahead: bool) -> float:
        return 1.0 if ahead and token in self._helpful else self._carry.get(token, 0.0)

    def bonus(self) -> float:
        """Return what having in hand what lifts a danger ahead is worth: as much as a move never taken."""
        return self._s.curiosity * self._x.discovery_rate(MOVE)

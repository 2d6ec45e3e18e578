"""What was never tried, where it could be tried, and what that promises."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from engine.values.conditions import Tokens, names_in, objects
from engine.values.experience import ALL, MOVE, Experience, Key
from engine.values.offers import LEAST, Asked, Offered, Offers, Sought
from engine.values.progress import PlannerSettings, Progress
from engine.values.routes import Router

_NONE: frozenset[str] = frozenset()
_UNHEARD: Mapping[str, float] = {}
_RETRIED = 2
"""Times that an action is tried at a place in the hope that another situation makes a difference."""
_FETCH = 0.5
"""Share of the bonus for bringing something new to a deadly place that fetching it is worth."""
_SOURCES = 4
_KEPT = 1 << 15
"""Answers kept of what bringing things to places promises."""
_PLACES = 4
"""Places where a thing never was that count for fetching it."""

Liking = Mapping[str, Mapping[str, float]]
"""By place and action, how much more a model likes it than others."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What draws to a place.

    Attributes:
        bonus: For coming there with something new in hand, because it is deadly.
        sums: The most that so many things tried there can promise together, for one, two and so on.
    """

    goal: str
    promising: Offered
    bonus: float
    sums: tuple[float, ...]
    fetch: bool = False
    _bounds: dict[int, float] = field(default_factory=dict, compare=False, repr=False)

    @property
    def most(self) -> float:
        """The most that all of it together can promise, the bonus apart."""
        return self.sums[-1] if self.sums else 0.0

    def bound(self, travel: int) -> float:
        """Return the highest rate that a detour of this length can have."""
        found = self._bounds.get(travel)
        if found is None:
            found = self._bounds[travel] = max(
                ((self.bonus + total) / (travel + count) for count, total in enumerate(self.sums, 1)),
                default=0.0,
            )
        return found


@dataclass(slots=True)
class _Rated:
    """What the actions of a place promise.

    Attributes:
        version: Of what is known of the place.
        heard: What a model thinks of them.
        spent: What will not be tried again in this episode.
        seen: How many changes of classes are taken into account.
        order: What each action that promises anything does so, negative, and the action; most first.
    """

    version: int
    heard: Mapping[str, float] | None
    spent: Tokens
    seen: int = 0
    novelty: dict[str, float] = field(default_factory=dict)
    kinds: dict[str, list[str]] = field(default_factory=dict)
    order: list[tuple[float, str]] = field(default_factory=list)
    offered: Offered = ()


class Promises:
    """Tells what is worth trying, place by place."""

    def __init__(self, experience: Experience, settings: PlannerSettings, router: Router) -> None:
        self._x = experience
        self._s = settings
        self._router = router
        self.draws: list[Draw] = []
        """What draws to each place at present."""
        self.bringable: set[str] = set()
        """Places where something never was."""
        self._wanted: dict[str, list[tuple[str, str]]] = {}
        self._anywhere: dict[str, tuple[int, tuple[str, ...]]] = {}
        """By token, of how many sources was told, and what was."""
        self._reckoned: tuple[tuple[int, ...], float, float] = ((), 0.0, 0.0)
        """What was known when it was worked out how much of a use things are."""
        self._helpful: dict[str, float] = {}
        self._carry: dict[str, float] = {}
        self._brings: dict[tuple[str, Tokens], float] = {}
        self._opened: dict[tuple[str, Tokens], dict[str, float]] = {}
        self._failed: set[Key] = set()
        self._rated: dict[str, _Rated] = {}
        self._drawn: dict[str, tuple[int, float, Draw]] = {}
        self._news: tuple[int, dict[int, Tokens]] = (0, {})
        self.offers = Offers(experience, router)
        self._uses: dict[tuple[str, Tokens, bool], float] = {}
        self._brought: tuple[int, int, float, frozenset[Key]] = (-1, 0, 0.0, frozenset())
        """What is known that `brings` and `opened` were told by."""

    def novelty(self, key: Key, liking: Liking) -> float:
        """Return what taking the action at the place promises to discover, in points."""
        rate = self._x.discovery_rate(key[1]) * self._s.curiosity
        return self._promise(key, rate, liking.get(key[0], _UNHEARD))

    def _promise(self, key: Key, rate: float, liked: Mapping[str, float]) -> float:
        """Return what taking the action at the place promises, where its class of actions promises `rate` elsewhere."""
        promise = rate * liked.get(key[1], 1.0)
        tried = self._x.tried.get(key, 0)
        # What was deadly led nowhere: what comes of it else is as unknown as before.
        led = tried - self._x.fatal.get(key, 0)
        if key[1] in self._x.moves:
            return promise if led == 0 else promise * self._s.again / led**2
        if self._x.vain.holds(key):
            return promise * self._x.vain.hope(self._x.kind(key[1]), key)
        promise /= self._x.staleness(key[1])
        return promise if led == 0 else promise * self._s.again / led

    def think(self, progress: Progress, liking: Liking) -> float:
        """Take note of what draws where; return a rate that no detour exceeds."""
        x, bonus = self._x, self.bonus()
        self._wanted = self._wants(progress)
        self._uses.clear()
        self.offers.think()
        brought = (x.bringing.version, x.misses, self._s.curiosity, frozenset(progress.failed))
        if brought != self._brought or len(self._brings) + len(self._opened) > _KEPT:
            self._brought = brought
            self._brings.clear()
            self._opened.clear()
        self._failed = progress.failed
        helpless = set(filter(x.dangers.helpless, x.dangers.deadly()))
        spent: dict[str, set[str]] = {}
        for key in (*progress.tried, *progress.failed):
            if key in progress.failed or not x.vain.holds(key):
                spent.setdefault(key[0], set()).add(key[1])
        self.draws, highest, self.bringable = [], 0.0, set()
        for name in x.places:
            promising = self._promising(name, frozenset(spent.get(name, _NONE)), liking)
            wanted = len(self._wanted.get(name, ()))
            if name in x.bringing.openers or not x.bringing.all_were_at(name):
                self.bringable.add(name)
            elif not promising and not wanted:
                continue
            self.draws.append(self._draw(name, promising, wanted, bonus, bonus if name in helpless else 0.0))
            highest = max(highest, promising[0][0] if promising else 0.0)
        top = max(map(x.bringing.most_at, self.bringable), default=0.0)
        opens = (max(top, x.bringing.opens(token)) for token in x.bringing.things)
        most = (1 + bool(x.bringing.openers)) * self._s.curiosity * self._best_of(opens)
        return highest + (bonus if self._wanted or helpless else 0.0) + most

    def brings(self, place: str, have: Tokens) -> float:
        """Return what coming to a place with things that never were there promises, in points."""
        found = self._brings.get((place, have))
        if found is None:
            x, goal = self._x, (place, "")
            new = () if goal in self._failed else x.bringing.new_at(place, have)
            opens = (x.bringing.opens_at(token, place) for token in new)
            best = self._best_of(opens) if new else 0.0
            found = self._brings[(place, have)] = self._s.curiosity * best / (1.0 + x.missed[goal]) ** 2
        return found

    def _best_of(self, chances: Iterable[float]) -> float:
        """Return the sum of as many of the best chances as are taken on one visit."""
        return sum(sorted(chances, reverse=True)[: self._s.several])

    def opened(self, place: str, have: Tokens) -> dict[str, float]:
        """Return by what can be opened at a place what being there with this in hand promises once it is, in points."""
        found = self._opened.get((place, have))
        if found is None:
            x, found = self._x, self._opened.setdefault((place, have), {})
            for feature, action in x.bringing.openers.get(place, {}).items():
                chances = x.bringing.new_with(place, feature, have)
                if chances and (place, action) not in self._failed:
                    best = self._best_of(chances)
                    found[feature] = self._s.curiosity * best / (1.0 + x.missed[(place, action)]) ** 2
        return found

    def _draw(self, name: str, promising: Offered, wanted: int, each: float, bonus: float) -> Draw:
        """Return what draws to a place; the same object as long as nothing about it changed."""
        known = self._drawn.get(name)
        if known is not None:
            draw = known[2]
            if (known[0], known[1], draw.bonus) == (wanted, each, bonus) and draw.promising is promising:
                return draw
        promises = sorted([each] * wanted + [promise for promise, _ in promising], reverse=True)
        fetch = any(token in self._carry for _, token in self._wanted.get(name, ()))
        draw = Draw(name, promising, bonus, tuple(itertools.accumulate(promises)), fetch)
        self._drawn[name] = (wanted, each, draw)
        return draw

    def _promising(self, name: str, spent: Tokens, liking: Liking) -> Offered:
        """Return the most promising actions of a place; the same object as long as nothing about them changed."""
        x, place, heard = self._x, self._x.places[name], liking.get(name)
        rated = self._rated.get(name)
        stale = self._news_since(rated.seen) if rated is not None else _NONE
        if rated is None or (rated.version, rated.heard) != (place.version, heard) or ALL in stale:
            old = rated.offered if rated is not None else ()
            rated = self._rated[name] = _Rated(place.version, heard, spent, offered=old)
            for action in place.possible:
                key = (name, action)
                if x.tried.get(key, 0) <= _RETRIED or action in x.moves or x.vain.holds(key):
                    rated.kinds.setdefault(x.kind(action), []).append(action)
            stale = frozenset(rated.kinds)
        elif rated.spent == spent and stale.isdisjoint(rated.kinds):
            rated.seen = len(x.news)
            return rated.offered
        changed = stale & rated.kinds.keys()
        for kind in changed:
            rate = x.yields.rate(kind) * self._s.curiosity
            for action in rated.kinds[kind]:
                rated.novelty[action] = self._promise((name, action), rate, heard or _UNHEARD)
        if changed:
            worth = ((-novelty, action) for action, novelty in rated.novelty.items() if novelty >= LEAST)
            rated.order = sorted(worth)
        rated.seen, rated.spent = len(x.news), spent
        best = itertools.islice((item for item in rated.order if item[1] not in spent), 2 * self._s.several)
        found = tuple((-negative, action) for negative, action in best)
        if found != rated.offered:
            rated.offered = found
        return rated.offered

    def _news_since(self, seen: int) -> Tokens:
        """Return the classes of actions about which anything is new."""
        if self._news[0] != len(self._x.news):
            self._news = (len(self._x.news), {})
        found = self._news[1].get(seen)
        if found is None:
            found = self._news[1][seen] = frozenset(self._x.news[seen:])
        return found

    def stay(self, draw: Draw, have: Tokens, see: Tokens, fetching: bool) -> Asked:
        """Return what can be tried at a place with this in hand, best first.

        Args:
            fetching: Whether there is danger ahead.
        """
        sought = self._sought_at(draw.goal, have, see, fetching, self.opened(draw.goal, have))
        return self.offers.at(draw.goal, have, see, draw.promising, sought, fetching)

    def _sought_at(
        self, goal: str, have: Tokens, see: Tokens, fetching: bool, opened: Mapping[str, float]
    ) -> Sought:
        """Return what is sought at a place with this in hand, with what it promises."""
        wanted = self._wanted.get(goal, ())
        if not wanted and not opened:
            return ()
        bonus = self.bonus()
        sought = [(action, self._use(token, have, fetching) * bonus) for action, token in wanted]
        openers = self._x.bringing.openers.get(goal, {})
        sought += [(openers[feature], promise) for feature, promise in opened.items() if feature not in see]
        return tuple((action, promise) for action, promise in sought if promise >= LEAST)

    def _wants(self, progress: Progress) -> dict[str, list[tuple[str, str]]]:
        """Return by place the actions that bring in hand what may help, or does help, where one dies; and what."""
        self._reckon_uses()
        found: dict[str, list[tuple[str, str]]] = {}
        for token, sources in self._x.sources.items():
            if not self._helpful.get(token) and token not in self._carry:
                continue
            for place, action in itertools.islice(sources, _SOURCES):
                if (place, action) not in progress.tried and (place, action) not in progress.failed:
                    found.setdefault(place, []).append((action, token))
            self._want_here(token, progress, found)
        return found

    def _reckon_uses(self) -> None:
        """Work out what having things may help with, and what carrying them about promises, unless that is known."""
        x, bonus = self._x, self.bonus()
        known = (x.dangers.changes, x.dangers.version, x.bringing.version, len(x.places), len(x.sources))
        if self._reckoned == (known, self._s.curiosity, bonus):
            return
        self._reckoned = (known, self._s.curiosity, bonus)
        self._helpful, self._carry = {}, {}
        helpless = [name for name in x.dangers.deadly() if x.dangers.helpless(name)]
        scale = _FETCH * self._s.curiosity / bonus if self._s.curiosity else 0.0
        for token in x.sources:
            if "@" in token:
                continue  # how things are packed makes no new thing
            if x.dangers.helps(token):
                self._helpful[token] = 1.0
            else:
                hopes = [
                    x.dangers.hope(name) for name in helpless if x.dangers.untested(name, frozenset((token,)))
                ]
                self._helpful[token] = _FETCH * max(hopes, default=0.0)
            unknown = len(x.places) - x.bringing.places_with(token)
            carry = min(1.0, scale * x.bringing.opens(token) * min(unknown, _PLACES))
            if unknown and carry * bonus > LEAST:
                self._carry[token] = carry

    def _want_here(self, token: str, progress: Progress, found: dict[str, list[tuple[str, str]]]) -> None:
        """Add what brought something about elsewhere and is possible here and now: a lamp can be lit anywhere."""
        place = self._router.here.place
        for action in self._anywhere_for(token):
            if (
                action in self._router.valid
                and (action, token) not in found.get(place, ())
                and (place, action) not in progress.tried
            ):
                found.setdefault(place, []).append((action, token))

    def _anywhere_for(self, token: str) -> Iterable[str]:
        """Return what brought something about by being done to it, wherever that was."""
        sources = self._x.sources[token]
        known = self._anywhere.get(token)
        if known is None or known[0] != len(sources):
            names = names_in(token)
            found = dict.fromkeys(action for _, action in sources if not objects(action).isdisjoint(names))
            known = self._anywhere[token] = (len(sources), tuple(found))
        return known[1]

    def _use(self, token: str, have: Tokens, fetching: bool) -> float:
        """Return how much of a use having it would be: none if it is there, or something as good of the same kind."""
        asked = (token, have, fetching)
        found = self._uses.get(asked)
        if found is None:
            found = self._uses[asked] = 0.0 if token in have else self._beyond(token, have, fetching)
        return found

    def _beyond(self, token: str, have: Tokens, fetching: bool) -> float:
        kind = token.partition("=")[0]
        use = self._of_use(token, fetching)
        same = (self._of_use(held, fetching) for held in have if held.partition("=")[0] == kind)
        return use if use > max(same, default=0.0) else 0.0

    def _of_use(self, token: str, fetching: bool) -> float:
        return max(self._helpful.get(token, 0.0) if fetching else 0.0, self._carry.get(token, 0.0))

    def bonus(self) -> float:
        """Return what being at a deadly place with something new is worth."""
        rate = self._x.discovery_rate(MOVE)
        return self._s.curiosity * rate

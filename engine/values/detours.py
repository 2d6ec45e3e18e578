"""Detours from a route: what was never tried, where it promises most for its length and risks least."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from engine.values.conditions import Tokens, objects
from engine.values.experience import MOVE, Experience, Key
from engine.values.routes import Imagined, PlannerSettings, Progress, Route, Router
from engine.values.ways import Way, Ways

_NONE: frozenset[str] = frozenset()
_LEAST = 0.02
"""Promises below this are none."""

WORTHWHILE = 0.2
"""Detours that promise less per step than this share of the best one are not made."""
_LOOK_AROUND = 3
"""Steps kept free for looking around where an untried move may lead."""
_STEP = 0.08
"""What a step is worth to discovery, per unit of curiosity, when it is lost."""
_RETRIED = 2
"""Times that an action is tried at a place in the hope that another situation makes a difference."""
_FETCH = 0.5
"""Share of the bonus for bringing something new to a deadly place that fetching it is worth."""
_SOURCES = 4
_NEAR = 3

Offered = tuple[tuple[float, str], ...]

Novel = Mapping[str, Offered]
"""For each place the actions that promise something there, best first."""


@dataclass(frozen=True, slots=True)
class Detour:
    """Something worth trying, and what it takes.

    Attributes:
        rate: Points promised per step, danger taken off.
        worth: Points promised, danger taken off.
        cost: Steps, the way there and back included.
        start: Steps of the route that come before it.
        actions: The way there, and the first thing to try.
        goal: Where it leads, and that first thing.
    """

    rate: float
    worth: float
    cost: float
    start: int
    actions: tuple[str, ...]
    goal: Key


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A point on a route that detours can start from, and the gains that are still to come there."""

    steps: int
    place: str
    have: Tokens
    stake: float


class _Offer(NamedTuple):
    """Something to try at a place.

    Attributes:
        loss: Share of what is at stake that trying it may cost.
        actions: It, after what makes it possible.
    """

    promise: float
    loss: float
    actions: tuple[str, ...]
    moves: bool


class Explorer:
    """Finds what is worth trying."""

    def __init__(self, experience: Experience, settings: PlannerSettings, router: Router) -> None:
        self._x = experience
        self._s = settings
        self._router = router
        self._ways = Ways(experience)
        self._wanted: dict[str, list[tuple[str, str]]] = {}
        self._helpful: dict[str, float] = {}
        self._promises: dict[str, tuple[tuple[object, ...], Offered]] = {}
        self._known: dict[tuple[str, Tokens, Tokens], tuple[Offered, int, list[_Offer]]] = {}

    def novelty(self, key: Key, liking: Mapping[Key, float]) -> float:
        """Return what taking the action at the place promises to discover, in points."""
        rate = self._x.discovery_rate(key[1], self._s.prior_yield, self._s.prior_tries)
        rate *= self._s.curiosity * liking.get(key, 1.0)
        tried = self._x.tried[key]
        if key[1] in self._x.moves:
            # A move that was deadly led nowhere: where it leads is as unknown as before.
            led = tried - self._x.fatal[key]
            return rate if led == 0 else rate * self._s.again / led**2
        if " " not in key[1] or objects(key[1]):
            # What was tried elsewhere is mostly known: things behave alike wherever they are. "Take all" is no such
            # thing: elsewhere all is something else.
            rate /= 1 + self._x.taken[key[1]]
        return rate if tried == 0 else rate * self._s.again / tried

    def novel(self, progress: Progress, liking: Mapping[Key, float]) -> Novel:
        """Return the most promising actions of each place, best first."""
        self._wanted = self._wants(progress)
        spent: dict[str, set[str]] = {}
        for name, action in (*progress.tried, *progress.failed):
            spent.setdefault(name, set()).add(action)
        found: dict[str, Offered] = {}
        for name in self._x.places:
            promising = self._promising(name, frozenset(spent.get(name, _NONE)), liking)
            if promising:
                found[name] = promising
        return found

    def _promising(self, name: str, spent: Tokens, liking: Mapping[Key, float]) -> Offered:
        """Return the most promising actions of a place; the same object as long as nothing about them changed."""
        x, place = self._x, self._x.places[name]
        likings = tuple(liking.get((name, action), 1.0) for action in place.possible) if liking else ()
        state = (place.version, x.news, spent, likings)
        known = self._promises.get(name)
        if known is not None and known[0] == state:
            return known[1]
        promising = [
            (self.novelty((name, action), liking), action)
            for action in place.possible
            if action not in spent and (x.tried[(name, action)] <= _RETRIED or action in x.moves)
        ]
        promising.sort(key=lambda item: (-item[0], item[1]))
        found = tuple(promising[: 2 * self._s.several])
        if known is not None and known[1] == found:
            found = known[1]
        self._promises[name] = (state, found)
        return found

    def price(self, steps_left: float) -> float:
        """Return the points that dying costs, known gains apart: score, and what the steps left could discover."""
        return self._router.death_cost + _STEP * self._s.curiosity * steps_left

    def most(self, novel: Novel) -> float:
        """Return a rate that no detour exceeds."""
        fetching = self._bonus() if self._wanted or any(map(self._x.helpless, self._x.deadly())) else 0.0
        return max((offers[0][0] for offers in novel.values()), default=0.0) + fetching

    def detours(self, route: Route, novel: Novel) -> list[Detour]:
        """Return the best detour to each place, those with the highest rate first."""
        bonus = self._bonus()
        deadly = set(self._x.deadly())
        until = self._last_danger(route, deadly)
        helpless = {name for name in deadly if self._x.helpless(name)}

        @functools.cache
        def most(goal: str, travel: int) -> float:
            """Return the highest rate that a detour of this length can have."""
            promises = [bonus] * len(self._wanted.get(goal, ())) + [p for p, _ in novel.get(goal, ())]
            extra = bonus if goal in helpless else 0.0
            sums = itertools.accumulate(sorted(promises, reverse=True))
            return max((extra + total) / (travel + count) for count, total in enumerate(sums, 1))

        bounded: list[tuple[float, str, list[tuple[int, _Anchor, Way, Way | None]]]] = []
        anchors = [
            (anchor, self._ways.of(anchor.place), anchor.steps < len(route.actions))
            for anchor in _anchors(route)
        ]
        for goal in dict.fromkeys((*novel, *self._wanted)):
            starts: list[tuple[int, _Anchor, Way, Way | None]] = []
            for anchor, ways, returns in anchors:
                if goal not in novel and anchor.steps > until:
                    continue
                way = ways.get(goal)
                back = self._ways.of(goal).get(anchor.place) if returns else None
                if way is None or (returns and back is None):
                    continue
                travel = way.steps + (back.steps if back is not None else 0)
                if travel + 1 <= route.left:
                    starts.append((travel, anchor, way, back))
            if starts:
                starts.sort(key=lambda start: (start[0], start[1].steps))
                bounded.append((most(goal, starts[0][0]), goal, starts))
        # What may be best first: then most of the others need not be looked at.
        bounded.sort(key=lambda item: (-item[0], item[1]))
        top, best = 0.0, dict[str, Detour]()
        for bound, goal, starts in bounded:
            if bound < WORTHWHILE * top:
                break
            extra, known = bonus if goal in helpless else 0.0, None
            safe: dict[tuple[Tokens, bool], float] = {}
            for travel, anchor, way, back in starts:
                bound = most(goal, travel)
                if bound < WORTHWHILE * top or (known is not None and bound <= known.rate):
                    break
                fetching = anchor.steps <= until
                stake = safe.get((anchor.have, fetching))
                if stake is not None and stake <= anchor.stake:
                    continue  # nearer to another point that has the same in hand, and no more at stake
                if not way.deadly and not (back is not None and back.deadly):
                    safe[(anchor.have, fetching)] = anchor.stake
                detour = self._detour(route, anchor, goal, way, back, novel.get(goal, ()), extra, fetching)
                if detour is not None and (known is None or detour.rate > known.rate):
                    best[goal] = known = detour
                    top = max(top, detour.rate)
        return sorted(best.values(), key=lambda detour: -detour.rate)

    def _detour(
        self,
        route: Route,
        anchor: _Anchor,
        goal: str,
        way: Way,
        back: Way | None,
        promising: Offered,
        bonus: float,
        fetching: bool,
    ) -> Detour | None:
        """Return the best detour from an anchor to a place, None if none is worth its danger."""
        x, have = self._x, anchor.have
        world = self._router.world_at(route, anchor.steps)
        see = self._router.look(world, goal, have)
        arrives = alive = 1.0
        for key in way.deadly:
            arrives *= 1.0 - self._danger(world, key, have)
        for key in back.deadly if back is not None else ():
            alive *= 1.0 - self._danger(world, key, have)
        alive *= arrives
        # Dying costs what was still to be gained, and what the steps left could have discovered.
        price = anchor.stake + self.price(route.left)
        context = have | see
        leaving = self._x.hazard(goal, context, moving=True) * price
        staying = self._x.hazard(goal, context, moving=False) * price
        total = -(1.0 - alive) * price
        if bonus:
            total += arrives * bonus * x.hope(goal) * (1.0 - 0.5 ** x.untested(goal, have))
        travel = way.steps + (back.steps if back is not None else 0)
        count, cost = 0, travel
        first: tuple[str, ...] = ()
        returns = back is not None
        best: Detour | None = None
        for offer in self._offers(goal, have, see, promising, fetching):
            promise = (
                arrives * offer.promise - anchor.stake * offer.loss - (leaving if offer.moves else staying)
            )
            if promise < _LEAST:
                continue
            first = first or offer.actions
            total += promise
            count += 1
            cost += len(offer.actions)
            if offer.moves:
                cost += _LOOK_AROUND + returns  # a move has to be taken back
            if cost > route.left:
                break
            if best is None or total / cost > best.rate:
                best = Detour(
                    total / cost,
                    total * route.alive,
                    cost,
                    anchor.steps,
                    (*way.actions, *first),
                    (goal, first[-1]),
                )
            if count >= self._s.several:
                break
        return best if best is not None and best.worth > 0 else None

    def _offers(
        self, goal: str, have: Tokens, see: Tokens, promising: Offered, fetching: bool
    ) -> list[_Offer]:
        """Return what can be tried at a place with this in hand, best first."""
        fetched: list[_Offer] = []
        for action, token in self._wanted.get(goal, ()) if fetching else ():
            use = self._use(token, have)
            opened = self._router.enable(Imagined(goal, have, {goal: see}), action, 2) if use else None
            if opened is not None:
                if not self._router.is_here(goal, have, see):
                    after = opened[1]
                    use *= self._chance(goal, after.have | after.world.get(goal, see), action)
                if use * self._bonus() >= _LEAST:
                    fetched.append(_Offer(use * self._bonus(), 0.0, (*opened[0], action), False))
        x = self._x
        here = self._router.is_here(goal, have, see)
        key, version = (goal, have, see), x.places[goal].version
        known = self._known.get(key)
        if known is not None and known[0] is promising and known[1] == version and not here:
            return [*fetched, *known[2]] if fetched else known[2]
        context, words = have | see, _words(have)
        found: list[_Offer] = []
        for promise, action in promising:
            helpers: tuple[str, ...] = ()
            then = context
            if here or x.missing((goal, action), context):
                opened = self._router.enable(Imagined(goal, have, {goal: see}), action, 2)
                if opened is None:
                    continue
                helpers, after = opened
                then = after.have | after.world.get(goal, see)
            alike = x.died_alike((goal, action), then) if x.fatal[(goal, action)] else 0
            promise /= 1.0 + alike
            # Dying elsewise (in the dark, and now there is light) tells nothing of where a move leads.
            elsewise = x.fatal[(goal, action)] if action in x.moves and not alike else 0
            if x.tried[(goal, action)] > elsewise:
                outcome = x.outcome((goal, action), then)
                promise *= 1.0 - outcome.similarity if outcome else 1.0
            if not here:
                promise *= self._chance(goal, then, action)
            if promise < _LEAST:
                continue
            names = bool(words) and not words.isdisjoint(action.split())
            loss = x.loss_rate(action) / len(have) if names else 0.0
            found.append(_Offer(promise, loss, (*helpers, action), action in x.moves))
        if not here:
            self._known[key] = (promising, version, found)
        return [*fetched, *found] if fetched else found

    def _chance(self, goal: str, context: Tokens, action: str) -> float:
        """Return how likely the action will be possible at a place, by what it needs and how often it was not."""
        missed = self._x.missed[(goal, action)]
        return self._x.places[goal].possible.chance(action, context) / (1.0 + missed) ** 2

    def _wants(self, progress: Progress) -> dict[str, list[tuple[str, str]]]:
        """Return by place the actions that bring in hand what may help, or does help, where one dies; and what."""
        x, found = self._x, dict[str, list[tuple[str, str]]]()
        deadly = x.deadly()
        self._helpful = {}
        helpless = [name for name in deadly if x.helpless(name)]
        for token, sources in x.sources.items() if deadly else ():
            if "@" in token:
                continue  # how things are packed makes no new thing
            if any(x.protects(name, token) for name in deadly):
                self._helpful[token] = 1.0
            else:
                hopes = [x.hope(name) for name in helpless if x.untested(name, frozenset((token,)))]
                if not hopes:
                    continue
                self._helpful[token] = _FETCH * max(hopes)
            for place, action in list(sources)[:_SOURCES]:
                if not progress.tried[(place, action)] and (place, action) not in progress.failed:
                    found.setdefault(place, []).append((action, token))
        return found

    def _use(self, token: str, have: Tokens) -> float:
        """Return how much of a use having it would be: none if it is there, or something as good of the same kind."""
        if token in have:
            return 0.0
        use, kind = self._helpful[token], token.partition("=")[0]
        same = (self._helpful.get(held, 0.0) for held in have if held.partition("=")[0] == kind)
        return use if use > max(same, default=0.0) else 0.0

    def _last_danger(self, route: Route, deadly: set[str]) -> int:
        """Return after how many steps a route is at a deadly place for the last time; -1 if it never is."""
        near = self._ways.of(route.at.place)
        if any(name in near and near[name].steps <= _NEAR for name in deadly):
            return len(route.actions)
        return max((steps for steps, place, _ in route.marks if place in deadly), default=-1)

    def _danger(self, world: Mapping[str, Tokens], key: Key, have: Tokens) -> float:
        """Return the probability of dying of a known move with this in hand."""
        outcome = self._x.outcome(key, have | self._router.look(world, key[0], have))
        return (
            outcome.death
            if outcome is not None
            else self._x.hazard(key[0], have | self._router.look(world, key[0], have), moving=True)
        )

    def _bonus(self) -> float:
        """Return what being at a deadly place with something new is worth."""
        rate = self._x.discovery_rate(MOVE, self._s.prior_yield, self._s.prior_tries)
        return self._s.curiosity * rate


def _anchors(route: Route) -> list[_Anchor]:
    """Return where a route comes to each place first and last, and its end."""
    marks = [*route.marks, (len(route.actions), route.at.place, route.at.have)]
    first: dict[str, tuple[int, str, Tokens]] = {}
    last: dict[str, tuple[int, str, Tokens]] = {}
    for mark in marks:
        first.setdefault(mark[1], mark)
        last[mark[1]] = mark
    chosen = {mark[:2]: mark for mark in (*first.values(), *last.values())}
    return [
        _Anchor(steps, place, have, sum(points for when, points in route.earned if when > steps))
        for steps, place, have in sorted(chosen.values(), key=lambda mark: mark[:2])
    ]


@functools.lru_cache(maxsize=4096)
def _words(have: Tokens) -> frozenset[str]:
    """Return the words that name what is carried."""
    return frozenset(word for token in have for word in token.partition(":")[2].split())

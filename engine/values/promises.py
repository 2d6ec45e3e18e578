"""What was never tried, where it could be tried, and what that promises."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from engine.settings.planning import PlanNumbers
from engine.values.effects import Key
from engine.values.memo import Memo
from engine.values.model import MOVE, Model
from engine.values.paths import Paths
from engine.values.text import Tokens, names_in, objects, union
from engine.values.ways import Way

_UNHEARD: Mapping[str, float] = {}
Offered = tuple[tuple[float, str], ...]
"""Actions that promise something at a place, with that, best first."""


@dataclass(frozen=True, slots=True)
class Draw:
    """What draws to a place.

    Attributes:
        bonus: For coming there with something new in hand, because it is deadly and nothing is known to help.
        sums: The most that so many things tried there can promise together, for one, two and so on.
    """

    goal: str
    promising: Offered
    bonus: float
    sums: tuple[float, ...]
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


class Promises:
    """Tells what is worth trying, place by place, for one task.

    Args:
        memo: Answers that hold for other tasks, too.

    Attributes:
        draws: What draws to each place.
    """

    def __init__(
        self, model: Model, numbers: PlanNumbers, paths: Paths, memo: Memo[object, Offered] | None = None
    ) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths
        self._curiosity = paths.task.curiosity
        self._memo: Memo[object, Offered] = memo if memo is not None else Memo()
        self._told: dict[tuple[str, Tokens], tuple[float, dict[str, float]]] = {}
        self._helpful: dict[str, float] = {}
        self._carry: dict[str, float] = {}
        self._wanted = self._wants()
        self.draws = self._draws()

    def _draws(self) -> list[Draw]:
        m, bonus, progress = self._m, self.bonus(), self._paths.task.progress
        spent: dict[str, set[str]] = {}
        for place, action in (*progress.tried, *progress.failed):
            if (place, action) not in progress.failed and m.vain.holds((place, action)):
                continue
            spent.setdefault(place, set()).add(action)
        found, helpless = list[Draw](), set(m.hazards.helpless())
        for name in m.places:
            promising = self._most_promising(name, frozenset(spent.get(name, ())))
            wanted = len(self._wanted.get(name, ()))
            if promising or wanted or name in m.bringing.openers or not m.bringing.all_were_at(name):
                promises = sorted([bonus] * wanted + [promise for promise, _ in promising], reverse=True)
                sums = tuple(itertools.accumulate(promises))
                found.append(Draw(name, promising, bonus if name in helpless else 0.0, sums))
        return found

    def _most_promising(self, name: str, spent: Tokens) -> Offered:
        """Return the most promising actions of a place that were not tried yet in this episode."""
        m, place, liked = self._m, self._m.places[name], self._paths.task.liking.get(name, _UNHEARD)

        def best() -> Offered:
            rated = list[tuple[float, str]]()
            for action in place.possible:
                key = (name, action)
                again = m.tried[key] <= self._n.retried or action in m.moves or m.vain.holds(key)
                if again and action not in spent:
                    promise = novelty(m, self._n, key, self._curiosity, liked)
                    if promise >= self._n.least:
                        rated.append((-promise, action))
            return tuple((-negative, action) for negative, action in heapq.nsmallest(2 * self._n.several, rated))

        version = (m.yields.version, m.vain.version, len(m.moves), self._curiosity)
        return self._memo.find(version, (name, place.version, spent, tuple(liked.items())), best)

    def shut_ways(self, ways: Mapping[str, Way]) -> list[Key]:
        """Return the shut ways that one comes to first on the way to what promises most for its distance.

        Args:
            ways: The ways from here.
        """
        paths, best = self._paths, dict[Key, float]()
        world, have = paths.task.now.world, paths.here.have

        def is_shut(key: Key) -> bool:
            needs = self._m.places[key[0]].possible.missing(key[1], union(have, paths.look(world, key[0], have)))
            return bool(needs) or key in paths.task.progress.barred

        for draw in self.draws:
            way = ways.get(draw.goal)
            if way is not None and draw.promising:
                first = next(filter(is_shut, way.moves), None)
                if first is not None:
                    best[first] = max(best.get(first, 0.0), draw.bound(way.steps))
        return sorted(best, key=lambda key: (-best[key], key))[: self._n.shut_ways]

    def brings(self, place: str, have: Tokens) -> float:
        """Return what coming to a place with things that never were there promises, in points."""
        return self._bringing(place, have)[0]

    def opened(self, place: str, have: Tokens) -> dict[str, float]:
        """Return by what can be opened at a place what being there with this in hand promises once it is, in points."""
        return self._bringing(place, have)[1]

    def _bringing(self, place: str, have: Tokens) -> tuple[float, dict[str, float]]:
        found = self._told.get((place, have))
        if found is None:
            bringing, opened = self._m.bringing, dict[str, float]()
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
        if key in self._paths.task.progress.failed:
            return 0.0
        best = sum(sorted(chances, reverse=True)[: self._n.several])
        return self._curiosity * best / (1.0 + self._m.missed[key]) ** 2

    def stay(self, draw: Draw, have: Tokens, see: Tokens, ahead: bool) -> Iterator[tuple[float, str, bool]]:
        """Yield what can be tried at a place with this in hand: its promise, it, and whether its effect is sought.

        What is sought comes first, then the most promising.

        Args:
            ahead: Whether there is danger ahead.
        """
        bonus, goal = self.bonus(), draw.goal
        for action, token in self._wanted.get(goal, ()):
            promise = self._use(token, have, ahead) * bonus
            if promise >= self._n.least:
                yield promise, action, True
        openers = self._m.bringing.openers.get(goal, {})
        for feature, promise in self.opened(goal, have).items():
            if feature not in see and promise >= self._n.least:
                yield promise, openers[feature], True
        for promise, action in draw.promising:
            yield promise, action, False

    def _wants(self) -> dict[str, list[tuple[str, str]]]:
        """Return by place the actions that bring in hand what helps or may help where one dies, or is to be carried."""
        self._reckon_uses()
        found: dict[str, list[tuple[str, str]]] = {}
        task = self._paths.task
        here, progress = task.now.place, task.progress
        done = frozenset((*progress.tried, *progress.failed))
        for token, sources in self._m.sources.items():
            if not self._helpful.get(token) and token not in self._carry:
                continue
            for place, action in itertools.islice(sources, self._n.sources):
                if (place, action) not in done:
                    found.setdefault(place, []).append((action, token))
            # What brought it about by being done to it elsewhere may be possible here: a lamp can be lit anywhere.
            names = names_in(token)
            for action in dict.fromkeys(action for _, action in sources):
                wanted = (action, token) not in found.get(here, ()) and (here, action) not in progress.tried
                if wanted and action in task.valid and not objects(action).isdisjoint(names):
                    found.setdefault(here, []).append((action, token))
        return found

    def _reckon_uses(self) -> None:
        """Work out which things help where one dies, and what carrying things about promises."""
        m, bonus = self._m, self.bonus()
        self._helpful, self._carry, helpless = {}, {}, m.hazards.helpless()
        scale = self._n.carry * self._curiosity / bonus if self._curiosity else 0.0
        for token in m.sources:
            if "@" in token:
                continue  # how things are packed makes no new thing
            if m.hazards.helps(token):
                self._helpful[token] = 1.0
            else:  # what was never there may help
                thing = frozenset((token,))
                hopes = (m.hazards.hope(name) for name in helpless if m.hazards.untested(name, thing))
                self._helpful[token] = self._n.fetch * max(hopes, default=0.0)
            unknown = len(m.places) - m.bringing.places_with(token)
            carry = min(1.0, scale * m.bringing.opens(token) * min(unknown, self._n.carry_places))
            if unknown and carry * bonus > self._n.least:
                self._carry[token] = carry

    def _use(self, token: str, have: Tokens, ahead: bool) -> float:
        """Return how much of a use having it would be: none if it is there, or something as good of the same kind."""
        kind, use = token.partition("=")[0], self._of_use(token, ahead)
        same = (self._of_use(held, ahead) for held in have if held.partition("=")[0] == kind)
        return use if token not in have and use > max(same, default=0.0) else 0.0

    def _of_use(self, token: str, ahead: bool) -> float:
        return max(self._helpful.get(token, 0.0) if ahead else 0.0, self._carry.get(token, 0.0))

    def bonus(self) -> float:
        """Return what having in hand what lifts a danger ahead is worth: as much as a move never taken."""
        return self._curiosity * self._m.discovery_rate(MOVE)


def novelty(
    model: Model, numbers: PlanNumbers, key: Key, curiosity: float, liked: Mapping[str, float] = _UNHEARD
) -> float:
    """Return what taking an action at a place promises to discover, in points.

    Args:
        curiosity: Factor on what discoveries are worth.
        liked: By action, a factor from a model's opinion.
    """
    action = key[1]
    promise = model.discovery_rate(action) * curiosity * liked.get(action, 1.0)
    # What was deadly led nowhere: what comes of it else is as unknown as before.
    led = model.tried.get(key, 0) - model.fatal.get(key, 0)
    if action in model.moves:
        return promise if led == 0 else promise * numbers.again / led**2
    if model.vain.holds(key):
        return promise * model.vain.hope(model.kind(action), key)
    promise /= model.staleness(action)
    return promise if led == 0 else promise * numbers.again / led

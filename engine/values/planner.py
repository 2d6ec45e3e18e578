"""Plans through what is remembered: known gains and untried actions that can be reached in the steps left.

A plan is a sequence of goals. Each is an action at a place, either one that gained points before (and not
yet in this episode) or one never tried there; it is worth what it gained, or what trying such actions has
yielded so far. Goals are joined by the shortest known ways and by known actions that make them possible.
A beam search keeps the best sequences, by value against the risk of dying on the way.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.values.experience import Experience, Key, Tokens


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """How far and how wide plans are searched.

    Attributes:
        curiosity: Factor on what discoveries are worth; 0 only repeats known gains.
        death_cost: Points that dying costs beyond what the rest of the plan is worth.
        prior_yield: Points expected of trying a class of actions never tried before.
        prior_tries: How many tries that expectation is worth.
        again: Share of novelty that an action keeps which was tried here in another situation.
        overhead: Steps added to the length of a leg when legs are compared by points per step.
        beam: Sequences kept after each goal.
        width: Goals considered from each.
        depth: Goals in a sequence at most.
    """

    curiosity: float = 1.0
    death_cost: float = 8.0
    prior_yield: float = 2.0
    prior_tries: float = 2.0
    again: float = 0.3
    overhead: float = 2.0
    beam: int = 8
    width: int = 6
    depth: int = 8


@dataclass(slots=True)
class Progress:
    """What this episode has done so far.

    Attributes:
        world: What was last seen at each place visited.
        gained: Where points were gained already.
        tried: How often each action was taken at each place.
        failed: Goals that turned out to be impossible.
    """

    world: dict[str, Tokens] = field(default_factory=dict)
    gained: set[Key] = field(default_factory=set)
    tried: Counter[Key] = field(default_factory=Counter)
    failed: set[Key] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do, and what it is worth.

    Attributes:
        value: Points expected, discoveries included.
        known: The part of it that repeats known gains.
        actions: All of them, first one first.
    """

    value: float
    known: float
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imagined:
    """A situation the planner thinks itself into."""

    place: str
    have: Tokens
    world: Mapping[str, Tokens]


@dataclass(frozen=True, slots=True)
class _Sequence:
    value: float
    known: float
    left: float
    at: Imagined
    gained: frozenset[Key]
    tried: frozenset[Key]
    alive: float
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Reached:
    cost: float
    before: str | None
    actions: tuple[str, ...]
    alive: float
    at: Imagined


class Planner:
    """Searches plans in an experience."""

    def __init__(self, experience: Experience, settings: PlannerSettings) -> None:
        self._x = experience
        self._s = settings

    def plan(self, now: Imagined, steps_left: int, progress: Progress, liking: Mapping[Key, float]) -> Plan:
        """Return the best plan found; without any, one with no actions.

        Args:
            now: Where the episode stands.
            liking: Factor on the novelty of an action at a place, from the model's opinion; 1 if absent.
        """
        novel = self._novel(progress, liking)
        start = _Sequence(0.0, 0.0, float(steps_left), now, frozenset(progress.gained), frozenset(), 1.0, ())
        best, beam = start, [start]
        for _ in range(self._s.depth):
            longer = [following for sequence in beam for following in self._extend(sequence, novel, progress)]
            if not longer:
                break
            longer.sort(key=lambda sequence: -sequence.value)
            beam = longer[: self._s.beam]
            if beam[0].value > best.value + 1e-9:
                best = beam[0]
        return Plan(best.value, best.known, best.actions)

    def imagine(self, at: Imagined, action: str) -> Imagined | None:
        """Return the situation expected after `action`, None if it was never taken at this place."""
        done = self._do(at, action)
        return done[0] if done else None

    def novelty(self, key: Key, liking: Mapping[Key, float]) -> float:
        """Return what taking the action at the place promises to discover, in points."""
        rate = self._x.discovery_rate(key[1], self._s.prior_yield, self._s.prior_tries)
        rate *= self._s.curiosity * liking.get(key, 1.0)
        tried = self._x.tried[key]
        return rate if tried == 0 else rate * self._s.again / tried

    # ---------------------------------------------------------------------------------------- goals

    def _novel(self, progress: Progress, liking: Mapping[Key, float]) -> dict[str, list[tuple[float, str]]]:
        """Return the most promising actions of each place, best first."""
        found = {}
        for name, place in self._x.places.items():
            promising = [
                (self.novelty((name, action), liking), action)
                for action in place.possible
                if not progress.tried[(name, action)]
                and (not self._x.tried[(name, action)] or action in self._x.moves)
            ]
            promising.sort(key=lambda item: (-item[0], item[1]))
            found[name] = promising[:6]
        return found

    def _extend(
        self, sequence: _Sequence, novel: Mapping[str, list[tuple[float, str]]], progress: Progress
    ) -> list[_Sequence]:
        """Return `sequence` with each of the best next goals added."""
        reached = self._reach(sequence.at, sequence.left)
        rated: list[tuple[float, _Sequence]] = []
        for key, gain in self._x.gains.items():
            place, action = key
            way = reached.get(place)
            if (
                way is None
                or key in sequence.gained
                or key in progress.failed
                or way.cost + 1 > sequence.left
            ):
                continue
            enabled = self._enable(way.at, action, 2)
            done = self._do(enabled[1], action) if enabled else None
            if enabled is None or done is None:
                continue
            cost = way.cost + len(enabled[0]) + done[1]
            if cost > sequence.left:
                continue
            alive = sequence.alive * way.alive * (1.0 - done[2])
            value = gain * alive - self._s.death_cost * (sequence.alive - alive)
            following = _Sequence(
                sequence.value + value,
                sequence.known + gain * alive,
                sequence.left - cost,
                done[0],
                sequence.gained | {key},
                sequence.tried,
                alive,
                (*sequence.actions, *_way(reached, place), *enabled[0], action),
            )
            rated.append((value / (cost + self._s.overhead), following))
        for place, way in reached.items():
            if way.cost + 1 > sequence.left:
                continue
            context = way.at.have | self._look(way.at.world, place)
            for promise, action in novel.get(place, ()):
                key = (place, action)
                if key in sequence.tried or not self._x.needs(key) <= context:
                    continue
                if self._x.tried[key]:
                    outcome = self._x.outcome(key, context)
                    promise *= 1.0 - outcome.similarity if outcome else 1.0
                if promise < 0.02:
                    continue
                alive = sequence.alive * way.alive * (1.0 - self._x.hazard(place))
                value = promise * alive - self._s.death_cost * (sequence.alive - alive)
                following = _Sequence(
                    sequence.value + value,
                    sequence.known,
                    sequence.left - way.cost - 1,
                    way.at,
                    sequence.gained,
                    sequence.tried | {key},
                    alive,
                    (*sequence.actions, *_way(reached, place), action),
                )
                rated.append((value / (way.cost + 1 + self._s.overhead), following))
                break
        rated.sort(key=lambda item: -item[0])
        return [following for _, following in rated[: self._s.width]]

    # ----------------------------------------------------------------------------------------- ways

    def _reach(self, at: Imagined, steps: float) -> dict[str, _Reached]:
        """Return the places that known moves lead to, by the cheapest way (Dijkstra; risk costs steps)."""
        x = self._x
        reached = {at.place: _Reached(0.0, None, (), 1.0, at)}
        queue, settled = [(0.0, at.place)], set()
        while queue:
            cost, name = heapq.heappop(queue)
            if name in settled:
                continue
            settled.add(name)
            place = x.places.get(name)
            if place is None:
                continue
            here = reached[name]
            for action in place.possible:
                key = (name, action)
                if action not in x.moves or not x.known(key) or x.destination(key) in settled:
                    continue
                opening = self._enable(here.at, action, 1)
                if opening is None:
                    continue
                ready = opening[1]
                outcome = x.outcome(key, ready.have | self._look(ready.world, name))
                if outcome is None or not outcome.occasion.moved or outcome.death > 0.98:
                    continue
                there = outcome.occasion.place
                total = (
                    cost + len(opening[0]) + 1.0 / outcome.success + 2.0 * self._s.death_cost * outcome.death
                )
                if there in settled or total > steps or (there in reached and reached[there].cost <= total):
                    continue
                reached[there] = _Reached(
                    total,
                    name,
                    (*opening[0], action),
                    here.alive * (1.0 - outcome.death),
                    Imagined(there, ready.have, ready.world),
                )
                heapq.heappush(queue, (total, there))
        return reached

    def _enable(self, at: Imagined, action: str, depth: int) -> tuple[tuple[str, ...], Imagined] | None:
        """Return known actions at this place that make `action` possible, and the situation after them."""
        x = self._x
        needs = x.needs((at.place, action))
        if not needs:
            return (), at
        needed = needs - at.have - self._look(at.world, at.place)
        if not needed:
            return (), at
        if depth == 0:
            return None
        for helper in x.places[at.place].possible:
            if helper == action or helper in x.moves or not x.helps((at.place, helper), needed):
                continue
            before = self._enable(at, helper, depth - 1)
            done = self._do(before[1], helper) if before else None
            if before is None or done is None:
                continue
            after = self._enable(done[0], action, depth - 1)
            if after is not None:
                return (*before[0], helper, *after[0]), after[1]
        return None

    def _do(self, at: Imagined, action: str) -> tuple[Imagined, float, float] | None:
        """Return the situation after `action`, its expected number of tries, and the risk of dying."""
        see = self._look(at.world, at.place)
        outcome = self._x.outcome((at.place, action), at.have | see)
        if outcome is None or (outcome.occasion.ended and outcome.death > 0.9):
            return None
        did = outcome.occasion
        have = (at.have - did.lost) | did.gained
        tries = 1.0 / max(outcome.success, 0.15)
        if did.moved:
            return Imagined(did.place, have, at.world), tries, outcome.death
        world = {**at.world, at.place: (see - did.vanished) | did.appeared}
        return Imagined(at.place, have, world), tries, outcome.death

    def _look(self, world: Mapping[str, Tokens], place: str) -> Tokens:
        seen = world.get(place)
        if seen is not None:
            return seen
        known = self._x.places.get(place)
        return known.seen_first if known else frozenset()


def _way(reached: Mapping[str, _Reached], place: str) -> tuple[str, ...]:
    actions: list[str] = []
    at: str | None = place
    while at is not None and reached[at].before is not None:
        actions.extend(reversed(reached[at].actions))
        at = reached[at].before
    return tuple(reversed(actions))

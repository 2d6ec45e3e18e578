"""Paths through the model: what a plan is made for, how actions become possible, and the cheapest ways to places.

`Task` says where an episode stands. `Paths` answers questions for one task: how an action can be made possible, what is
expected after it, and which places can be reached at what cost and risk.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.effects import Key
from engine.values.memo import Memo
from engine.values.model import Model
from engine.values.text import Situation, Tokens, union

Liking = Mapping[str, Mapping[str, float]]
"""By place and action, a factor on what it promises, from a model's opinion; 1 if absent."""


class Imagined(NamedTuple):
    """A situation in a plan: place, what is carried, and what all places visited look like."""

    place: str
    have: Tokens
    world: Mapping[str, Tokens]


@dataclass(slots=True)
class Progress:
    """What this episode has done so far.

    Attributes:
        world: What was last seen at each place visited.
        gained: Where points were gained already.
        tried: How often each action was taken at each place.
        failed: Goals that turned out to be impossible.
        idle: How often each action did nothing.
        barred: Moves that memory has and that were not possible when last there.
        checked: How often they were found to be so.
        planned: How often a plan for this goal was made in this situation.
    """

    world: dict[str, Tokens] = field(default_factory=dict)
    gained: set[Key] = field(default_factory=set)
    tried: Counter[Key] = field(default_factory=Counter)
    failed: set[Key] = field(default_factory=set)
    idle: Counter[Key] = field(default_factory=Counter)
    barred: set[Key] = field(default_factory=set)
    checked: Counter[Key] = field(default_factory=Counter)
    planned: Counter[tuple[Situation, Key]] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class Task:
    """What a plan is made for.

    Attributes:
        now: Where the episode stands.
        steps: Steps left.
        valid: What can be done here and now; empty if that is not known.
        curiosity: Factor on what discoveries are worth at present; 0 only repeats known gains.
        to_gain: Points until the maximum score, None if there is none.
    """

    now: Imagined
    steps: int
    progress: Progress
    valid: frozenset[str] = frozenset()
    curiosity: float = 1.0
    liking: Liking = field(default_factory=dict)
    to_gain: float | None = None


@dataclass(frozen=True, slots=True)
class Route:
    """Steps to known gains.

    Attributes:
        at: Where it ends.
        left: Steps left there.
        value: Points expected.
        alive: Probability of coming to the end as expected.
        gained: Where points were gained by then, before the route included.
        marks: (number of steps taken, place, what is carried) along it.
        earned: (number of steps taken, points expected) for each gain.
        faithful: Whether it counts on luck that falls as before, so that nothing else may be done on it.
    """

    at: Imagined
    left: float
    value: float = 0.0
    alive: float = 1.0
    actions: tuple[str, ...] = ()
    gained: frozenset[Key] = frozenset()
    marks: tuple[tuple[int, str, Tokens], ...] = ()
    earned: tuple[tuple[int, float], ...] = ()
    faithful: bool = False

    @property
    def goal(self) -> Key:
        """Where the last step of it is taken, and that step."""
        before = [place for steps, place, _ in self.marks if steps < len(self.actions)]
        return (before[-1], self.actions[-1]) if self.actions and before else ("", "")


class Reached(NamedTuple):
    """The cheapest known way to a place.

    Attributes:
        cost: Steps to it; danger and doubt cost steps, too.
        before: The place before it, None at the beginning.
        actions: What is done there to come here.
        alive: Probability of coming here alive.
        at: The situation then.
        sure: Probability that all of it is possible.
    """

    cost: float
    before: str | None
    actions: tuple[str, ...]
    alive: float
    at: Imagined
    sure: float = 1.0


class Enabled(NamedTuple):
    """How an action becomes possible at a place.

    Attributes:
        actions: What makes it possible.
        have: What is carried after that.
        see: What is seen at the place after that.
        sure: Probability that all of these, and the action itself, are possible.
    """

    actions: tuple[str, ...]
    have: Tokens
    see: Tokens
    sure: float

    def after(self, at: Imagined) -> Imagined:
        """Return the situation after that, where this is the one before it."""
        return Imagined(at.place, self.have, {**at.world, at.place: self.see}) if self.actions else at


EnabledMemo = Memo[tuple[object, ...], Enabled | None]


class Paths:
    """Answers for one task.

    Args:
        memo: Answers that hold for other tasks, too.
    """

    def __init__(self, model: Model, numbers: PlanNumbers, task: Task, memo: EnabledMemo | None = None) -> None:
        self._m = model
        self._n = numbers
        self.task = task
        now = task.now
        self.here = Situation(now.place, now.have, self.look(now.world, now.place, now.have))
        self._memo: EnabledMemo = memo if memo is not None else Memo(1 << 15)
        self._reached: dict[object, tuple[float, dict[str, Reached]]] = {}

    @property
    def death_cost(self) -> float:
        """Points that dying costs: what the score loses by it, and the rest of the episode."""
        return self._n.death_cost + self._m.death_loss

    def price(self, steps: float) -> float:
        """Return the points that dying costs, known gains apart: score, and what so many steps could discover."""
        return self.death_cost + self._n.step_value * self.task.curiosity * steps

    def is_here(self, place: str, have: Tokens, see: Tokens) -> bool:
        """Return whether that is the present situation."""
        return (place, have, see) == self.here

    def look(self, world: Mapping[str, Tokens], place: str, have: Tokens) -> Tokens:
        """Return what is expected to be seen at a place: what was seen last, unless with a light that is gone."""
        seen = world.get(place)
        if seen is None:
            return self._m.view(place, have)
        return seen if place == self.task.now.place else self._m.relit(place, have, seen)

    # ----------------------------------------------------------------------------------------- actions

    def enable(self, at: Imagined, action: str, depth: int) -> Enabled | None:
        """Return how `action` becomes possible at this place by known actions; None if it does not."""
        return self._enabling(at.place, at.have, self.look(at.world, at.place, at.have), action, depth)

    def _enabling(self, place: str, have: Tokens, see: Tokens, action: str, depth: int) -> Enabled | None:
        m, here = self._m, self.is_here(place, have, see)
        if here and action in self.task.valid:
            return Enabled((), have, see, 1.0)
        possible = m.places[place].possible
        needed = possible.missing(action, union(have, see))
        if not needed:
            chance = 0.0 if here else possible.chance(action, union(have, see))
            # Where it hardly ever was possible with all that, something is missing that nobody knows.
            return Enabled((), have, see, chance) if chance > self._n.hopeless else None
        if depth == 0:
            return None
        # The same is asked thousands of times between two changes at a place.
        valid = self.task.valid if place == self.here.place else None
        key = (place, m.places[place].version, len(m.moves), valid, action, depth, have, see)
        return self._memo.find(None, key, lambda: self._helped(place, have, see, action, depth, needed))

    def _helped(
        self, place: str, have: Tokens, see: Tokens, action: str, depth: int, needed: Tokens
    ) -> Enabled | None:
        """Return how an action becomes possible by actions that make what it needs, each made possible first."""
        for helper in self._m.places[place].makers.helpers(needed, union(have, see), 2 * depth - 2):
            if helper == action:
                continue
            before = self._enabling(place, have, see, helper, depth - 1)
            if before is None:
                continue
            done = self.do(Imagined(place, before.have, {place: before.see}), helper)
            if done is None or done[0].place != place:
                continue
            after = self._enabling(place, done[0].have, done[0].world[place], action, depth - 1)
            if after is not None:
                actions = (*before.actions, helper, *after.actions)
                return Enabled(actions, after.have, after.see, before.sure * after.sure)
        return None

    def do(self, at: Imagined, action: str) -> tuple[Imagined, float, float] | None:
        """Return the situation after `action`, its expected number of tries, and the risk of dying."""
        see = self.look(at.world, at.place, at.have)
        outcome = self._m.outcome((at.place, action), union(at.have, see))
        if outcome is None or (outcome.occasion.terminated and outcome.death > self._n.certain):
            return None
        did = outcome.occasion
        have = (at.have - did.lost) | did.gained
        tries = 1.0 / max(outcome.success, self._n.least_success)
        if did.moved:
            return Imagined(did.place, have, at.world), tries, outcome.death
        world = {**at.world, at.place: (see - did.vanished) | did.appeared}
        return Imagined(at.place, have, world), tries, outcome.death

    # ----------------------------------------------------------------------------------------- ways

    def reach(self, at: Imagined, steps: float) -> dict[str, Reached]:
        """Return the places that known moves lead to, by the cheapest way, within so many steps or more."""
        key = (at.place, at.have, frozenset(at.world.items()))
        known = self._reached.get(key)
        if known is None or known[0] < steps:
            known = self._reached[key] = (steps, self._search(at, steps))
        return known[1]

    def _search(self, at: Imagined, steps: float) -> dict[str, Reached]:
        """Search with Dijkstra's algorithm; risk costs steps."""
        m, risky = self._m, self._n.caution * self.death_cost
        reached = {at.place: Reached(0.0, None, (), 1.0, at)}
        queue, settled = [(0.0, at.place)], set[str]()
        as_now = at.world is self.task.now.world and at.have == self.here.have
        barred = self.task.progress.barred if as_now else ()
        while queue:
            cost, name = heapq.heappop(queue)
            if name in settled:
                continue
            if cost + 1.0 > steps:
                break
            settled.add(name)
            start, hazard, elsewhere = reached[name], 0.0, name != self.here.place
            if not elsewhere or not m.hazards.is_safe(name):
                see = self.look(start.at.world, name, start.at.have)
                elsewhere = not self.is_here(name, start.at.have, see)
                hazard = m.hazards.hazard(name, union(start.at.have, see), moving=True)
            for action, free in m.ways_out(name):
                if free in settled or (name, action) in barred:
                    continue
                leads = free or m.destination((name, action))
                known = reached.get(leads) if leads else None
                if known is not None and known.cost <= cost + 1.0:
                    continue
                if free and elsewhere:  # it needs nothing, and always leads there
                    death = hazard * m.effects.escape((name, action)) if hazard else 0.0
                    there = Imagined(free, start.at.have, start.at.world)
                    found = Reached(
                        cost + 1.0 + risky * death, name, (action,), start.alive * (1.0 - death), there, start.sure
                    )
                else:
                    further = self._move(start, name, action, cost, risky)
                    if further is None:
                        continue
                    found = further
                name_there = found.at.place
                better = name_there not in reached or found.cost < reached[name_there].cost
                if name_there not in settled and found.cost <= steps and better:
                    reached[name_there] = found
                    heapq.heappush(queue, (found.cost, name_there))
        return reached

    def _move(self, start: Reached, name: str, action: str, cost: float, risky: float) -> Reached | None:
        """Return where a move leads that may need something first."""
        opening = self.enable(start.at, action, 1)
        if opening is None:
            return None
        outcome = self._m.outcome((name, action), union(opening.have, opening.see))
        if outcome is None or not outcome.occasion.moved or outcome.death > self._n.certain:
            return None
        tries = 1.0 / (outcome.success * opening.sure)
        ready = opening.after(start.at)
        return Reached(
            cost + len(opening.actions) + tries + risky * outcome.death,
            name,
            (*opening.actions, action),
            start.alive * (1.0 - outcome.death),
            Imagined(outcome.occasion.place, ready.have, ready.world),
            start.sure * opening.sure,
        )

"""Paths through the model: how actions become possible, and the cheapest ways to places.

`Paths` answers questions for one task: how an action can be made possible, what is expected after it, and which places
can be reached at what cost and risk. `Ways` tells, for any task, how far apart places are by moves that are known,
whatever these need.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Container, Mapping, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from engine.settings.plan import PlanNumbers
from engine.values.counts import Memo
from engine.values.model import WorldModel
from engine.values.text import Key, Situation, Tokens, union

Mark = tuple[int, str, Tokens]
"""(number of steps taken, place, what is carried) at a point of a route or a way."""
Way = tuple[Key, ...]
"""Moves one after the other, each with its place."""
Liking = Mapping[str, Mapping[str, float]]
"""By place and action, a factor on what it promises, from a model's opinion; 1 if absent."""


class ImaginedSituation(NamedTuple):
    """A situation in a plan: place, what is carried, and what all places visited look like."""

    place: str
    have: Tokens
    world: Mapping[str, Tokens]


@dataclass(slots=True)
class EpisodeProgress:
    """What this episode has done so far.

    Attributes:
        world: What was last seen at each place visited.
        gained: Where points were gained already.
        corrected: Where nothing was gained, but persons say that there were points; they are gained once, too.
        tried: How often each action was taken at each place.
        score: Points gained and lost in all.
        new_points: Points of what was gained that never was before.
        place_found: Whether it came to a place that nobody had been to.
        failed: Goals that turned out to be impossible.
        idle: How often each action did nothing.
        planned: How often a plan for this goal was made in this situation.
    """

    world: dict[str, Tokens] = field(default_factory=dict)
    gained: set[Key] = field(default_factory=set)
    corrected: set[Key] = field(default_factory=set)
    tried: Counter[Key] = field(default_factory=Counter)
    failed: set[Key] = field(default_factory=set)
    idle: Counter[Key] = field(default_factory=Counter)
    planned: Counter[tuple[Situation, Key]] = field(default_factory=Counter)
    score: float = 0.0
    new_points: float = 0.0
    place_found: bool = False


@dataclass(frozen=True, slots=True)
class PlanTask:
    """What a plan is made for.

    Attributes:
        now: Where the episode stands.
        steps: Steps left.
        valid: What can be done here and now; empty if that is not known.
        curiosity: Factor on what discoveries are worth at present; 0 only repeats known gains.
        to_gain: Points until the maximum score, None if there is none.
        reserve: Steps at the end that known gains may not take: they are left for discoveries.
    """

    now: ImaginedSituation
    steps: int
    progress: EpisodeProgress
    valid: frozenset[str] = frozenset()
    curiosity: float = 1.0
    liking: Liking = field(default_factory=dict)
    to_gain: float | None = None
    reserve: int = 0


class ReachedPlace(NamedTuple):
    """The cheapest known way to a place.

    Attributes:
        cost: Steps to it; doubt costs steps, too.
        actions: What is done on it.
        marks: (number of actions taken, place, what is carried) where it comes to a place.
        alive: Probability of coming here alive.
        at: The situation then.
        sure: Probability that all of it is possible.
    """

    cost: float
    actions: tuple[str, ...]
    marks: tuple[Mark, ...]
    alive: float
    at: ImaginedSituation
    sure: float = 1.0


class ExpectedResult(NamedTuple):
    """What is expected of an action.

    Attributes:
        at: The situation after it.
        tries: How often it has to be taken until it does what it does.
        death: Probability of dying of it.
        ends: Whether the game ends with it, death apart: nothing can be done after it.
    """

    at: ImaginedSituation
    tries: float
    death: float
    ends: bool


class EnabledAction(NamedTuple):
    """How an action becomes possible at a place.

    Attributes:
        actions: What makes it possible.
        at: The situation after that.
        sure: Probability that all of these, and the action itself, are possible.
    """

    actions: tuple[str, ...]
    at: Situation
    sure: float

    def after(self, begin: ImaginedSituation) -> ImaginedSituation:
        """Return the situation after that, where `begin` is the one before it."""
        if not self.actions:
            return begin
        return ImaginedSituation(begin.place, self.at.have, {**begin.world, begin.place: self.at.see})


Answers = Memo[tuple[object, ...], EnabledAction | None]


class Paths:
    """Answers for one task.

    Args:
        memo: Answers that hold for other tasks, too, each as long as its place and the moves stay as they are.
    """

    def __init__(self, model: WorldModel, numbers: PlanNumbers, task: PlanTask, memo: Answers | None = None) -> None:
        self._m = model
        self._n = numbers
        self.task = task
        self._memo: Answers = memo if memo is not None else Memo(1 << 15)
        self.here = self.seen(task.now)
        self._reached: dict[object, tuple[float, dict[str, ReachedPlace]]] = {}

    @property
    def gained(self) -> Set[Key]:
        """Where points were gained already in this episode."""
        progress = self.task.progress
        return progress.gained | progress.corrected if self._m.edits else progress.gained

    @property
    def death_cost(self) -> float:
        """Points that dying costs: the fixed `death_cost`, and the mean loss of score observed at deaths."""
        return self._n.death_cost + self._m.death_loss

    def price(self, steps: float) -> float:
        """Return the points that dying costs, known gains apart, with what so many steps could have discovered."""
        return self.death_cost + self._n.step_value * self.task.curiosity * steps

    def look(self, at: ImaginedSituation, place: str) -> Tokens:
        """Return what is expected to be seen at a place: what was seen last, else what others saw who came there."""
        seen = at.world.get(place)
        return seen if seen is not None else self._m.view(place, at.have)

    def seen(self, at: ImaginedSituation) -> Situation:
        """Return an imagined situation with what is expected to be seen."""
        return Situation(at.place, at.have, self.look(at, at.place))

    def context(self, at: ImaginedSituation, place: str) -> Tokens:
        """Return what is in hand in a situation, and what is expected to be seen at a place, together."""
        return union(at.have, self.look(at, place))

    # ----------------------------------------------------------------------------------------- actions

    def enable(self, at: Situation, action: str, depth: int, *, to_try: bool = False) -> EnabledAction | None:
        """Return how `action` becomes possible in a situation, and leads on if it is a move; None if it does not.

        Only known actions at the same place are considered: nothing is fetched from elsewhere.

        Args:
            depth: Levels of actions that may come first: 0 for none, 1 for one action, 2 for one that needs another.
            to_try: Whether a move that is possible will do, wherever it leads.
        """
        # The same is asked thousands of times between two changes at a place.
        valid = self.task.valid if at.place == self.here.place else None
        version, asked = (self._m.places[at.place].version, len(self._m.moves)), (valid, action, depth, to_try, at)
        return self._memo.find(at.place, version, asked, lambda: self._enabled(at, action, depth, to_try))

    def _enabled(self, at: Situation, action: str, depth: int, to_try: bool) -> EnabledAction | None:
        m, key, preconditions = self._m, (at.place, action), self._m.places[at.place].preconditions
        missing = preconditions.missing(action, at.context)
        if at == self.here:
            chance = float(action in self.task.valid)
        else:
            chance = 0.0 if missing else preconditions.chance(action, at.context)
        if chance and to_try:
            return EnabledAction((), at, chance)
        needed = m.effects.lacks(key, at.context)
        if chance and not needed:
            sure = chance * m.effects.leads(key, at.context)
            return EnabledAction((), at, sure) if sure else None
        if not chance:
            needed |= missing
        return self._helped(at, action, depth, needed) if depth > 0 and needed else None

    def _helped(self, at: Situation, action: str, depth: int, needed: Tokens) -> EnabledAction | None:
        """Return how an action becomes possible by actions that make what it needs; None if it does not."""
        # So many rounds leave out no helper that `enable` could use, up to a depth of 3.
        for helper in self._m.places[at.place].makers.helpers(needed, at.context, 2 * depth - 2):
            before = self.enable(at, helper, depth - 1) if helper != action else None
            here = ImaginedSituation(at.place, at.have, {at.place: at.see})
            done = self.do(before.after(here), helper) if before else None
            if before is None or done is None or done.ends or done.at.place != at.place:
                continue
            then = Situation(at.place, done.at.have, done.at.world[at.place])
            after = self.enable(then, action, depth - 1)
            if after is not None:
                return EnabledAction((*before.actions, helper, *after.actions), after.at, before.sure * after.sure)
        return None

    def do(self, at: ImaginedSituation, action: str) -> ExpectedResult | None:
        """Return what is expected of `action`; None if it was never taken, or leads nowhere but to death."""
        now = self.seen(at)
        outcome = self._m.outcome((at.place, action), now.context)
        if outcome is None or (outcome.occasion.terminated and outcome.death > 1.0 - self._n.unlikely):
            return None
        did = outcome.occasion
        have = (at.have - did.have_removed) | did.have_added
        tries = 1.0 / outcome.success
        if did.moved:
            return ExpectedResult(ImaginedSituation(did.place, have, at.world), tries, outcome.death, False)
        world = {**at.world, at.place: (now.see - did.see_removed) | did.see_added}
        return ExpectedResult(ImaginedSituation(at.place, have, world), tries, outcome.death, did.ended)

    # ----------------------------------------------------------------------------------------- ways

    def reach(self, at: ImaginedSituation, steps: float) -> dict[str, ReachedPlace]:
        """Return the places that known moves lead to, by the cheapest way, within so many steps or more."""
        key = (at.place, at.have, frozenset(at.world.items()))
        known = self._reached.get(key)
        if known is None or known[0] < steps:
            known = self._reached[key] = (steps, self._search(at, steps))
        return known[1]

    def _search(self, at: ImaginedSituation, steps: float) -> dict[str, ReachedPlace]:
        """Search with Dijkstra's algorithm."""
        m = self._m
        reached = {at.place: ReachedPlace(0.0, (), (), 1.0, at)}
        queue, settled = [(0.0, at.place)], set[str]()
        while queue:
            cost, name = heapq.heappop(queue)
            if name in settled:
                continue
            if cost + 1.0 > steps:
                break
            settled.add(name)
            for action, there in m.exits(name):
                if there in settled:
                    continue
                found = self._move(reached[name], action)
                if found is None or found.at.place in settled or found.cost > steps:
                    continue
                if found.at.place not in reached or found.cost < reached[found.at.place].cost:
                    reached[found.at.place] = found
                    heapq.heappush(queue, (found.cost, found.at.place))
        return reached

    def _move(self, start: ReachedPlace, action: str) -> ReachedPlace | None:
        """Return where a move leads that may need something first, which is had at its place."""
        name = start.at.place
        opening = self.enable(self.seen(start.at), action, self._n.levels - 1)
        outcome = self._m.outcome((name, action), opening.at.context) if opening is not None else None
        if opening is None or outcome is None or not outcome.occasion.moved or outcome.death > 1.0 - self._n.unlikely:
            return None
        tries = 1.0 / (outcome.success * opening.sure)
        actions = (*start.actions, *opening.actions, action)
        at = opening.after(start.at)._replace(place=outcome.occasion.place)
        return ReachedPlace(
            start.cost + len(opening.actions) + tries,
            actions,
            (*start.marks, (len(actions), at.place, at.have)),
            start.alive * (1.0 - outcome.death),
            at,
            start.sure * opening.sure,
        )


class Ways:
    """Shortest ways between all places by moves alone, worked out from each place when asked for it.

    Needs and things in hand are ignored; `Paths.reach` heeds them.
    """

    def __init__(self, model: WorldModel) -> None:
        self._m = model
        self._from: Memo[tuple[str, frozenset[str] | None], dict[str, Way]] = Memo(1 << 10)

    def of(self, place: str, first: frozenset[str] | None = None) -> dict[str, Way]:
        """Return the shortest ways from a place, itself included.

        Args:
            first: Moves that a way can begin with, None for all.
        """
        return self._from.find("", self._m.ways_version, (place, first), lambda: self._search(place, first))

    def _search(self, place: str, first: Container[str] | None) -> dict[str, Way]:
        found: dict[str, Way] = {place: ()}
        queue = deque([place])
        while queue:
            name = queue.popleft()
            for action, there in self._m.exits(name):
                if there not in found and (first is None or name != place or action in first):
                    found[there] = (*found[name], (name, action))
                    queue.append(there)
        return found

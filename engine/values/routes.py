"""Routes to what was gained before: remembered trails, and known gains joined by the shortest known ways."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from engine.values.conditions import Tokens, union
from engine.values.experience import Experience, Key
from engine.values.legs import Enabled, Imagined, Reached, Route, longer
from engine.values.progress import PlannerSettings, Progress
from engine.values.situations import Situation
from engine.values.trails import Trail

SPARE = 0.05
"""What a step left over is worth, in points: of equal routes the shorter one."""

_RETOLD = 4
"""Trails whose gains are joined anew by the shortest known ways."""
_HOPELESS = 0.05
"""Probability below which an action is taken not to be possible."""


_Enabled = tuple[tuple[str, ...], Tokens, Tokens, float]
"""Actions, what is carried and seen after them, and how likely they and the action sought are possible."""


class Router:
    """Searches routes in an experience.

    Attributes:
        here: The present situation.
        world: What places look like now, as far as they were visited.
        valid: What is possible here and now; empty if that is not known.
        barred: Moves that are not possible elsewhere, until something is done.
    """

    def __init__(self, experience: Experience, settings: PlannerSettings) -> None:
        self._x = experience
        self._s = settings
        self.here = Situation("", frozenset(), frozenset())
        self.world: Mapping[str, Tokens] = {}
        self.valid: frozenset[str] = frozenset()
        self.barred: frozenset[Key] = frozenset()
        self._reached: dict[
            tuple[str, Tokens, frozenset[tuple[str, Tokens]]], tuple[float, dict[str, Reached]]
        ] = {}
        self._enabled: dict[
            str, tuple[tuple[int, int], dict[tuple[str, int, Tokens, Tokens], _Enabled | None]]
        ] = {}

    def stand(self, now: Imagined, valid: tuple[str, ...], barred: Iterable[Key] = ()) -> None:
        """Take note of what is possible here and now: there memory need not be asked.

        Args:
            barred: Moves that are known not to be possible elsewhere, until something is done.
        """
        self.barred = frozenset(barred)
        self.here = Situation(now.place, now.have, self.look(now.world, now.place, now.have))
        self.world = now.world
        self.valid = frozenset(valid)
        self._enabled.pop(now.place, None)
        self._reached.clear()

    def is_here(self, place: str, have: Tokens, see: Tokens) -> bool:
        """Return whether that is the present situation."""
        return (place, have, see) == self.here

    def world_at(self, route: Route, steps: int) -> Mapping[str, Tokens]:
        """Return what places look like where a detour leaves a route: as now at its start, else as at its end."""
        return route.at.world if steps else self.world

    @property
    def death_cost(self) -> float:
        """Points that dying costs: what the score loses by it, and the rest of the episode."""
        return self._s.death_cost + self._x.death_loss

    def best(self, start: Route, progress: Progress, trails: Sequence[Trail]) -> Route:
        """Return the best route that goes on from another one: of equal ones the shortest, which may be that itself."""
        trails = [trail for trail in trails if trail.faithful or self._passable(start, trail)]
        told = [self._follow(start, trail) for trail in trails]
        told_anew = [trail for trail in trails if not trail.faithful][:_RETOLD]
        retold = [route for trail in told_anew for route in self._retell(start, trail, progress)]
        beam = [start, *told, *retold]
        found = list(beam)
        beam.sort(key=lambda route: -route.value)
        beam = beam[: self._s.beam]
        for _ in range(self._s.depth):
            longer = [further for route in beam for further in self._further(route, progress)]
            if not longer:
                break
            unique = {
                (route.gained, route.at.place): route for route in sorted(longer, key=lambda r: r.value)
            }
            beam = sorted(unique.values(), key=lambda route: -route.value)[: self._s.beam]
            found += beam
        return max(found, key=lambda route: route.value + SPARE * route.left)

    def _follow(self, start: Route, trail: Trail) -> Route:
        """Return the route that is a trail."""
        fresh = {key: gain for key, gain in trail.gains if key not in start.gained}
        extra = start.at.have - trail.begin.have
        alive, possible = self._survival(trail, extra)
        earned = tuple(
            (steps, gain * sure * alive[steps - 1] * possible[steps - 1])
            for steps, key, gain, sure in trail.earned
            if key in fresh
        )
        return Route(
            Imagined(trail.end.place, trail.end.have | extra, {**start.at.world, **trail.world}),
            start.left - len(trail.actions),
            sum(gain for _, gain in earned) - self.death_cost * (1.0 - alive[-1]),
            trail.sure * alive[-1] * possible[-1],
            trail.actions,
            start.gained | set(fresh),
            tuple((steps, place, have | extra) for steps, place, have in trail.marks),
            earned,
            faithful=trail.faithful > 0.0,
        )

    def _passable(self, start: Route, trail: Trail) -> bool:
        """Return whether what a trail does first at each place is possible as this episode left the place."""
        extra, come = start.at.have - trail.begin.have, set[str]()
        for (_, place, have), action in zip(trail.marks, trail.actions, strict=True):
            if place in come:
                continue
            come.add(place)
            see = self.look(start.at.world, place, have | extra)
            unknown = not see and place not in start.at.world
            if unknown or (place, have | extra, see) == self.here:
                continue
            if not self._x.places[place].possible.chance(action, union(have | extra, see)):
                return False
        return True

    def _survival(self, trail: Trail, extra: Tokens) -> tuple[list[float], list[float]]:
        """Return the probabilities of being alive after each step of a trail, and that all was possible up to it.

        A lucky way through the dark is none; nor does all that was done there once work each time.
        """
        alive = sure = 1.0
        lived, found = list[float](), list[float]()
        for (_, place, have), see, action in zip(trail.marks, trail.seen, trail.actions, strict=True):
            context = union(have | extra if extra else have, see)
            outcome = self._x.outcome((place, action), context)
            alive *= 1.0 - outcome.death if outcome is not None else 1.0
            if found:  # what is done first is possible
                known = self._x.places.get(place)
                sure *= known.possible.lasting(action, context) if known is not None else 1.0
            lived.append(max(trail.faithful, alive))
            found.append(max(trail.faithful, sure))
        return lived, found

    def _retell(self, start: Route, trail: Trail, progress: Progress) -> Iterator[Route]:
        """Yield routes to the gains of a trail, in its order, by the shortest known ways."""
        route = start
        for key, gain in trail.gains:
            if key in route.gained:
                continue
            further = self._goal(route, self.reach(route.at, route.left), key, gain, progress)
            if further is None:
                continue
            route = further[1]
        if route is not start:
            yield route

    def _further(self, route: Route, progress: Progress) -> list[Route]:
        """Return `route` with each of the best next known gains added."""
        reached, width = self.reach(route.at, route.left), self._s.width
        # Those that cannot be among the best, however easily they are gained once there, need not be worked out.
        hopes = sorted(
            (-gain / (reached[key[0]].cost + 1.0 + self._s.overhead), number, key)
            for number, (key, gain) in enumerate(self._x.gains.items())
            if key not in route.gained and key[0] in reached
        )
        rated = list[tuple[float, int, Route]]()
        for hope, number, key in hopes:
            if len(rated) >= width and -hope * route.alive <= rated[width - 1][0]:
                break
            goal = self._goal(route, reached, key, self._x.gains[key], progress)
            if goal is not None:
                rated.append((goal[0], number, goal[1]))
                rated.sort(key=lambda item: (-item[0], item[1]))
        return [following for _, _, following in rated[:width]]

    def _goal(
        self, route: Route, reached: Mapping[str, Reached], key: Key, gain: float, progress: Progress
    ) -> tuple[float, Route] | None:
        """Return the route with one known gain added, and its points per step."""
        place, action = key
        way = reached.get(place)
        if way is None or key in progress.failed or way.cost + 1 > route.left:
            return None
        enabled = self.enable(way.at, action, 2)
        done = self.do(enabled.at, action) if enabled else None
        if enabled is None or done is None:
            return None
        ready = enabled.at
        gain = self._x.gain(key, union(ready.have, self.look(ready.world, place, ready.have)))
        if gain < 0.1:
            return None
        cost = way.cost + len(enabled.actions) + done[1]
        if cost > route.left:
            return None
        survives = way.alive * (1.0 - done[2])
        alive = route.alive * survives * way.sure * enabled.sure
        value = gain * alive - self.death_cost * route.alive * (1.0 - survives)
        further = longer(route, reached, place, (*enabled.actions, action), done[0], cost, alive, value)
        earned = (*route.earned, (len(further.actions), gain * alive))
        return value / (cost + self._s.overhead), replace(further, gained=route.gained | {key}, earned=earned)

    def imagine(self, at: Imagined, action: str) -> Imagined | None:
        """Return the situation expected after `action`, None if it was never taken at this place."""
        done = self.do(at, action)
        return done[0] if done else None

    # ----------------------------------------------------------------------------------------- ways

    def reach(self, at: Imagined, steps: float) -> dict[str, Reached]:
        """Return the places that known moves lead to, by the cheapest way, within so many steps or more."""
        key = (at.place, at.have, frozenset(at.world.items()))
        known = self._reached.get(key)
        if known is None or known[0] < steps:
            known = self._reached[key] = (steps, self._search_ways(at, steps))
        return known[1]

    def _search_ways(self, at: Imagined, steps: float) -> dict[str, Reached]:
        """Search with Dijkstra's algorithm; risk costs steps."""
        x = self._x
        reached = {at.place: Reached(0.0, None, (), 1.0, at)}
        queue, settled = [(0.0, at.place)], set()
        risky = 2.0 * self.death_cost
        barred = self.barred if at.world is self.world and at.have == self.here.have else ()
        while queue:
            cost, name = heapq.heappop(queue)
            if name in settled:
                continue
            if cost + 1.0 > steps:
                break
            settled.add(name)
            here = reached[name]
            have, world = here.at.have, here.at.world
            # From most places most moves lead to the same place, whatever is in hand.
            elsewhere, hazard = name != self.here.place, 0.0
            if not elsewhere or not x.dangers.is_safe(name):
                see = self.look(world, name, have)
                elsewhere = (name, have, see) != self.here
                hazard = x.dangers.hazard(name, union(have, see), moving=True)
            for action, free in x.ways_out(name):
                if free in settled or (barred and (name, action) in barred):
                    continue
                if free and elsewhere:
                    known = reached.get(free)
                    if known is not None and known.cost <= cost + 1.0:
                        continue
                    death = hazard * x.escape((name, action)) if hazard else 0.0
                    total = cost + 1.0 + risky * death
                    if total <= steps and (known is None or known.cost > total):
                        at, alive = Imagined(free, have, world), here.alive * (1.0 - death)
                        reached[free] = Reached(total, name, (action,), alive, at, here.sure)
                        heapq.heappush(queue, (total, free))
                    continue
                key = (name, action)
                leads = x.destination(key)
                known = reached.get(leads) if leads is not None else None
                if known is not None and known.cost <= cost + 1.0:
                    continue
                opening = self.enable(here.at, action, 1)
                if opening is None:
                    continue
                ready = opening.at
                outcome = x.outcome(key, union(ready.have, self.look(ready.world, name, ready.have)))
                if outcome is None or not outcome.occasion.moved or outcome.death > 0.98:
                    continue
                there = outcome.occasion.place
                tries = 1.0 / (outcome.success * opening.sure)
                total = cost + len(opening.actions) + tries + risky * outcome.death
                if there in settled or total > steps or (there in reached and reached[there].cost <= total):
                    continue
                reached[there] = Reached(
                    total,
                    name,
                    (*opening.actions, action),
                    here.alive * (1.0 - outcome.death),
                    Imagined(there, ready.have, ready.world),
                    here.sure * opening.sure,
                )
                heapq.heappush(queue, (total, there))
        return reached

    def enable(self, at: Imagined, action: str, depth: int) -> Enabled | None:
        """Return how `action` becomes possible at this place by known actions; None if it does not."""
        see = self.look(at.world, at.place, at.have)
        found = self._enabling(at.place, at.have, see, action, depth)
        if found is None:
            return None
        actions, have, then, sure = found
        then_at = at if not actions else Imagined(at.place, have, {**at.world, at.place: then})
        return Enabled(actions, then_at, sure)

    def _enabling(self, place: str, have: Tokens, see: Tokens, action: str, depth: int) -> _Enabled | None:
        x = self._x
        here = (place, have, see) == self.here
        if here and action in self.valid:
            return (), have, see, 1.0
        needed = x.missing((place, action), union(have, see))
        if not needed:
            chance = 0.0 if here else x.places[place].possible.chance(action, union(have, see))
            # Where it hardly ever was possible with all that, something is missing that nobody knows.
            return ((), have, see, chance) if chance > _HOPELESS else None
        if depth == 0:
            return None
        # The same is asked thousands of times between two changes at a place.
        version = (x.places[place].version, len(x.moves))
        known = self._enabled.get(place)
        if known is None or known[0] != version:
            known = self._enabled[place] = (version, {})
        key = (action, depth, have, see)
        if key not in known[1]:
            known[1][key] = self._search_helpers(place, have, see, action, depth, needed)
        return known[1][key]

    def _search_helpers(
        self, place: str, have: Tokens, see: Tokens, action: str, depth: int, needed: Tokens
    ) -> _Enabled | None:
        for helper in self._x.helpers(place, needed, union(have, see), 2 * depth - 2):
            if helper == action:
                continue
            before = self._enabling(place, have, see, helper, depth - 1)
            if before is None:
                continue
            done = self.do(Imagined(place, before[1], {place: before[2]}), helper)
            if done is None or done[0].place != place:
                continue
            after = self._enabling(place, done[0].have, done[0].world[place], action, depth - 1)
            if after is not None:
                return (*before[0], helper, *after[0]), after[1], after[2], before[3] * after[3]
        return None

    def do(self, at: Imagined, action: str) -> tuple[Imagined, float, float] | None:
        """Return the situation after `action`, its expected number of tries, and the risk of dying."""
        see = self.look(at.world, at.place, at.have)
        outcome = self._x.outcome((at.place, action), union(at.have, see))
        if outcome is None or (outcome.occasion.terminated and outcome.death > 0.9):
            return None
        did = outcome.occasion
        have = (at.have - did.lost) | did.gained
        tries = 1.0 / max(outcome.success, 0.15)
        if did.moved:
            return Imagined(did.place, have, at.world), tries, outcome.death
        world = {**at.world, at.place: (see - did.vanished) | did.appeared}
        return Imagined(at.place, have, world), tries, outcome.death

    def look(self, world: Mapping[str, Tokens], place: str, have: Tokens) -> Tokens:
        """Return what is expected to be seen at a place: what was seen last, unless with a light that is gone."""
        seen = world.get(place)
        if seen is None:
            return self._x.view(place, have)
        return seen if place == self.here.place else self._x.relit(place, have, seen)

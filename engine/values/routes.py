"""Routes to what was gained before: trails followed again, and known gains joined by the cheapest known ways."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from engine.settings.planning import PlanNumbers
from engine.values.effects import Key
from engine.values.model import Model
from engine.values.paths import Imagined, Paths, Reached, Route
from engine.values.text import Tokens, union
from engine.values.trails import Trail


class Router:
    """Finds routes for one task."""

    def __init__(self, model: Model, numbers: PlanNumbers, paths: Paths) -> None:
        self._m = model
        self._n = numbers
        self._paths = paths

    def nowhere(self) -> Route:
        """Return the route that goes nowhere."""
        task = self._paths.task
        now, gained = task.now, frozenset(task.progress.gained)
        return Route(now, float(task.steps), gained=gained, marks=((0, now.place, now.have),))

    def best(self, trails: Sequence[Trail]) -> Route:
        """Return the best route: of equal ones the shortest, which may be the one that goes nowhere."""
        start = self.nowhere()
        trails = [trail for trail in trails if trail.faithful or self._passable(trail)]
        told = [self._follow(start, trail) for trail in trails]
        told_anew = [trail for trail in trails if not trail.faithful][: self._n.retold]
        found = [start, *told, *(route for trail in told_anew for route in self._retell(start, trail))]
        beam = sorted(found, key=lambda route: -route.value)[: self._n.beam]
        for _ in range(self._n.depth):
            longer = [further for route in beam for further in self._further(route)]
            if not longer:
                break
            unique = {(route.gained, route.at.place): route for route in sorted(longer, key=lambda r: r.value)}
            beam = sorted(unique.values(), key=lambda route: -route.value)[: self._n.beam]
            found += beam
        return max(found, key=lambda route: route.value + self._n.spare * route.left)

    def _follow(self, start: Route, trail: Trail) -> Route:
        """Return the route that is a trail."""
        fresh = {key for key, _ in trail.gains if key not in start.gained}
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
            sum(gain for _, gain in earned) - self._paths.death_cost * (1.0 - alive[-1]),
            trail.sure * alive[-1] * possible[-1],
            trail.actions,
            start.gained | fresh,
            tuple((steps, place, have | extra) for steps, place, have in trail.marks),
            earned,
            faithful=trail.faithful > 0.0,
        )

    def _passable(self, trail: Trail) -> bool:
        """Return whether what a trail does first at each place is possible as this episode left the place."""
        paths, world = self._paths, self._paths.task.now.world
        extra, come = paths.here.have - trail.begin.have, set[str]()
        for (_, place, had), action in zip(trail.marks, trail.actions, strict=True):
            if place in come:
                continue
            come.add(place)
            have = had | extra
            see = paths.look(world, place, have)
            if (not see and place not in world) or paths.is_here(place, have, see):
                continue
            if not self._m.places[place].possible.chance(action, union(have, see)):
                return False
        return True

    def _survival(self, trail: Trail, extra: Tokens) -> tuple[list[float], list[float]]:
        """Return the probabilities of being alive after each step of a trail, and that all was possible up to it.

        A lucky way through the dark is none; nor does all that was done there once work each time.
        """
        alive = sure = 1.0
        lived, found = list[float](), list[float]()
        for (_, place, had), see, action in zip(trail.marks, trail.seen, trail.actions, strict=True):
            context = union(had | extra if extra else had, see)
            outcome = self._m.outcome((place, action), context)
            alive *= 1.0 - outcome.death if outcome is not None else 1.0
            known = self._m.places.get(place)
            if found and known is not None:  # what is done first is possible
                sure *= known.possible.lasting(action, context)
            lived.append(max(trail.faithful, alive))
            found.append(max(trail.faithful, sure))
        return lived, found

    def _retell(self, start: Route, trail: Trail) -> Iterator[Route]:
        """Yield the route to the gains of a trail, in its order, by the cheapest known ways."""
        route = start
        for key, _ in trail.gains:
            if key not in route.gained:
                further = self._goal(route, self._paths.reach(route.at, route.left), key)
                route = further[1] if further is not None else route
        if route is not start:
            yield route

    def _further(self, route: Route) -> list[Route]:
        """Return `route` with each of the best next known gains added."""
        reached, width = self._paths.reach(route.at, route.left), self._n.width
        # Those that cannot be among the best, however easily they are gained once there, need not be worked out.
        hopes = sorted(
            (-gain / (reached[key[0]].cost + 1.0 + self._n.overhead), number, key)
            for number, (key, gain) in enumerate(self._m.gains.items())
            if key not in route.gained and key[0] in reached
        )
        rated = list[tuple[float, int, Route]]()
        for hope, number, key in hopes:
            if len(rated) >= width and -hope * route.alive <= -rated[width - 1][0]:
                break
            goal = self._goal(route, reached, key)
            if goal is not None:
                rated.append((-goal[0], number, goal[1]))
                rated.sort(key=lambda item: item[:2])
        return [following for _, _, following in rated[:width]]

    def _goal(self, route: Route, reached: Mapping[str, Reached], key: Key) -> tuple[float, Route] | None:
        """Return the points per step of one known gain, and the route with it added."""
        place, action = key
        way = reached.get(place)
        if way is None or key in self._paths.task.progress.failed or way.cost + 1 > route.left:
            return None
        enabled = self._paths.enable(way.at, action, 2)
        if enabled is None:
            return None
        done = self._paths.do(enabled.after(way.at), action)
        if done is None:
            return None
        then, tries, death = done
        gain, cost = self._m.gain(key, union(enabled.have, enabled.see)), way.cost + len(enabled.actions) + tries
        if gain < self._n.least_gain or cost > route.left:
            return None
        survives = way.alive * (1.0 - death)
        alive = route.alive * survives * way.sure * enabled.sure
        value = gain * alive - self._paths.death_cost * route.alive * (1.0 - survives)
        further = _longer(route, reached, place, (*enabled.actions, action), then)
        further = replace(
            further,
            left=route.left - cost,
            value=route.value + value,
            alive=alive,
            gained=route.gained | {key},
            earned=(*route.earned, (len(further.actions), gain * alive)),
        )
        return value / (cost + self._n.overhead), further

    def through(self, route: Route, key: Key) -> Route | None:
        """Return a route with a shut way opened and gone through at its end; None if that is not known to be possible.

        What lies behind a way that needs something, past a troll or a locked door, is no known gain, and detours only
        go where moves lead. So opening such a way is a route of its own, and detours begin at its end.
        """
        place, action = key
        reached = self._paths.reach(route.at, route.left)
        way = reached.get(place)
        enabled = self._paths.enable(way.at, action, self._n.helped) if way is not None else None
        if way is None or enabled is None or not enabled.actions:
            return None
        done = self._paths.do(enabled.after(way.at), action)
        if done is None or done[0].place == place:
            return None
        then, tries, death = done
        cost = way.cost + len(enabled.actions) + tries
        if cost >= route.left:
            return None
        context = union(way.at.have, self._paths.look(way.at.world, place, way.at.have))
        survives = way.alive * (1.0 - death)
        for helper in enabled.actions:
            outcome = self._m.outcome((place, helper), context)
            survives *= 1.0 - outcome.death if outcome is not None else 1.0
        return replace(
            _longer(route, reached, place, (*enabled.actions, action), then),
            left=route.left - cost,
            value=route.value - self._paths.death_cost * route.alive * (1.0 - survives),
            alive=route.alive * survives * way.sure * enabled.sure,
        )


def _longer(
    route: Route, reached: Mapping[str, Reached], place: str, doing: tuple[str, ...], then: Imagined
) -> Route:
    """Return a route with the way to a place, and what is done there, at its end.

    Args:
        then: Where that leads.
    """
    legs: list[tuple[tuple[str, ...], str]] = []
    at: str | None = place
    while at is not None and reached[at].before is not None:
        legs.append((reached[at].actions, at))
        at = reached[at].before
    actions, marks = list(route.actions), list(route.marks)
    for taken, name in reversed(legs):
        actions.extend(taken)
        marks.append((len(actions), name, reached[name].at.have))
    actions.extend(doing)
    return replace(
        route, at=then, actions=tuple(actions), marks=(*marks, (len(actions), then.place, then.have)), faithful=False
    )

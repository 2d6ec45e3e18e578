"""Routes through ways that are shut: past a troll that can be fought, through a door that can be unlocked.

What lies behind such a way is worth nothing known yet, so no route to known gains leads there, and detours only go
where moves lead. So where what promises most can only be come to through a way that needs something, and it is known
what brings that about, doing so is a route of its own, and detours begin at its end.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.values.conditions import union
from engine.values.experience import Experience, Key
from engine.values.legs import Imagined, Route, longer
from engine.values.progress import Progress
from engine.values.promises import Promises
from engine.values.routes import Router
from engine.values.ways import Ways

_WAYS = 2
"""Shut ways considered: those that what is behind promises most."""
_ROUTES = 3
"""Routes that may lead on through each of them."""


class Openings:
    """Finds routes through shut ways."""

    def __init__(self, experience: Experience, router: Router, promises: Promises, ways: Ways) -> None:
        self._x = experience
        self._router = router
        self._promises = promises
        self._ways = ways

    def routes(self, now: Imagined, known: Sequence[Route], progress: Progress) -> list[Route]:
        """Return routes that end behind a shut way.

        Args:
            known: Routes that these may begin with, the one that goes nowhere first.
        """
        bases = [known[0], *sorted(known[1:], key=lambda route: -route.value)[: _ROUTES - 1]]
        found = (self._through(base, key) for key in self._shut(now, progress) for base in bases)
        return [route for route in found if route is not None]

    def _shut(self, now: Imagined, progress: Progress) -> list[Key]:
        """Return the shut ways that one comes to first on the way to what promises most for its distance."""
        ways = self._ways.of(now.place)
        best: dict[Key, float] = {}
        shut: dict[Key, bool] = {}
        for draw in self._promises.draws:
            way = ways.get(draw.goal)
            if way is None or not draw.promising:
                continue
            for key in way.moves:
                if key not in shut:
                    shut[key] = key in progress.barred or self._needs_something(now, key)
                if shut[key]:
                    best[key] = max(best.get(key, 0.0), draw.bound(way.steps))
                    break
        return sorted(best, key=lambda key: (-best[key], key))[:_WAYS]

    def _needs_something(self, now: Imagined, key: Key) -> bool:
        see = self._router.look(now.world, key[0], now.have)
        return bool(self._x.missing(key, union(now.have, see)))

    def _through(self, route: Route, key: Key) -> Route | None:
        """Return the route with a way opened and gone through at its end; None if that is not known to be possible."""
        place, action = key
        reached = self._router.reach(route.at, route.left)
        way = reached.get(place)
        if way is None:
            return None
        enabled = self._router.enable(way.at, action, 2)
        if enabled is None or not enabled.actions:
            return None
        done = self._router.do(enabled.at, action)
        if done is None or done[0].place == place:
            return None
        cost = way.cost + len(enabled.actions) + done[1]
        if cost >= route.left:
            return None
        context = union(way.at.have, self._router.look(way.at.world, place, way.at.have))
        survives = way.alive * (1.0 - done[2])
        for helper in enabled.actions:
            outcome = self._x.outcome((place, helper), context)
            survives *= 1.0 - outcome.death if outcome is not None else 1.0
        alive = route.alive * survives * way.sure * enabled.sure
        value = -self._router.death_cost * route.alive * (1.0 - survives)
        return longer(route, reached, place, (*enabled.actions, action), done[0], cost, alive, value)

"""Short ways to a model, the paths of a task in it, and plans, for tests."""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import partial
from unittest.mock import patch

from engine.settings.plan import PlanNumbers
from engine.values import trails
from engine.values.detours import Explorer
from engine.values.model import WorldModel
from engine.values.paths import EpisodeProgress, ImaginedSituation, Paths, PlanTask, Ways
from engine.values.planner import Planner, Router
from engine.values.plans import Plan, Route
from engine.values.promises import Promises
from engine.values.text import Key, Situation
from engine.values.trails import Trail, Trails, TrailStep

NUMBERS = PlanNumbers()


def new_model() -> WorldModel:
    """Return a model of a world of which nothing is known."""
    return WorldModel(NUMBERS)


def standing(
    model: WorldModel, here: ImaginedSituation, valid=(), *, steps=20, progress=None, curiosity=1.0, numbers=NUMBERS
) -> Paths:
    """Return what answers questions about where one stands."""
    return Paths(model, numbers, PlanTask(here, steps, progress or EpisodeProgress(), frozenset(valid), curiosity))


def router(model: WorldModel, here: ImaginedSituation, valid=(), *, numbers=NUMBERS, **options) -> Router:
    """Return what finds routes from here."""
    return Router(model, numbers, standing(model, here, valid, numbers=numbers, **options))


def explorer(model: WorldModel, here: ImaginedSituation, valid=(), **options) -> tuple[
    Callable[[Route], Explorer], Promises
]:
    """Return what finds detours along routes from here, and what can be tried."""
    paths = standing(model, here, valid, **options)
    promises = Promises(model, NUMBERS, paths)
    return partial(Explorer, model, NUMBERS, paths, promises, Ways(model)), promises


class WholeTrails(Trails):
    """Trails that keep of each episode all steps up to its last gain. States differ if they are read differently."""

    def __init__(self, model: WorldModel | None = None) -> None:
        super().__init__(model or new_model(), NUMBERS)
        self._gained: set[Key] = set()

    def add(self, step: TrailStep, state_digest: int | None = None) -> None:
        key = (step.now.place, step.action)
        super().add(step, hash(step.then) if state_digest is None else state_digest, fresh=key not in self._gained)
        if step.reward > 0:
            self._gained.add(key)

    def close(self, told: Callable[[list[TrailStep]], list[TrailStep]] = lambda steps: steps) -> None:
        """End the episode.

        Args:
            told: Returns what is kept of its steps up to the last gain, besides these themselves.
        """
        self._gained.clear()
        with patch.object(trails, "without_loops", told):
            super().close()

    def from_here(
        self, now: Situation, steps: int, valid: Container[str], gained: Container[Key] = ()
    ) -> list[Trail]:
        return super().from_here(now, steps, valid, gained)


class Planning:
    """A planner with the same curiosity for all of its plans."""

    def __init__(self, model: WorldModel, curiosity: float, numbers: PlanNumbers = NUMBERS) -> None:
        self._planner = Planner(model, numbers)
        self._curiosity = curiosity

    def plan(self, here: ImaginedSituation, steps: int, progress: EpisodeProgress, *, valid=()) -> Plan:
        """Return the best plan from here."""
        task = PlanTask(here, steps, progress, frozenset(valid), self._curiosity)
        return self._planner.plan(task, ())

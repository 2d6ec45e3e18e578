"""Short ways to a model, the paths of a task in it, and plans, for tests."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable
from functools import partial

from engine.settings.planning import PlanNumbers
from engine.values.detours import Explorer
from engine.values.model import Model
from engine.values.offers import Offers
from engine.values.paths import Imagined, Paths, Progress, Task, Ways
from engine.values.planner import Planner, Router
from engine.values.plans import Plan, Route
from engine.values.text import Key, Situation
from engine.values.trails import Trail, Trails, TrailStep

NUMBERS = PlanNumbers()


def new_model() -> Model:
    """Return a model of a world of which nothing is known."""
    return Model(NUMBERS)


def standing(
    model: Model, here: Imagined, valid=(), *, steps=20, progress=None, curiosity=1.0, numbers=NUMBERS
) -> Paths:
    """Return what answers questions about where one stands."""
    return Paths(model, numbers, Task(here, steps, progress or Progress(), frozenset(valid), curiosity))


def router(model: Model, here: Imagined, valid=(), *, numbers=NUMBERS, **options) -> Router:
    """Return what finds routes from here."""
    return Router(model, numbers, standing(model, here, valid, numbers=numbers, **options), Ways(model))


def explorer(model: Model, here: Imagined, valid=(), **options) -> tuple[Callable[[Route], Explorer], Offers]:
    """Return what finds detours along routes from here, and what can be tried."""
    paths = standing(model, here, valid, **options)
    offers = Offers(model, NUMBERS, paths)
    return partial(Explorer, model, NUMBERS, paths, offers, Ways(model)), offers


class WholeTrails(Trails):
    """Trails of whole episodes; states differ if they are read differently."""

    def add(self, step: TrailStep, state_digest: int | None = None) -> None:
        super().add(step, hash(step.then) if state_digest is None else state_digest)

    def close(
        self, versions: Callable[[list[TrailStep]], Iterable[list[TrailStep]]] = lambda steps: (steps,)
    ) -> None:
        super().close(versions)

    def from_here(
        self, now: Situation, steps: int, valid: Container[str], gained: Container[Key] = ()
    ) -> list[Trail]:
        return super().from_here(now, steps, valid, gained)


class Planning:
    """A planner with the same curiosity for all of its plans."""

    def __init__(self, model: Model, curiosity: float, numbers: PlanNumbers = NUMBERS) -> None:
        self._planner = Planner(model, numbers)
        self._curiosity = curiosity

    def plan(
        self, here: Imagined, steps: int, progress: Progress, trails: tuple[Trail, ...] = (), *, valid=(), to_gain=None
    ) -> Plan:
        """Return the best plan from here."""
        task = Task(here, steps, progress, frozenset(valid), self._curiosity, {}, to_gain)
        return self._planner.plan(task, trails)

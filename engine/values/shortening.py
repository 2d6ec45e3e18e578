"""What a remembered episode did, without what it did in vain.

Episodes that explore do much that has nothing to do with what they gained. Parts that led back to where they began
with nothing changed are left out. A step is left out where, by all that is known of what actions need, the rest is
still possible without it, no more deadly, and what protects is still in hand where it does and at the end.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from engine.settings.planning import PlanNumbers
from engine.values.counts import kept_once, union
from engine.values.model import Model
from engine.values.text import Situation, Tokens
from engine.values.trails import TrailStep


def versions(steps: list[TrailStep], model: Model, numbers: PlanNumbers) -> Iterator[list[TrailStep]]:
    """Yield an episode without its loops, and, if it can be shortened further, without what none of the rest needs."""
    direct = without_loops(steps)
    shorter = shortened(direct, model, numbers)
    yield from (one for one in (direct, shorter) if one)


def without_loops(steps: Sequence[TrailStep]) -> list[TrailStep]:
    """Return the steps without parts that led back to where they began with nothing gained or changed.

    Nothing changed means: the same is carried, and every place known before or seen on the way looks as it did when it
    was last, or first, seen.
    """
    kept: list[TrailStep] = []
    worlds: list[dict[str, Tokens]] = []
    """What all places looked like before each step kept."""
    first: dict[str, Tokens] = {}
    world: dict[str, Tokens] = {}
    for step in steps:
        now = step.now
        world = {**world, now.place: now.see}
        first.setdefault(now.place, now.see)
        for index, begun in enumerate(worlds):
            then = kept[index].now
            if (
                (then.place, then.have) == (now.place, now.have)
                and not any(other.reward for other in kept[index:])
                and all(begun.get(place, first[place]) == see for place, see in world.items())
            ):
                del kept[index:], worlds[index:]
                break
        worlds.append(world)
        kept.append(step)
    return kept


def shortened(steps: Sequence[TrailStep], model: Model, numbers: PlanNumbers) -> list[TrailStep] | None:
    """Return the steps up to the last gain without those that none of the others needs, None if all are needed."""
    last = max((number for number, step in enumerate(steps) if step.reward > 0), default=-1)
    kept = list(steps[: last + 1])
    if not kept:
        return None
    walk = _Walk(kept, model, numbers)
    for number in range(len(kept) - 2, -1, -1):
        step, without = kept[number], kept[:number] + kept[number + 1 :]
        if step.reward <= 0 and step.then.place == step.now.place and walk.along(without) is not None:
            kept = without
    walked = walk.along(kept) if len(kept) < last + 1 else None
    return [_kept_once(step) for step in walked] if walked is not None else None


def _kept_once(step: TrailStep) -> TrailStep:
    now, then = (
        kept_once(Situation(one.place, kept_once(one.have), kept_once(one.see)))
        for one in (step.now, step.then)
    )
    return step._replace(now=now, then=then)


class _Walk:
    """Walks steps of an episode in thought, some of them left out.

    Args:
        steps: All steps of it.
    """

    def __init__(self, steps: Sequence[TrailStep], model: Model, numbers: PlanNumbers) -> None:
        self._m = model
        self._n = numbers
        self._kept_have = steps[-1].then.have & model.hazards.light
        lifting = model.hazards.lifting
        self._guarded = {step.now: step.now.have & lifting(step.now.place) for step in steps}
        # What a step left out would have changed is not changed: places look as they did at first.
        self._first = {step.now.place: step.now.see for step in reversed(steps)}

    def along(self, steps: Sequence[TrailStep]) -> list[TrailStep] | None:
        """Return the steps with what would be carried and seen, None if one of them is not possible or deadly."""
        place, have, world = steps[0].now.place, steps[0].now.have, dict(self._first)
        walked = list[TrailStep]()
        for step in steps:
            before, after, now = step.now, step.then, Situation(place, have, world[place])
            if before.place != place or not self._is_possible(step, now):
                return None
            have = _changed(have, before.have, after.have)
            if after.place == place:
                world[place] = _changed(now.see, before.see, after.see)
            place = after.place
            then = Situation(place, have, world.get(place, after.see))
            walked.append(step._replace(now=now, then=then))
        return walked if self._kept_have <= have else None

    def _is_possible(self, step: TrailStep, now: Situation) -> bool:
        """Return whether a step is possible here, no more deadly, and what protected there is still in hand."""
        context = union(now.have, now.see)
        if self._m.places[now.place].preconditions.missing(step.action, context):
            return False
        if not self._guarded[step.now] <= now.have:
            return False
        outcome = self._m.outcome((now.place, step.action), context) if now != step.now else None
        return outcome is None or outcome.death <= self._n.too_dangerous


def _changed(tokens: Tokens, before: Tokens, after: Tokens) -> Tokens:
    """Return tokens changed as others were."""
    return tokens if before == after else (tokens - (before - after)) | (after - before)

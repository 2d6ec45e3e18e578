"""What a remembered episode did, without what it did in vain.

Episodes that explore do much that has nothing to do with what they gained. A step is left out where, by all that is
known of what actions need, the rest is still possible without it, no more deadly, and what protects is still in hand
where it does and at the end.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.model import Model
from engine.values.text import Situation, Tokens, kept_once, union
from engine.values.trails import TrailStep


def shortened(steps: Sequence[TrailStep], model: Model, numbers: PlanNumbers) -> list[TrailStep] | None:
    """Return the steps up to the last gain without those that none of the others needs, None if all are needed."""
    last = max((number for number, step in enumerate(steps) if step.reward > 0), default=-1)
    kept = list(steps[: last + 1])
    if not kept:
        return None
    walk = _Walk(kept, model, numbers)
    # Up to a step that may be left out nothing is left out yet, for they are looked at from the last one on.
    begun = walk.standings(kept)
    for number in range(len(kept) - 2, -1, -1):
        step = kept[number]
        stays = step.reward <= 0 and step.then.place == step.now.place
        if stays and number < len(begun):
            rest = kept[number + 1 :]
            if walk.along(rest, begun[number] if number else None) is not None:
                del kept[number]
    number = 0
    while number < len(kept):
        # Ways that lead back to where they began, with nothing done on them.
        end = _way_back(kept, number)
        if end > number and walk.along(kept[:number] + kept[end:]) is not None:
            del kept[number:end]
        number += 1
    walked = walk.along(kept) if len(kept) < last + 1 else None
    return [_kept_once(step) for step in walked] if walked is not None else None


def _kept_once(step: TrailStep) -> TrailStep:
    now, then = (
        kept_once(Situation(one.place, kept_once(one.have), kept_once(one.see))) for one in (step.now, step.then)
    )
    return step._replace(now=now, then=then)


def _way_back(kept: list[TrailStep], begin: int) -> int:
    """Return the end of the longest part from here that only moves and ends where it began."""
    place, found = kept[begin].now.place, begin
    for number in range(begin, len(kept)):
        step = kept[number]
        if step.reward > 0 or step.then.place == step.now.place:
            break
        if step.then.place == place:
            found = number + 1
    return found


class _Standing(NamedTuple):
    """Where one stands before a step, with what in hand, and what all places look like."""

    place: str
    have: Tokens
    world: dict[str, Tokens]


class _Walk:
    """Walks steps of an episode in thought, some of them left out.

    Args:
        steps: All steps of it.
    """

    def __init__(self, steps: Sequence[TrailStep], model: Model, numbers: PlanNumbers) -> None:
        self._m = model
        self._n = numbers
        self._kept_have = frozenset(filter(model.hazards.helps, steps[-1].then.have))
        lifting = model.hazards.lifting
        self._guarded = {step.now: step.now.have & lifting(step.now.place) for step in steps}
        # What a step left out would have changed is not changed: places look as they did at first.
        self._first: dict[str, Tokens] = {}
        for step in steps:
            self._first.setdefault(step.now.place, step.now.see)

    def along(self, steps: Sequence[TrailStep], begun: _Standing | None = None) -> list[TrailStep] | None:
        """Return the steps with what would be carried and seen, None if one of them is not possible or deadly.

        Args:
            begun: Where they begin; by default where the first of them did.
        """
        standing, walked = begun or self._begin(steps), list[TrailStep]()
        world = dict(standing.world)
        for step in steps:
            taken = self._take(step, standing.place, standing.have, world)
            if taken is None:
                return None
            walked.append(taken)
            standing = _Standing(taken.then.place, taken.then.have, world)
        return walked if self._kept_have <= standing.have else None

    def standings(self, steps: Sequence[TrailStep]) -> list[_Standing]:
        """Return where one stands before each step, as far as they can be walked."""
        standing, found = self._begin(steps), list[_Standing]()
        for step in steps:
            found.append(standing)
            world = dict(standing.world)
            taken = self._take(step, standing.place, standing.have, world)
            if taken is None:
                break
            standing = _Standing(taken.then.place, taken.then.have, world)
        return found

    def _begin(self, steps: Sequence[TrailStep]) -> _Standing:
        return _Standing(steps[0].now.place, steps[0].now.have, self._first)

    def _take(self, step: TrailStep, place: str, have: Tokens, world: dict[str, Tokens]) -> TrailStep | None:
        """Return a step as it would be taken, None if it is not possible or deadly; note in `world` what it changes."""
        if step.now.place != place:
            return None
        see, before, after = world[place], step.now, step.then
        if self._m.places[place].possible.missing(step.action, union(have, see)) or not self._guarded[before] <= have:
            return None
        if (have, see) != (before.have, before.see):
            outcome = self._m.outcome((place, step.action), union(have, see))
            if outcome is not None and outcome.death > self._n.too_dangerous:
                return None
        now = Situation(place, have, see)
        have = _changed(have, before.have, after.have)
        if after.place == place:
            see = _changed(see, before.see, after.see)
        world[place] = see
        then = Situation(after.place, have, world.get(after.place, after.see))
        return TrailStep(now, step.action, step.reward, then, step.died, step.terminated)


def _changed(tokens: Tokens, before: Tokens, after: Tokens) -> Tokens:
    """Return tokens changed as others were."""
    if before == after:
        return tokens
    return after if tokens == before else (tokens - (before - after)) | (after - before)

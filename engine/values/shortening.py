"""What a remembered episode did, without what it did in vain.

Episodes that explore do much that has nothing to do with what they gained. A step is left out where, by all that is
known of what actions need, the rest is still possible without it, no more deadly, and what protects is still in hand
where it does and at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engine.values.conditions import Tokens, union
from engine.values.experience import Experience
from engine.values.situations import Situation
from engine.values.trails import TrailStep

_TOO_DANGEROUS = 0.3
"""Probability of dying above which a step is not taken in a situation that it was not taken in."""


def shortened(
    steps: Sequence[TrailStep], experience: Experience, protects: Callable[[str], bool]
) -> list[TrailStep] | None:
    """Return the steps up to the last gain without those that none of the others needs, None if all are needed.

    Args:
        protects: Whether something carried is to be kept for its own sake.
    """
    last = max((number for number, step in enumerate(steps) if step.reward > 0), default=-1)
    kept = list(steps[: last + 1])
    if not kept:
        return None
    kept_have = frozenset(token for token in kept[-1].then.have if protects(token))
    guarded = {
        step.now: frozenset(
            token for token in step.now.have if experience.dangers.protects(step.now.place, token)
        )
        for step in kept
    }

    first: dict[str, Tokens] = {}
    for step in kept:
        first.setdefault(step.now.place, step.now.see)

    def walked(part: Sequence[TrailStep]) -> list[TrailStep] | None:
        return _walked(part, experience, guarded, kept_have, first)

    number = len(kept) - 2
    while number >= 0:
        step = kept[number]
        if step.reward <= 0 and step.then.place == step.now.place:
            number = _without(kept, number, number + 1, walked)
        number -= 1
    number = 0
    while number < len(kept):
        # Ways that lead back to where they began, with nothing done on them.
        end = _way_back(kept, number)
        if end > number:
            _without(kept, number, end, walked)
        number += 1
    return walked(kept) if len(kept) < last + 1 else None


def _without(
    kept: list[TrailStep],
    begin: int,
    end: int,
    walked: Callable[[Sequence[TrailStep]], list[TrailStep] | None],
) -> int:
    """Cut a part out if the rest is possible without it; return where to go on from."""
    if walked(kept[:begin] + kept[end:]) is not None:
        del kept[begin:end]
    return begin


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


def _walked(
    steps: Sequence[TrailStep],
    experience: Experience,
    guarded: Mapping[Situation, Tokens],
    kept_have: Tokens,
    first: Mapping[str, Tokens],
) -> list[TrailStep] | None:
    """Return the steps with what would be carried and seen, None if one of them is not possible or deadly.

    Args:
        first: What each place looked like at first: what a step left out would have changed is not changed.
    """
    have, world, walked = steps[0].now.have, dict(first), list[TrailStep]()
    place = steps[0].now.place
    for step in steps:
        if step.now.place != place:
            return None
        see = world[place]
        if experience.missing((place, step.action), union(have, see)) or not guarded[step.now] <= have:
            return None
        if (have, see) != (step.now.have, step.now.see):
            outcome = experience.outcome((place, step.action), union(have, see))
            if outcome is not None and outcome.death > _TOO_DANGEROUS:
                return None
        now = Situation(place, have, see)
        have = (have - (step.now.have - step.then.have)) | (step.then.have - step.now.have)
        if step.then.place == place:
            see = (see - (step.now.see - step.then.see)) | (step.then.see - step.now.see)
        world[place] = see
        place = step.then.place
        then = Situation(place, have, world.get(place, step.then.see))
        walked.append(TrailStep(now, step.action, step.reward, then, step.died, step.ended))
    return walked if kept_have <= have else None

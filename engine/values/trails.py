"""Replay: what remembered episodes did from a situation on, to be followed again as far as it paid.

The planner joins single remembered steps, and what it believes about them is only as good as what tokens show. A trail
needs no such belief: the same actions in the same situation led there before, with all that was carried on the way,
whether or not it is known to matter. How often the same came of each step is counted.

Episodes that explore do much that has nothing to do with what they gained. Parts that led back to where they began
with nothing changed are left out.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Container, Iterator, Sequence
from typing import NamedTuple

from engine.settings.plan import PlanNumbers
from engine.values.counts import TryCount, jaccard, rate
from engine.values.histories import Histories
from engine.values.model import WorldModel
from engine.values.text import EMPTY, Key, Situation, Tokens, verb

_Came = tuple[str, Tokens, Tokens, bool, float]
_Begun = defaultdict[str, dict[Tokens, list[tuple[float, int, int]]]]
"""By place and what was in hand: minus the most that was still gained, the step, minus the episode."""


class TrailStep(NamedTuple):
    """One remembered step."""

    now: Situation
    action: str
    reward: float
    then: Situation
    died: bool
    terminated: bool
    given: float | None = None
    """The points that a person gave it, None if nobody did."""

    @property
    def most(self) -> float:
        """The points it gained, or those that a person gave it if these are more."""
        return self.reward if self.given is None else max(self.reward, self.given)

    @property
    def came(self) -> _Came:
        """What came of it; what is seen elsewhere after a move does not count."""
        see = self.then.see if self.then.place == self.now.place else EMPTY
        return self.then.place, self.then.have, see, self.died, self.reward


class TrailGain(NamedTuple):
    """A gain on a trail: the number of steps it takes, where it is, and its points, each as likely as it is had."""

    steps: int
    key: Key
    points: float


class Trail(NamedTuple):
    """A part of a remembered episode that ends with a gain.

    Attributes:
        worth: What is gained on it, times the probability that it is.
        steps: Its steps.
        earned: What was gained on it, in order.
        sure: Probability that the same happens again.
        repeat_probability: Probability that random events have the same results as then, if the trail continues an
            episode that did all that this one did so far; else 0.
    """

    worth: float
    steps: list[TrailStep]
    earned: tuple[TrailGain, ...]
    sure: float
    repeat_probability: float

    @property
    def actions(self) -> tuple[str, ...]:
        """What was done."""
        return tuple(step.action for step in self.steps)


class Trails:
    """All remembered episodes, found by the situations they went through.

    Attributes:
        histories: The episodes from their beginning on.
    """

    def __init__(self, model: WorldModel, numbers: PlanNumbers) -> None:
        self._m = model
        self._n = numbers
        self.histories = Histories(numbers)
        self._episodes: list[list[TrailStep]] = []
        """Each up to its last gain, and again without what was done in vain."""
        self._at: _Begun = defaultdict(dict)
        self._said_at: _Begun = defaultdict(dict)
        """The same for episodes with the points that persons gave."""
        self._outcomes: defaultdict[tuple[Situation, str], Counter[_Came]] = defaultdict(Counter)
        self._current: list[TrailStep] = []
        self._otherwise: defaultdict[str, TryCount] = defaultdict(TryCount)
        """By verb, moves apart, how often another result came of it in the same situation."""

    def add(
        self, step: TrailStep, state_digest: int, *, fresh: bool, possible: tuple[str, ...] = ()
    ) -> None:
        """Remember a step of the episode that is going on.

        Args:
            state_digest: Digest of the state after it as the game gave it; how it is read changes as more is known.
            fresh: Whether this action had earned no points at this place earlier in the episode.
            possible: All that was possible in its place; nothing if that is not known.
        """
        so = (step.now, step.action)
        # What was gained once is not gained again. The same after the same history is no news: the seed is the same.
        if fresh and not self.histories.is_as_before(step.action, state_digest, step.reward):
            outcomes, came = self._outcomes[so], step.came
            if outcomes and step.action not in self._m.moves:
                self._otherwise[verb(step.action)].add(came not in outcomes or len(outcomes) > 1)
            outcomes[came] += 1
        by_luck = len(self._outcomes.get(so, ())) > 1
        self.histories.add(
            step.action, state_digest, step.reward, by_luck=by_luck, ended=step.terminated, possible=possible
        )
        self._current.append(step)

    def close(self) -> None:
        """End the episode: its steps up to the last gain can be followed now, with and without those in vain."""
        said, self._current = self._current, []
        own = [step._replace(given=None) if step.given is not None else step for step in said]
        gaining = _up_to_gain(own)
        self.histories.close([step.reward for step in gaining], len(self._episodes))
        self._keep(gaining, self._at)
        if said != own:
            self._keep(_up_to_gain(said), self._said_at)

    def _keep(self, gaining: list[TrailStep], at: _Begun) -> None:
        """Keep an episode up to its last gain.

        Args:
            at: Where it can be found.
        """
        if gaining:
            self._episodes.append(gaining)
        if steps := without_loops(gaining):
            number, best = len(self._episodes), 0.0
            self._episodes.append(steps)
            for index in range(len(steps) - 1, -1, -1):
                best, now = max(0.0, best + steps[index].most), steps[index].now
                if best > 0.0:
                    known = at[now.place].setdefault(now.have, [])
                    known.append((-best, index, -number))
                    if len(known) > self._n.kept:
                        known.sort()
                        del known[self._n.kept :]

    def lose(self) -> None:
        """Take note that a step is not known: what was done before it and after it are parts that nothing joins."""
        self.close()
        self.histories.lose()

    def from_here(self, now: Situation, steps: int, valid: Container[str], gained: Container[Key]) -> list[Trail]:
        """Return trails that begin in a situation like this one and can be walked in so many steps.

        Each ends with something to be gained. Those with the highest gain come first.

        Args:
            valid: What is possible now; no trail begins with anything else.
            gained: What was gained in this episode already: it is not gained again.
        """
        found: list[Trail] = []
        # Things carried beyond what was carried then do no harm, as far as anybody knows.
        found_at = (self._at, self._said_at) if self._m.edits else (self._at,)
        at = itertools.chain.from_iterable(found.get(now.place, {}).items() for found in found_at)
        known = sorted(begun for have, begins in at if have <= now.have for begun in begins)
        for _, index, number in known[: 2 * self._n.kept]:
            begin = self._episodes[-number][index]
            if begin.action in valid and jaccard(begin.now.see, now.see) >= self._n.alike:
                found += self._parts(self._episodes[-number][index : index + steps], gained)
        exact: list[Trail] = []
        for number, index in self.histories.continued():
            if self._episodes[number][index].action in valid:
                part = self._episodes[number][index : index + steps]
                exact += self._parts(part, gained, self.histories.repeat_probability)
        # Trails that are wrong about what is needed must not crowd out those that count on nothing but luck.
        best = (trail for kind in (exact, found) for trail in sorted(kind, key=_worth)[-2 * self._n.breadth :])
        chosen = {trail.actions: trail for trail in sorted(best, key=_worth)}
        return sorted(chosen.values(), key=_worth, reverse=True)

    def without_a_block(self) -> Trail | None:
        """Return the best episode from its beginning without steps that led back to a place and gained nothing.

        Whether the rest needs them shows when it is followed. What was followed is not returned again. None if
        nothing is left to leave out, or this episode has begun.
        """
        number, index = next(self.histories.continued(), (0, -1))
        if index:
            return None
        steps = self._episodes[number]
        passed = list(self.histories.along(step.action for step in steps))
        blocks, since = list[tuple[int, int]](), 0
        for end, after in enumerate(steps[: len(passed)]):
            if end and steps[end - 1].most > 0:
                since = end  # no block has a gain in it
            for begin in range(since, end):
                back = steps[begin].now.place == after.now.place
                if back and not self.histories.was_taken(passed[begin], after.action):
                    blocks.append((end - begin, begin))
        if not blocks:
            return None
        length, begin = max(blocks)
        rest = [*steps[:begin], *steps[begin + length :]]
        *_, whole = (None, *self._parts(rest, (), self.histories.repeat_probability))
        return whole

    def _parts(
        self, part: list[TrailStep], gained: Container[Key], repeat_probability: float = 0.0
    ) -> Iterator[Trail]:
        """Yield the parts of steps of an episode from their beginning to each gain."""
        total, counted, earned, said = 0.0, 1.0, tuple[TrailGain, ...](), set[Key]()
        for taken, step in enumerate(part, 1):
            if step.terminated:
                break
            outcomes = self._outcomes.get((step.now, step.action)) or Counter()
            luck = self._otherwise.get(verb(step.action)) if step.action not in self._m.moves else None
            otherwise = luck.rate(0.0, self._n.doubt) if luck is not None else 0.0
            counted *= rate(outcomes[step.came], outcomes.total(), 1.0 - otherwise, self._n.doubt)
            sure = max(repeat_probability, counted)
            if sure < self._n.unlikely:
                break
            key = (step.now.place, step.action)
            points = self._m.points(key, step.reward) if key not in said else 0.0
            if key in self._m.edits:
                said.add(key)  # it is said of doing it once
            if points > 0 and key in gained:
                continue
            total += points
            if points > 0:
                earned = (*earned, TrailGain(taken, key, points * sure))
                yield Trail(total * sure, part[:taken], earned, sure, repeat_probability)


def _worth(trail: Trail) -> tuple[float, float]:
    return trail.worth, trail.repeat_probability


def _up_to_gain(steps: list[TrailStep]) -> list[TrailStep]:
    """Return the steps of an episode up to the last one that gained something."""
    last = max((number for number, step in enumerate(steps, 1) if step.most > 0), default=0)
    return steps[:last]


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
                and not any(other.most for other in kept[index:])
                and all(begun.get(place, first[place]) == see for place, see in world.items())
            ):
                del kept[index:], worlds[index:]
                break
        worlds.append(world)
        kept.append(step)
    return kept

"""Trails: what remembered episodes did from a situation on, to be followed again as far as it paid.

The planner joins single remembered steps, and what it believes about them is only as good as what tokens
show. A trail needs no such belief: the same actions in the same situation led there before, with all that was
carried or lit on the way, known or not to have mattered. How sure that is, is counted.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Mapping
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.effects import Key
from engine.values.histories import Histories
from engine.values.text import Situation, Tokens


class TrailStep(NamedTuple):
    """One remembered step."""

    now: Situation
    action: str
    reward: float
    then: Situation
    died: bool
    terminated: bool


class Trail(NamedTuple):
    """A part of a remembered episode.

    Attributes:
        actions: What was done.
        gains: What was gained where on it, in order.
        sure: Probability that the same happens again.
        begin: Where it began.
        end: Where it led.
        world: What was last seen at the places on it.
        earned: For each gain the number of steps it takes, where it is, and how sure it is.
        marks: (number of steps taken, place, what is carried) before each step.
        seen: What was seen there then.
        faithful: Probability that luck falls as it did then, where it goes on from all that this episode did so far.
    """

    actions: tuple[str, ...]
    gains: tuple[tuple[Key, float], ...]
    sure: float
    begin: Situation
    end: Situation
    world: Mapping[str, Tokens]
    earned: tuple[tuple[int, Key, float, float], ...]
    marks: tuple[tuple[int, str, Tokens], ...]
    seen: tuple[Tokens, ...]
    faithful: float = 0.0


class _Cut(NamedTuple):
    """A part of a remembered episode that ends with a gain.

    Attributes:
        worth: What is gained on it, times the probability that it is.
        faithful: As of a trail.
    """

    worth: float
    number: int
    start: int
    end: int
    faithful: float


_NONE: Tokens = frozenset()
_Came = tuple[str, Tokens, Tokens, bool, float]


def _came(step: TrailStep) -> _Came:
    """Return what came of a step; what is seen elsewhere after a move does not count."""
    see = step.then.see if step.then.place == step.now.place else _NONE
    return step.then.place, step.then.have, see, step.died, step.reward


class Trails:
    """All remembered episodes, found by the situations they went through."""

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self._episodes: list[list[TrailStep]] = []
        self._paying: list[int] = []
        """By episode, how many steps it took to its last gain."""
        self._told: list[list[tuple[dict[_Came, int], _Came, str]]] = []
        """By episode and step, what ever came of it, what came of it then, and its verb."""
        self._at: dict[str, dict[Tokens, list[tuple[float, int, int]]]] = {}
        self._outcomes: dict[tuple[Situation, str], dict[_Came, int]] = {}
        self._current: list[TrailStep] = []
        self._gained: set[Key] = set()
        self._repeated: dict[str, tuple[int, int]] = {}
        """By verb, how often it was done where just that was done before, and how often something else came of it."""
        self._histories = Histories(numbers)

    def add(self, step: TrailStep, told: int | None = None) -> None:
        """Remember a step of the episode that is going on.

        Args:
            told: A digest of the state after it as the game told it; by default of how it was read.
        """
        told = hash(step.then) if told is None else told
        key = (step.now.place, step.action)
        # What was gained by it once is not gained again; and that luck falls alike after all the same proves nothing.
        if key not in self._gained and not self._histories.is_as_before(step.action, told, step.reward):
            outcomes = self._outcomes.setdefault((step.now, step.action), {})
            came = _came(step)
            if outcomes and step.then.place == step.now.place:
                verb = _verb(step.action)
                repeated, otherwise = self._repeated.get(verb, (0, 0))
                self._repeated[verb] = (repeated + 1, otherwise + (came not in outcomes or len(outcomes) > 1))
            outcomes[came] = outcomes.get(came, 0) + 1
        if step.reward > 0:
            self._gained.add(key)
        by_luck = len(self._outcomes.get((step.now, step.action), ())) > 1
        self._histories.add(step.action, told, step.reward, by_luck=by_luck, died=step.died)
        self._current.append(step)

    @property
    def deadly(self) -> frozenset[str]:
        """Return the actions that killed in an earlier episode that was like this one up to now."""
        return self._histories.deadly

    @property
    def faithfulness(self) -> float:
        """Return how likely luck falls as it did when all that was done before is the same."""
        return self._histories.faithfulness

    @property
    def repeated(self) -> bool:
        """Whether all of the last episode was done before, and came to the same: nothing was learnt in it."""
        return self._histories.repeated

    def skip(self) -> None:
        """Take note that a step of the episode is not known."""
        self._histories.lose()

    def close(self, shorten: Callable[[list[TrailStep]], list[TrailStep] | None] | None = None) -> None:
        """End the episode: from now on its steps can be followed.

        Args:
            shorten: Returns the steps without those that were in vain, to be followed as well.
        """
        walked, self._current = self._current, []
        self._gained.clear()
        if self._histories.close([step.reward for step in walked], len(self._episodes)) > 0.0:
            self._store(walked)
        steps = without_loops(walked)
        if steps:
            self._keep(steps)
            shorter = shorten(steps) if shorten is not None else None
            if shorter:
                self._keep(shorter)

    def _sure(self, verb: str, same: int, times: int) -> float:
        """Return how likely the same comes of an action as did so many times of all."""
        repeated, otherwise = self._repeated.get(verb, (0, 0))
        if not otherwise:
            return (same + 1.0) / (times + 1.0)
        strength = self._n.strength
        return (same + strength * (1.0 - otherwise / repeated)) / (times + strength)

    def _keep(self, steps: list[TrailStep]) -> None:
        number = self._store(steps)
        best = 0.0
        for index in range(len(steps) - 1, -1, -1):
            best = max(0.0, best + steps[index].reward)
            if best <= 0.0:
                continue
            situation = steps[index].now
            known = self._at.setdefault(situation.place, {}).setdefault(situation.have, [])
            known.append((best, number, index))
            if len(known) > self._n.kept_trails:
                known.sort(key=lambda t: (-t[0], t[2], -t[1]))
                del known[self._n.kept_trails :]

    def _store(self, steps: list[TrailStep]) -> int:
        """Keep an episode and return its number."""
        self._episodes.append(steps)
        gains = (number for number, step in enumerate(steps, 1) if step.reward > 0)
        self._paying.append(max(gains, default=0))
        self._told.append(
            [
                (
                    self._outcomes.setdefault((step.now, step.action), {}),
                    _came(step),
                    _verb(step.action),
                )
                for step in steps
            ]
        )
        return len(self._episodes) - 1

    def from_here(
        self,
        now: Situation,
        steps: int,
        valid: Container[str],
        gained: Container[Key] = (),
        *,
        as_before: bool = True,
    ) -> list[Trail]:
        """Return trails that begin in a situation like this one and can be walked in so many steps.

        Args:
            valid: What is possible now; no trail begins with anything else.
            gained: What was gained in this episode already: it is not gained again.
            as_before: Whether luck may be counted on to fall as it did after all the same.

        Each ends with something to be gained. Those with the highest gain come first.
        """
        found: list[_Cut] = []
        # Things carried beyond what was carried then do no harm, as far as anybody knows.
        known = [t for have, ts in self._at.get(now.place, {}).items() if have <= now.have for t in ts]
        known.sort(key=lambda t: (-t[0], t[2], -t[1]))
        for _, number, index in known[: 2 * self._n.kept_trails]:
            begin = self._episodes[number][index]
            if begin.action in valid and _alike(begin.now.see, now.see) >= self._n.alike:
                found += self._cuts(number, index, steps, gained)
        for number, index in self._histories.continued() if as_before else ():
            if self._episodes[number][index].action in valid:
                found += self._cuts(number, index, steps, gained, self._histories.faithfulness)
        found.sort(key=lambda cut: (-cut.worth, -cut.faithful))
        chosen: dict[tuple[str, ...], _Cut] = {}
        for cut in found:
            part = self._episodes[cut.number][cut.start : cut.end]
            chosen.setdefault(tuple(step.action for step in part), cut)
            if len(chosen) >= self._n.trails:
                break
        return [self._trail(cut, actions, gained) for actions, cut in chosen.items()]

    def _cuts(
        self, number: int, start: int, steps: int, gained: Container[Key], faithful: float = 0.0
    ) -> Iterator[_Cut]:
        """Yield the parts of an episode from a step to each gain within so many steps."""
        total = 0.0
        for end, step, sure in self._surely(number, start, start + steps, faithful):
            if step.reward > 0 and (step.now.place, step.action) in gained:
                continue
            total += step.reward
            if step.reward > 0:
                yield _Cut(total * sure, number, start, end, faithful)

    def _surely(
        self, number: int, start: int, end: int, faithful: float
    ) -> Iterator[tuple[int, TrailStep, float]]:
        """Yield the steps of an episode to its last gain, each with its end and how sure all is up to there."""
        counted = 1.0
        part = slice(start, min(end, self._paying[number]))
        steps = zip(self._episodes[number][part], self._told[number][part], strict=True)
        for after, (step, (outcomes, came, verb)) in enumerate(steps, start + 1):
            if step.terminated:
                break
            same = outcomes.get(came, 0)
            counted *= self._sure(verb, same, same if same and len(outcomes) == 1 else sum(outcomes.values()))
            sure = max(faithful, counted)
            if sure < self._n.unlikely:
                break
            yield after, step, sure

    def _trail(self, cut: _Cut, actions: tuple[str, ...], gained: Container[Key]) -> Trail:
        """Return a part of an episode, with all that can be known of it."""
        world: dict[str, Tokens] = {}
        earned: list[tuple[int, Key, float, float]] = []
        steps, sure = self._episodes[cut.number][cut.start : cut.end], 1.0
        for end, step, sure in self._surely(cut.number, cut.start, cut.end, cut.faithful):
            world[step.now.place] = step.now.see
            world[step.then.place] = step.then.see
            key = (step.now.place, step.action)
            if step.reward > 0 and key not in gained:
                earned.append((end - cut.start, key, step.reward, sure))
        return Trail(
            actions,
            tuple((key, reward) for _, key, reward, _ in earned),
            sure,
            steps[0].now,
            steps[-1].then,
            world,
            tuple(earned),
            tuple((number, step.now.place, step.now.have) for number, step in enumerate(steps)),
            tuple(step.now.see for step in steps),
            cut.faithful,
        )


@functools.lru_cache(maxsize=1 << 14)
def _verb(action: str) -> str:
    return action.split(" ", 1)[0]


def without_loops(steps: list[TrailStep]) -> list[TrailStep]:
    """Return the steps without parts that led back to where they began with nothing gained or changed.

    Nothing changed means: the same is carried, and every place known before or seen on the way looks as it
    did when it was last, or first, seen.
    """
    kept: list[TrailStep] = []
    worlds: list[dict[str, Tokens]] = []
    latest: dict[tuple[str, Tokens], list[int]] = {}
    first: dict[str, Tokens] = {}
    world: dict[str, Tokens] = {}
    for step in steps:
        now = step.now
        world = {**world, now.place: now.see}
        first.setdefault(now.place, now.see)
        key = (now.place, now.have)
        for index in latest.get(key, ()):
            if index >= len(kept):
                break
            begun = worlds[index]
            gained = any(other.reward != 0 for other in kept[index:])
            same = all(begun.get(place, first[place]) == see for place, see in world.items())
            if not gained and same:
                for other in kept[index:]:
                    indices = latest[(other.now.place, other.now.have)]
                    while indices and indices[-1] >= index:
                        indices.pop()
                del kept[index:], worlds[index:]
                break
        latest.setdefault(key, []).append(len(kept))
        worlds.append(world)
        kept.append(step)
    return kept


def _alike(a: Tokens, b: Tokens) -> float:
    union = len(a | b)
    return len(a & b) / union if union else 1.0

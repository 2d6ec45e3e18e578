"""Replay: what remembered episodes did from a situation on, to be followed again as far as it paid.

The planner joins single remembered steps, and what it believes about them is only as good as what tokens show. A trail
needs no such belief: the same actions in the same situation led there before, with all that was carried on the way,
whether or not it is known to matter. How often the same came of each step is counted.

Games draw random numbers from a generator that begins with the same seed. So an episode that does everything as an
earlier one did mostly has the same results: a fight won once is won again. `Histories` knows what was done from the
beginning of each episode on. Wherever an action is known to have different results, it counts how often the result was
the same after the same history. Where each episode has random numbers of its own, this probability soon falls.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from engine.settings.planning import PlanNumbers
from engine.values.counts import Tally, jaccard, rate
from engine.values.text import EMPTY, Key, Situation, Tokens, verb


class TrailStep(NamedTuple):
    """One remembered step."""

    now: Situation
    action: str
    reward: float
    then: Situation
    died: bool
    terminated: bool


class Earned(NamedTuple):
    """A gain on a trail: the number of steps it takes, where it is, its points, and how sure it is."""

    steps: int
    key: Key
    reward: float
    sure: float


_Came = tuple[str, Tokens, Tokens, bool, float]


def _came(step: TrailStep) -> _Came:
    """Return what came of a step; what is seen elsewhere after a move does not count."""
    see = step.then.see if step.then.place == step.now.place else EMPTY
    return step.then.place, step.then.have, see, step.died, step.reward


class _ReplayStep(NamedTuple):
    """A step of an episode that can be followed, what came of it, and how often each result ever came of it."""

    step: TrailStep
    came: _Came
    outcomes: Counter[_Came]


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
    steps: list[_ReplayStep]
    earned: tuple[Earned, ...]
    sure: float
    repeat_probability: float

    @property
    def actions(self) -> tuple[str, ...]:
        """What was done."""
        return tuple(one.step.action for one in self.steps)

    @property
    def stops(self) -> list[Situation]:
        """The situation before each step."""
        return [one.step.now for one in self.steps]

    @property
    def end(self) -> Situation:
        """Where it led."""
        return self.steps[-1].step.then

    @property
    def world(self) -> dict[str, Tokens]:
        """What was last seen at the places on it."""
        return {at.place: at.see for one in self.steps for at in (one.step.now, one.step.then)}


class Trails:
    """All remembered episodes, found by the situations they went through.

    Attributes:
        histories: The episodes from their beginning on.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.histories = Histories(numbers)
        self._episodes: list[list[_ReplayStep]] = []
        self._paying: list[int] = []
        """By episode, how many steps it took to its last gain."""
        self._at: defaultdict[str, dict[Tokens, list[tuple[float, int, int]]]] = defaultdict(dict)
        """By place and what was in hand, the most that was still gained, negative, the step, and the episode."""
        self._outcomes: defaultdict[tuple[Situation, str], Counter[_Came]] = defaultdict(Counter)
        self._current: list[TrailStep] = []
        self._gained: set[Key] = set()
        self._otherwise: defaultdict[str, Tally] = defaultdict(Tally)
        """By verb, how often something else came of it than before where it was done in the same situation."""

    def add(self, step: TrailStep, state_digest: int) -> None:
        """Remember a step of the episode that is going on.

        Args:
            state_digest: Digest of the state after it as the game gave it; how it is read changes as more is known.
        """
        key, so = (step.now.place, step.action), (step.now, step.action)
        # What was gained by it once is not gained again; and that luck falls alike after all the same proves nothing.
        if key not in self._gained and not self.histories.is_as_before(step.action, state_digest, step.reward):
            outcomes, came = self._outcomes[so], _came(step)
            if outcomes and step.then.place == step.now.place:
                self._otherwise[verb(step.action)].add(came not in outcomes or len(outcomes) > 1)
            outcomes[came] += 1
        if step.reward > 0:
            self._gained.add(key)
        by_luck = len(self._outcomes.get(so, ())) > 1
        self.histories.add(step.action, state_digest, step.reward, by_luck=by_luck, died=step.died)
        self._current.append(step)

    def close(self, versions: Callable[[list[TrailStep]], Iterable[list[TrailStep]]]) -> None:
        """End the episode: from now on its steps can be followed.

        Args:
            versions: Returns what is kept of an episode's steps: versions of it without steps done in vain.
        """
        lived, self._current = self._current, []
        self._gained.clear()
        if self.histories.close([step.reward for step in lived], len(self._episodes)) > 0.0:
            self._store(lived)
        for steps in versions(lived):
            number, best = self._store(steps), 0.0
            for index in range(len(steps) - 1, -1, -1):
                best, now = max(0.0, best + steps[index].reward), steps[index].now
                if best > 0.0:
                    known = self._at[now.place].setdefault(now.have, [])
                    known.append((-best, index, -number))
                    if len(known) > self._n.kept_trails:
                        known.sort()
                        del known[self._n.kept_trails :]

    def _store(self, steps: list[TrailStep]) -> int:
        """Keep an episode and return its number."""
        self._episodes.append([_ReplayStep(one, _came(one), self._outcomes[(one.now, one.action)]) for one in steps])
        self._paying.append(max((number for number, step in enumerate(steps, 1) if step.reward > 0), default=0))
        return len(self._episodes) - 1

    def from_here(
        self,
        now: Situation,
        steps: int,
        valid: Container[str],
        gained: Container[Key],
        *,
        as_before: bool,
    ) -> list[Trail]:
        """Return trails that begin in a situation like this one and can be walked in so many steps.

        Each ends with something to be gained. Those with the highest gain come first.

        Args:
            valid: What is possible now; no trail begins with anything else.
            gained: What was gained in this episode already: it is not gained again.
            as_before: Whether random events may be counted on to repeat after the same history.
        """
        found: list[Trail] = []
        # Things carried beyond what was carried then do no harm, as far as anybody knows.
        at = self._at.get(now.place, {})
        known = sorted(begun for have, begins in at.items() if have <= now.have for begun in begins)
        for _, index, number in known[: 2 * self._n.kept_trails]:
            begin = self._episodes[-number][index].step
            if begin.action in valid and jaccard(begin.now.see, now.see) >= self._n.alike:
                found += self._parts(-number, index, steps, gained)
        for number, index in self.histories.continued() if as_before else ():
            if self._episodes[number][index].step.action in valid:
                found += self._parts(number, index, steps, gained, self.histories.repeat_probability)
        chosen: dict[tuple[str, ...], Trail] = {}
        for trail in sorted(found, key=lambda trail: (-trail.worth, -trail.repeat_probability)):
            chosen.setdefault(trail.actions, trail)
            if len(chosen) >= self._n.trails:
                break
        return list(chosen.values())

    def _parts(
        self, number: int, start: int, steps: int, gained: Container[Key], repeat_probability: float = 0.0
    ) -> Iterator[Trail]:
        """Yield the parts of an episode from a step to each gain within so many steps."""
        total, counted, earned = 0.0, 1.0, tuple[Earned, ...]()
        part = self._episodes[number][start : min(start + steps, self._paying[number])]
        for taken, (step, came, outcomes) in enumerate(part, 1):
            if step.terminated:
                break
            same, times = outcomes[came], outcomes.total()
            otherwise = self._otherwise.get(verb(step.action))
            if otherwise is None or not otherwise.hits:
                counted *= rate(same, times, 1.0, 1.0)
            else:
                counted *= rate(same, times, 1.0 - otherwise.rate(), self._n.strength)
            sure = max(repeat_probability, counted)
            if sure < self._n.unlikely:
                break
            key = (step.now.place, step.action)
            if step.reward > 0 and key in gained:
                continue
            total += step.reward
            if step.reward > 0:
                earned = (*earned, Earned(taken, key, step.reward, sure))
                yield Trail(total * sure, part[:taken], earned, sure, repeat_probability)


class _Known(NamedTuple):
    """What came of an action after a history: the history that it made, a digest of the state, and the points."""

    history: int
    state_digest: int
    reward: float


class Histories:
    """A tree of all that was done from the beginning of episodes on, and where this episode stands in it.

    Attributes:
        repeated: Whether all of the last episode was done before, and came to the same: nothing was learnt in it.
    """

    def __init__(self, numbers: PlanNumbers) -> None:
        self._n = numbers
        self.repeated = False
        self._now: int | None = 0
        """Number of the history so far, None if a part of it is not known."""
        self._passed: list[int | None] = []
        self._count = 0
        self._led: dict[tuple[int, str], _Known] = {}
        self._after: defaultdict[int, list[tuple[float, int, int]]] = defaultdict(list)
        """By history, the most that was still gained after it, negative, the episode, negative, and the step."""
        self._killed: defaultdict[int, set[str]] = defaultdict(set)
        """By history, what killed when it was done last."""
        self._as_before, self._otherwise = numbers.as_before, numbers.otherwise
        self._departed = False

    @property
    def repeat_probability(self) -> float:
        """The probability that random events have the same results when all that was done before is the same."""
        return self._as_before / (self._as_before + self._otherwise)

    @property
    def deadly(self) -> frozenset[str]:
        """Return the actions that killed after all the same; none where luck mostly falls otherwise."""
        if self._now is None or self.repeat_probability <= self._n.repeat_threshold:
            return frozenset()
        return frozenset(self._killed.get(self._now, ()))

    def add(self, action: str, state_digest: int, reward: float, *, by_luck: bool, died: bool = False) -> None:
        """Go on by a step of the present episode.

        Args:
            state_digest: Digest of the state after it as the game gave it.
            by_luck: Whether different things were seen to come of this action in the same situation.
        """
        self._passed.append(self._now)
        if self._now is None:
            return
        if died:
            self._killed[self._now].add(action)
        elif self._now in self._killed:
            self._killed[self._now].discard(action)
        key, same = (self._now, action), self.is_as_before(action, state_digest, reward)
        known = self._led.get(key)
        self._departed = self._departed or not same
        if known is None:
            self._count += 1
        elif by_luck:
            self._as_before += same
            self._otherwise += not same
        self._now = self._count if known is None else known.history
        self._led[key] = _Known(self._now, state_digest, reward)

    def is_as_before(self, action: str, state_digest: int, reward: float) -> bool:
        """Return whether all of this episode, and this action after it, was done before, and the same came of it."""
        known = self._led.get((self._now, action)) if self._now is not None else None
        return known is not None and (known.state_digest, known.reward) == (state_digest, reward)

    def lose(self) -> None:
        """Take note that a step of this episode is not known: it is no known history any more."""
        self._now, self._departed = None, True

    def close(self, rewards: Sequence[float], number: int) -> float:
        """End the episode, kept elsewhere under this number; return the most that was gained in any last part of it."""
        best = most = 0.0
        for index in range(len(rewards) - 1, -1, -1):
            best, history = max(0.0, best + rewards[index]), self._passed[index]
            most = max(most, best)
            if best > 0.0 and history is not None:
                known = self._after[history]
                known.append((-best, -number, index))
                known.sort()
                del known[self._n.continuations :]
        if rewards:
            self.repeated = not self._departed
        self._now, self._passed, self._departed = 0, [], False
        return most

    def continued(self) -> Iterator[tuple[int, int]]:
        """Yield the episodes that went on best from here, by number, and the step with which they did."""
        for _, number, index in self._after.get(self._now, ()) if self._now is not None else ():
            yield -number, index

"""What a plan rests on: the remembered steps that it repeats, in the order in which it repeats them.

Plans are made of what all remembered steps say together. People who want to know what a plan rests on want to see the
steps themselves, and a few of each kind are enough: of each action at each place the latest steps in memory are kept,
else one of the running episode.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

from engine import jitrl
from engine.records import Episode, Neighbour, PlanAccount, Step
from engine.values.counts import jaccard
from engine.values.plans import Detour, Plan, Route
from engine.values.text import Key, Situation, Tokens, place_for_people, situation, union

_SHOWN = 3
"""Steps kept of each action at each place."""
_TEXT = 300
"""Characters kept of a state's text."""
_NEAR = 16
"""Steps of a plan that are looked up one by one; of those after them only the ones that gain something."""
_MOST = 32
"""Remembered steps shown of a plan."""


class RememberedStep(NamedTuple):
    """One remembered step.

    Attributes:
        now: The situation it was taken in.
        state_digest: `digest` of the state it was taken in: how states are read changes as more is known.
        hit: The step as it is shown to who is in that very state and takes it next.
    """

    now: Situation
    state_digest: int
    hit: Neighbour


class ExpectedSituation(NamedTuple):
    """A situation as far as it is known.

    Attributes:
        see: What is to be seen; None if that is not known.
        state_digest: `digest` of the state; None if it is only imagined.
    """

    have: Tokens
    see: Tokens | None
    state_digest: int | None = None


def digest(tokens: tuple[str, ...]) -> int:
    """Return a number that is the same for the same tokens, also in another process."""
    return int.from_bytes(blake2b("\n".join(tokens).encode("utf-8", "surrogatepass"), digest_size=8).digest())


class Sources:
    """The remembered steps. Holds no episodes, and of each text one copy.

    Args:
        gamma: Discount of their returns.
    """

    def __init__(self, gamma: float) -> None:
        self._gamma = gamma
        self._steps: dict[Key, list[RememberedStep]] = {}
        self._texts: dict[str, str] = {}
        self._passed: list[Situation] = []
        self._running: dict[Key, RememberedStep] = {}
        self.remembered = 0
        """Number of steps in memory that were read."""

    def begin(self) -> None:
        """An episode begins."""
        self._passed, self._running = [], {}

    def take(self, now: Situation, step: Step | None = None) -> None:
        """Take note of the situation of its next step, which is not in memory yet.

        Args:
            step: The step itself if the episode is running. What memory does not have is shown from it.
        """
        if step is not None:
            hit = self._hit(step, -1, 0, len(self._passed), 0.0)
            known = self._running.get((now.place, step.action))
            if known is None or known.hit.gain <= max(0.0, hit.gain):
                self._running[(now.place, step.action)] = RememberedStep(now, digest(step.state.tokens), hit)
        self._passed.append(now)

    def remember(self, episode: Episode, first: int) -> None:
        """Take note that the episode is in memory.

        Args:
            first: The entry number of its step 0.
        """
        steps = [step for step in episode.steps if step.state.tokens]  # no others were read
        if len(self._passed) != len(steps):
            self._passed = [situation(step.state) for step in steps]
        returns = jitrl.discounted_returns([step.reward for step in episode.steps], self._gamma).tolist()
        passed = iter(self._passed)
        for number, (step, g) in enumerate(zip(episode.steps, returns, strict=True)):
            if step.state.tokens:
                now = next(passed)
                hit = self._hit(step, first + number, episode.number, number, g)
                self._keep((now.place, step.action), RememberedStep(now, digest(step.state.tokens), hit))
        self.remembered += len(steps)

    def _hit(self, step: Step, entry: int, episode: int, number: int, g: float) -> Neighbour:
        text = step.state.text
        text = text if len(text) <= _TEXT else text[: _TEXT - 1] + "…"
        return Neighbour(
            entry=entry,
            similarity=1.0,
            action=step.action,
            g=g,
            episode=episode,
            step=number,
            state=self._texts.setdefault(text, text),
            provenance=step.provenance,
            ahead=0,
            gain=step.env_reward,
        )

    def _keep(self, key: Key, step: RememberedStep) -> None:
        """Keep a step in place of an earlier one in the same situation, but never of one that gained more."""
        known = self._steps.setdefault(key, [])
        gain = step.hit.gain
        known[:] = [other for other in known if other.now != step.now or other.hit.gain > max(0.0, gain)]
        known.append(step)
        if len(known) > _SHOWN:
            del known[next((n for n, other in enumerate(known[:-1]) if other.hit.gain <= 0), 0)]

    def best(self, key: Key, at: ExpectedSituation, *, gains: bool = False) -> RememberedStep | None:
        """Return the step that shows best what comes of an action: in the same situation, else the latest in memory.

        What memory has none of is shown from the running episode.

        Args:
            gains: Whether points are expected of it, so that a step that gained any shows it better.
        """
        known = self._steps.get(key)
        if not known:
            return self._running.get(key)
        if gains:
            known = [step for step in known if step.hit.gain > 0] or known
        for step in reversed(known):
            if step.state_digest == at.state_digest or (step.now.have == at.have and at.see in (None, step.now.see)):
                return step
        return next((step for step in reversed(known) if step.now.have == at.have), known[-1])


def alike(step: RememberedStep, at: ExpectedSituation) -> float:
    """Return how similar a step's situation is to another, 0 to 1; what is not known of it is taken to be alike."""
    if step.state_digest == at.state_digest:
        return 1.0
    seen = step.now.see if at.see is None else at.see
    return jaccard(step.now.context, union(at.have, seen))


def _shown(step: RememberedStep, at: ExpectedSituation, ahead: int = 0, expected: float = 0.0) -> Neighbour:
    """Return a step as it is shown where a plan repeats it after so many steps, and expects so many points of it."""
    return replace(step.hit, similarity=alike(step, at), ahead=ahead, expected=expected)


class _PlanStep(NamedTuple):
    """A step of a plan, what is expected when it is taken, and whether, and how many, points are expected of it."""

    key: Key
    at: ExpectedSituation
    gains: bool
    points: float


class PlanBasis:
    """The remembered steps that the plan in force repeats."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        self._length = 0
        self._steps: list[_PlanStep] = []
        self._found: dict[int, RememberedStep | None] = {}
        """By number of a step of the plan, the one that it repeats."""

    def use_plan(
        self, plan: Plan, world: Mapping[str, Tokens], gains: Container[Key], gained: Container[Key]
    ) -> None:
        """Look at a new plan.

        Args:
            world: What was last seen at the places visited in this episode.
            gains: Where points were ever gained.
            gained: Where they were gained in this episode.
        """
        taken = _expected(_along(plan.route, plan.detour), world) if plan.route is not None else ()
        earned = _earned(plan.route) if plan.route is not None else {}
        self._length = len(plan.actions)
        self._found.clear()
        self._steps = [
            _PlanStep(key, at, key in gains and key not in gained, earned.pop(key, 0.0)) for key, at in taken
        ]

    def hits(self, left: int, now: Situation, state_digest: int, others: Iterable[str]) -> tuple[Neighbour, ...]:
        """Return the remembered steps: the plan's in its order, then one of each of the other actions.

        Args:
            left: Actions of the plan that are still to be taken up to its goal.
            state_digest: `digest` of the present state.
            others: What else was done at this place before.
        """
        here, begin, found = ExpectedSituation(now.have, now.see, state_digest), self._length - left, list[Neighbour]()
        for number, (key, at, gains, points) in enumerate(self._steps[begin:], begin):
            if (number < begin + _NEAR or gains or points) and len(found) < _MOST:
                if number == begin:
                    at, step = here, self._sources.best(key, here, gains=gains)
                else:
                    if number not in self._found:
                        self._found[number] = self._sources.best(key, at, gains=gains)
                    step = self._found[number]
                if step is not None:
                    found.append(_shown(step, at, number - begin, points))
        also = (self._sources.best((now.place, action), here) for action in others)
        return (*found, *(_shown(step, here) for step in also if step is not None))

    def account(self, plan: Plan, place: str, left: float | None, now: Iterable[int]) -> PlanAccount:
        """Return what the value of the plan in force rests on besides the hits.

        Args:
            place: Where the episode stands.
            left: Points that are left to gain, None if nobody knows.
            now: How often each candidate was tried in this episode.
        """
        tries = tuple(_tried(where, action, place) for where, action in dict.fromkeys(plan.tries))
        return PlanAccount(len(plan.actions), tries, plan.spare, left, tuple(now), self._sources.remembered)


def _expected(steps: Iterable[tuple[Key, Tokens]], world: Mapping[str, Tokens]) -> Iterator[
    tuple[Key, ExpectedSituation]
]:
    """Yield the steps with what is expected then: places look as they did last, until the plan does something there."""
    changed = set[str]()
    before = ""
    for key, have in steps:
        place = key[0]
        if place == before:
            changed.add(place)
        yield key, ExpectedSituation(have, None if place in changed else world.get(place))
        before = place


def _along(route: Route, detour: Detour | None) -> list[tuple[Key, Tokens]]:
    """Return where each step of a route with a detour is taken, that and the way back included, and what is carried.

    What was never done yet is among them: nothing is remembered of that. What a detour tries may be just what the
    route does, too, tried for another reason or earlier; the plan does it once.
    """
    steps = route.stops
    if detour is None:
        return steps
    have = steps[detour.start][1] if detour.start < len(steps) else route.at.have
    tries = [(detour.goal[0], action) for action in detour.actions[len(detour.way) :]]
    rest = [*((key, have) for key in detour.back), *steps[detour.start :]]
    for key in tries:
        again = next((n for n, (other, _) in enumerate(rest) if other == key), None)
        if again is not None:
            then = rest[again + 1][0][0] if again + 1 < len(rest) else route.at.place
            if not again or then == key[0]:  # a way may well be walked once more later
                del rest[again]
    return [*steps[: detour.start], *((key, have) for key in (*detour.way, *tries)), *rest]


def _tried(where: str, action: str, place: str) -> str:
    """Return what a detour tries, for people."""
    name = place_for_people(where)
    if not action:
        return f"go to {name}"
    return action if where in ("", place) else f"{action} (in {name})"


def _earned(route: Route) -> dict[Key, float]:
    """Return the points that a route expects, by where they are gained."""
    stops = route.stops
    earned: dict[Key, float] = {}
    for steps, points in route.earned:
        key = stops[steps - 1][0]
        earned[key] = earned.get(key, 0.0) + points
    return earned

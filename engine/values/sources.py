"""Where what is known was lived: for each action at each place the latest steps in memory, else of this episode.

Plans are made of what all remembered steps say together. Who wants to know what a plan rests on wants to see the
steps themselves; of each kind a few are enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from engine import jitrl
from engine.records import Episode, Neighbour, State, Step
from engine.values.conditions import Tokens
from engine.values.experience import Key
from engine.values.situations import Situation

_KEPT = 3
"""Steps kept of each action at each place."""
_TEXT = 300
"""Characters kept of a state's text."""


class Lived(NamedTuple):
    """One remembered step.

    Attributes:
        now: The situation it was taken in.
        told: What `digest` says of the state it was taken in: how states are read changes as more is known.
        hit: The step as it is shown to who is in that very state and takes it next.
    """

    now: Situation
    told: int
    hit: Neighbour


class Expected(NamedTuple):
    """A situation as far as it is known.

    Attributes:
        see: What is to be seen; None if that is not known.
        told: What `digest` says of the state; None if it is only imagined.
    """

    have: Tokens
    see: Tokens | None
    told: int | None = None


def digest(tokens: tuple[str, ...]) -> int:
    """Return a number that is the same for the same tokens, in this process."""
    return hash(tokens)


class Sources:
    """The remembered steps. Holds no episodes, and of each text one copy.

    Args:
        gamma: Discount of their returns.
        read: Takes a state apart, given what can be done in it.
    """

    def __init__(self, gamma: float, read: Callable[[State, tuple[str, ...]], Situation]) -> None:
        self._gamma = gamma
        self._read = read
        self._lived: dict[Key, list[Lived]] = {}
        self._texts: dict[str, str] = {}
        self._passed: list[Situation] = []
        self._running: dict[Key, Lived] = {}
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
                self._running[(now.place, step.action)] = Lived(now, digest(step.state.tokens), hit)
        self._passed.append(now)

    def remember(self, episode: Episode, first: int) -> None:
        """Take note that the episode is in memory.

        Args:
            first: The entry number of its step 0.
        """
        lived = [step for step in episode.steps if step.state.tokens]  # no others were read
        if len(self._passed) != len(lived):
            self._passed = [self._read(step.state, step.valid_actions) for step in lived]
        returns = jitrl.discounted_returns([step.reward for step in episode.steps], self._gamma).tolist()
        passed = iter(self._passed)
        for number, (step, g) in enumerate(zip(episode.steps, returns, strict=True)):
            if step.state.tokens:
                now = next(passed)
                hit = self._hit(step, first + number, episode.number, number, g)
                self._keep((now.place, step.action), Lived(now, digest(step.state.tokens), hit))
        self.remembered += len(lived)

    def _hit(self, step: Step, entry: int, episode: int, number: int, g: float) -> Neighbour:
        text = step.state.text
        text = self._texts.setdefault(text, text) if len(text) <= _TEXT else self._clipped(text)
        return Neighbour(
            entry=entry,
            similarity=1.0,
            action=step.action,
            g=g,
            episode=episode,
            step=number,
            state=text,
            provenance=step.provenance,
            ahead=0,
            gain=step.env_reward,
        )

    def _clipped(self, text: str) -> str:
        short = text[: _TEXT - 1] + "…"
        return self._texts.setdefault(short, short)

    def _keep(self, key: Key, lived: Lived) -> None:
        """Keep a step in place of an earlier one in the same situation, but never of one that gained more."""
        known = self._lived.setdefault(key, [])
        gain = lived.hit.gain
        known[:] = [other for other in known if other.now != lived.now or other.hit.gain > max(0.0, gain)]
        known.append(lived)
        if len(known) > _KEPT:
            del known[next((n for n, other in enumerate(known[:-1]) if other.hit.gain <= 0), 0)]

    def best(self, key: Key, at: Expected, *, gains: bool = False) -> Lived | None:
        """Return the step that shows best what comes of an action: in the same situation, else the latest in memory.

        What memory has none of is shown from the running episode.

        Args:
            gains: Whether points are expected of it, so that a step that gained any shows it better.
        """
        known = self._lived.get(key)
        if not known:
            return self._running.get(key)
        if gains:
            known = [lived for lived in known if lived.hit.gain > 0] or known
        for lived in reversed(known):
            if lived.told == at.told or (lived.now.have == at.have and at.see in (None, lived.now.see)):
                return lived
        return next((lived for lived in reversed(known) if lived.now.have == at.have), known[-1])


def alike(lived: Lived, at: Expected) -> float:
    """Return how similar a step's situation is to another, 0 to 1; what is not known of it is taken to be alike."""
    if lived.told == at.told:
        return 1.0
    have, see = lived.now.have, lived.now.see
    seen = see if at.see is None else at.see
    if have == at.have and see == seen:
        return 1.0
    # What is carried is told by other tokens than what is seen.
    same = len(have & at.have) + len(see & seen)
    return same / (len(have) + len(see) + len(at.have) + len(seen) - same)

"""What an estimator of V and Q is, and what stands in for one that fails.

An error in an estimator is a fault of its code, or a memory that it cannot cope with. Neither ends a session: the step
is decided without it, and a person is told.
"""

from __future__ import annotations

import logging
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NoReturn

import numpy as np

from engine.errors import BadFile, EstimatorError, JitrlError
from engine.records import Candidate, Episode, Neighbour, State, Step, Valuation
from engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Query:
    """All an estimator may look at for one choice.

    Attributes:
        neighbours: N(s), as the same estimator retrieved it.
        candidates: C with prior logits.
        valid_actions: Everything possible now; () if unknown.
        steps_left: Steps until the limit, this one included.
        to_gain: Points between the present score and the maximum, None if there is no known maximum.
        outlook: Share of their usual worth that discoveries have now; less at the end of a run.
    """

    state: State
    neighbours: tuple[Neighbour, ...]
    candidates: tuple[Candidate, ...]
    valid_actions: tuple[str, ...]
    steps_left: int
    to_gain: float | None = None
    outlook: float = 1.0


def outlook(episode: int, episodes: int, settling: float) -> float:
    """Return the share of their usual worth that discoveries have in an episode of a run, 0 < share <= 1.

    What is discovered in the last episode of a run serves nobody in it any more. In a run too short to have an end
    of its own, as one episode now and then, all are alike.

    Args:
        episode: Its number, from 1.
        episodes: Episodes of the run, 0 if nobody knows.
        settling: Share of them, at the end, over which it falls.
    """
    fading = math.floor(settling * episodes)
    left = max(0, episodes - episode)
    return min(1.0, (left + 1.0) / (fading + 1.0))


class Estimator(ABC):
    """Where V and Q come from; the closed-form update is the same for all.

    One derives from this, and needs only `neighbours` and `value`. `keep`, `take_back` and the last two methods are
    called only of a kind that is `replayed` (`engine.values.EstimatorKind`).
    """

    @abstractmethod
    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Return N(s), most similar first; nothing where values are not made of neighbours."""

    @abstractmethod
    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Return V(s) and Q(s, a) for the candidates."""

    def change(self, settings: Settings) -> None:
        """Follow these settings from now on, in which a person has changed some (`engine.session.levers`)."""
        return None

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Return actions to consider beside the model's candidates and the neighbours' actions; none here."""
        return ()

    def begin_episode(self, state: State) -> None:
        """An episode begins in `state`."""
        return None

    def keep(self) -> None:
        """Keep what is known now, at the beginning of an episode whose steps may be taken back."""
        return None

    def take_back(self) -> None:
        """Be as at the last `keep`. `begin_episode` comes next, and the steps of the episode that are left."""
        return None

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """A step of the running episode was taken and led to `then`.

        Args:
            terminated: The task ended the episode with this step. False where it was only cut off.
            lost: The episode ended in death or another loss.
        """
        return None

    def remembered(self, episode: Episode, first: int) -> None:
        """The episode that has just ended is in memory now.

        Args:
            episode: As it is remembered, with the number it has there.
            first: The entry number of its step 0.
        """
        return None

    def decided(self, query: Query, rng: np.random.Generator) -> None:
        """Keep what `also` and `value` kept at a decision that is replayed.

        Args:
            query: As it was then. Its neighbours are those that the decision shows, its candidates are those that it
                has: "both" is the source of one that the model proposed and memory knows.
            rng: As it was then.
        """
        return None

    def stored_elsewhere(self, episode: Episode, first: int) -> None:
        """Learn from an episode that another session stored. Called between two episodes, before `begin_episode`.

        Args:
            episode: As it is remembered.
            first: The entry number of its step 0.
        """
        return None


_LOG = logging.getLogger("jitrl.values")
_LOG.addHandler(logging.NullHandler())  # Without a log file, Python would print errors on stderr.


def failure(error: Exception) -> EstimatorError:
    """Return an exception of an estimator as an error for people, and write it to the log.

    Raises:
        JitrlError: It says something else already, such as that a package is missing.
    """
    if isinstance(error, EstimatorError):
        return error
    if isinstance(error, JitrlError) and not isinstance(error, BadFile):
        raise error
    _LOG.error("an estimator failed", exc_info=error)
    return EstimatorError(f"values could not be read from memory ({type(error).__name__}: {error})")


class FailedEstimator(Estimator):
    """Stands in for an estimator that could not be opened: whatever is asked of it raises the reason.

    What happens is told to it in vain: the next decision fails.

    Args:
        reason: Why it could not be opened.
    """

    def __init__(self, reason: EstimatorError) -> None:
        self._reason = reason

    def _fail(self) -> NoReturn:
        raise self._reason

    def neighbours(self, state: State) -> tuple[Neighbour, ...]:
        """Fail."""
        self._fail()

    def also(self, state: State, valid_actions: tuple[str, ...]) -> tuple[str, ...]:
        """Fail."""
        self._fail()

    def value(self, query: Query, rng: np.random.Generator) -> Valuation:
        """Fail."""
        self._fail()

"""What happens when an estimator fails: the step is decided without it, and a person is told.

An error in an estimator is a fault of its code, or a memory that it cannot cope with. Neither ends a session.
"""

from __future__ import annotations

import logging
from typing import NoReturn

import numpy as np

from engine.errors import BadFile, EstimatorError, JitrlError
from engine.records import Neighbour, State, Valuation
from engine.values.base import Estimator, Query

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

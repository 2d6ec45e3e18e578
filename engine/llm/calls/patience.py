"""Decides how long a call is retried, and how long a decision may wait for its model."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.llm.calls.failures import BROKEN, BUSY, CONTENT, RATE, Failure

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

PASSING = frozenset((RATE, BUSY))
"""Kinds of failures that pass with time. They are retried while the patience lasts."""

REASONS = {RATE: "rate limit", BUSY: "server overloaded", BROKEN: "server failed", CONTENT: "no usable answer",
           "network": "no connection", "timeout": "no answer in time"}  # fmt: skip
"""Reasons for a wait by kind of failure."""

PACED = "pace of calls"
"""Reason for a wait without a failure of this call: earlier calls have the slots, or were asked to wait."""

TOO_LITTLE_S = 0.05
"""No call is started if less time than this is left for the decision."""


@dataclass(frozen=True, slots=True)
class CallLimits:
    """Limits of calls.

    Attributes:
        deadline_s: Seconds that a decision may wait for its model.
        usd, tokens, minutes: Budgets for all calls together; 0 for no limit.
        attempts: Attempts for a call with a failure that seldom passes.
        patience_s: Seconds for which a call is retried that a busy server refuses; 0 to use `attempts` instead.
        first_wait_s, longest_wait_s: Pauses between attempts grow from the first to the second.
    """

    deadline_s: float = 120.0
    usd: float = 0.0
    tokens: int = 0
    minutes: float = 0.0
    attempts: int = 4
    first_wait_s: float = FIRST_WAIT
    longest_wait_s: float = LONGEST_WAIT
    patience_s: float = 0.0


class Patience:
    """Decides after each failure of one call whether and when to retry it.

    Attributes:
        failed: Number of failures so far.
    """

    def __init__(
        self, limits: CallLimits, jitter: random.Random, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        # Jitter spreads the retries of parallel workers. It does not affect any result.
        self._jitter = jitter
        self._clock = clock
        self._wait = limits.first_wait_s
        self._refused: float | None = None
        self._others = 0
        self.failed = 0

    def left(self) -> float:
        """Return the seconds of patience left."""
        if self._refused is None:
            return self._limits.patience_s
        return max(0.0, self._refused + self._limits.patience_s - self._clock())

    def after(self, failure: Failure) -> float | None:
        """Return the seconds to wait before the next attempt, None to give up."""
        self.failed += 1
        if not failure.retry:
            return None
        passes = failure.kind in PASSING
        if passes and self._refused is None:
            self._refused = self._clock()
        self._others += not passes
        left = self.left()
        tries = min(self._limits.attempts, failure.attempts or self._limits.attempts)
        if (self.failed if passes else self._others) >= tries and not (passes and left > 0):
            return None
        wait = min(self._limits.longest_wait_s, self._wait * (0.5 + self._jitter.random()))
        self._wait = min(self._limits.longest_wait_s, self._wait * 2)
        if passes and left > 0:
            wait = min(left, max(wait, failure.wait or 0.0))
        return wait

    def with_attempts(self, failure: Failure) -> Failure:
        """Return `failure` with the number and the duration of the attempts in its message."""
        if failure.kind not in PASSING or self._refused is None or self.failed < 2:
            return failure
        seconds = self._clock() - self._refused
        lasted = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"
        what, _, rest = failure.message.partition("; ")
        text = f"{what}; it was tried {self.failed} times in {lasted}"
        return dataclasses.replace(failure, message=f"{text}; {rest}" if rest else text)


class Deadline(threading.local):
    """Deadline of the running decision. Each thread has its own.

    Attributes:
        until: The deadline on the clock of `time.monotonic`; infinite outside decisions.
    """

    until = math.inf

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """Set a deadline of `seconds` for the block. Inside another decision, that decision's deadline stays."""
        if self.until != math.inf:
            yield self.until
            return
        self.until = time.monotonic() + seconds
        try:
            yield self.until
        finally:
            self.until = math.inf

    def left(self) -> float:
        """Return the seconds left until the deadline."""
        return self.until - time.monotonic()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Postpone the deadline by the time that the block takes."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.until += time.monotonic() - started

"""How long a call is tried again, and until when a decision may wait for its model."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from engine.llm.calls.failures import BUSY, RATE, Failure

FIRST_WAIT, LONGEST_WAIT = 1.0, 60.0

REASONS = {RATE: "rate limit", BUSY: "server overloaded"}
"""What passes by itself, as people call it: it is tried again for as long as the patience lasts."""

PACED = "pace of calls"
"""Why a call waits that no server has refused: others have the next slots, or were asked to wait."""

TOO_LITTLE_S = 0.05
"""With less of a decision's time left, no call is begun any more."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What calls may take.

    Attributes:
        deadline_s: Seconds a decision may wait for its model.
        usd, tokens, minutes: What all calls together may cost; 0 is no limit.
        attempts: How often a call is made that fails in ways that seldom pass.
        patience_s: How long a call is tried again that a busy server refuses; 0 makes it `attempts`, too.
        first_wait_s, longest_wait_s: Pauses between tries grow from the one to the other.
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
    """Says after each failure of one call whether, and when, to try it again.

    Attributes:
        failed: How often the call has failed so far.
    """

    def __init__(
        self, limits: Limits, jitter: random.Random, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        # Jitter keeps parallel workers apart; it has no part in any result.
        self._jitter = jitter
        self._clock = clock
        self._wait = limits.first_wait_s
        self._refused: float | None = None
        self._others = 0
        self.failed = 0

    def left(self) -> float:
        """Return the seconds of patience that are left."""
        if self._refused is None:
            return self._limits.patience_s
        return max(0.0, self._refused + self._limits.patience_s - self._clock())

    def after(self, failure: Failure) -> float | None:
        """Return the seconds to pause before the next try, None if there is to be none."""
        self.failed += 1
        if not failure.retry:
            return None
        passes = failure.kind in REASONS
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

    def told(self, failure: Failure) -> Failure:
        """Return `failure`, its message saying how long it was tried."""
        if failure.kind not in REASONS or self._refused is None or self.failed < 2:
            return failure
        seconds = self._clock() - self._refused
        lasted = f"{seconds / 60:.0f} minutes" if seconds >= 90 else f"{seconds:.0f} s"
        what, _, rest = failure.message.partition("; ")
        told = f"{what}; it was tried {self.failed} times in {lasted}"
        return dataclasses.replace(failure, message=f"{told}; {rest}" if rest else told)


class Deadline(threading.local):
    """Until when the running decision may wait for its model. Each thread has its own.

    Attributes:
        until: On the clock of `time.monotonic`; infinite outside of decisions.
    """

    until = math.inf

    @contextlib.contextmanager
    def within(self, seconds: float) -> Iterator[float]:
        """Give what is done inside `seconds`; inside another decision, what is left of that."""
        if self.until != math.inf:
            yield self.until
            return
        self.until = time.monotonic() + seconds
        try:
            yield self.until
        finally:
            self.until = math.inf

    def left(self) -> float:
        """Return the seconds that are left."""
        return self.until - time.monotonic()

    @contextlib.contextmanager
    def stopped(self) -> Iterator[None]:
        """Do not count what is done inside."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.until += time.monotonic() - started

"""Lets several sessions play step by step at the same time: none takes a step before all have decided theirs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from engine.records import Paused, Resumed
from engine.session.control import Answer, Control

Moment = tuple[int, int]
"""An episode, from 1, and a step in it, from 0."""


class Lockstep:
    """Commands to a group of sessions, and the gate at which they wait for one another. Thread-safe.

    A session that ends its episode early waits until all have ended theirs.

    Args:
        count: Number of sessions.
        paused: Whether to wait at the first step.
    """

    def __init__(self, count: int, *, paused: bool = False) -> None:
        self._changed = threading.Condition()
        self._at: list[Moment | None] = [None] * count
        """Where each session waits, None while it does not."""
        self._over: set[int] = set()
        self._released: Moment = (0, 0)
        """The last step that may be taken."""
        self._together_since = 0.0
        """When the last of them had decided."""
        self._paused, self._delay, self._single = paused, 0.0, 0

    # ------------------------------------------------------------------------------ from any thread

    @property
    def paused(self) -> bool:
        """Whether the sessions wait before their next step."""
        with self._changed:
            return self._paused

    def pause(self) -> None:
        """Wait before the next step."""
        with self._changed:
            self._paused = True
            self._changed.notify_all()

    def resume(self) -> None:
        """Go on."""
        with self._changed:
            self._paused, self._single = False, 0
            self._changed.notify_all()

    def step_once(self) -> None:
        """Let all take one step, then wait."""
        with self._changed:
            self._paused = True
            self._single += 1
            self._changed.notify_all()

    def set_delay(self, seconds: float) -> None:
        """Show decisions for `seconds` before they are carried out; 0 for no delay."""
        with self._changed:
            self._delay = max(0.0, seconds)
            self._changed.notify_all()

    def wake(self) -> None:
        """Let all waiting sessions look whether they were stopped."""
        with self._changed:
            self._changed.notify_all()

    # --------------------------------------------------------------------------- from sessions' threads

    def gate(self, who: int, at: Moment, check: Callable[[], None]) -> None:
        """Wait until all sessions have decided at this step or later, and it may be taken.

        Args:
            who: Number of the session, from 0.
            at: The step that it has decided.
            check: Raises if the session was stopped.
        """
        with self._changed:
            self._at[who] = at
            if self._front() is not None:
                self._together_since = time.monotonic()
            self._changed.notify_all()
            try:
                while at > self._released:
                    check()
                    if self._front() != at:
                        self._changed.wait()
                    elif self._due():
                        self._released = at
                        self._changed.notify_all()
            finally:
                self._at[who] = None

    def leave(self, who: int) -> None:
        """Note that a session has ended: nobody waits for it any more."""
        with self._changed:
            self._over.add(who)
            self._together_since = time.monotonic()
            self._changed.notify_all()

    def _front(self) -> Moment | None:
        """Return the earliest step at which a session waits, None as long as one of them still decides."""
        waiting = [at for who, at in enumerate(self._at) if who not in self._over]
        return None if None in waiting else min((at for at in waiting if at is not None), default=None)

    def _due(self) -> bool:
        """Return whether the next step may be taken now; wait for something to change if not."""
        left = self._together_since + self._delay - time.monotonic()
        if self._paused:
            if self._single > 0:
                self._single -= 1
                return True
        elif left <= 0:
            return True
        self._changed.wait(None if self._paused else left)
        return False


class GroupControl(Control):
    """The commands of one session of a group.

    Args:
        lockstep: The group.
        who: Number of the session, from 0.

    Attributes:
        at: The step that the session has decided last.
    """

    def __init__(self, lockstep: Lockstep, who: int) -> None:
        super().__init__()
        self.at: Moment = (0, 0)
        self._lockstep, self._who = lockstep, who

    def gate(self, episode: int, tell: Callable[[Paused | Resumed], None], hold: str = "") -> Answer:
        """Wait for the others."""
        self._lockstep.gate(self._who, self.at, self.check)
        return Answer()

    def waits(self, episode: int, hold: str = "") -> bool:
        """Return False: nothing is prepared while the session waits for others."""
        return False

    def stop(self) -> None:
        """End the session after the running step."""
        super().stop()
        self._lockstep.wake()

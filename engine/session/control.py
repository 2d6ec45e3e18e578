"""Commands of a person to a session. They may come from any thread and take effect between decision and step."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LONG = 0.2
"""Shortest delay, in seconds, that is worth using for preparation."""


class Stopped(Exception):
    """The person asked the session to stop. Not an error."""


class TakeBack(Exception):
    """The person asked for the last step to be taken back. Not an error."""


class Reread(Exception):
    """The person changed memory, and the decision is to be made again from it. Not an error."""


class Control:
    """Commands, and the gate at which the session waits for them. Thread-safe.

    Args:
        paused: Whether to wait at the first decision.
        delay: Seconds for which each decision is shown before it is carried out.
    """

    def __init__(self, *, paused: bool = False, delay: float = 0.0) -> None:
        self._changed = threading.Condition()
        self._paused = paused
        self._delay = delay
        self._single_steps = 0
        self._fast_until: int | None = None
        self._override: str | None = None
        self._take_back = False
        self._reread = False
        self._stopped = False
        self._on_stop: list[Callable[[], None]] = []

    # ------------------------------------------------------------------------------ from any thread

    def pause(self) -> None:
        """Wait at the next decision. This ends a fast-forward."""
        with self._changed:
            self._paused, self._fast_until = True, None
            self._changed.notify_all()

    def resume(self) -> None:
        """Continue at the usual speed."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def step_once(self) -> None:
        """Carry out one decision, then wait. A running session is paused."""
        with self._changed:
            self._paused, self._fast_until = True, None
            self._single_steps += 1
            self._changed.notify_all()

    def override(self, action: str) -> None:
        """Replace the decision that is shown, or the next one if none is shown, with `action`."""
        with self._changed:
            self._override = action
            self._changed.notify_all()

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""
        with self._changed:
            self._paused, self._fast_until, self._single_steps = True, None, 0
            self._take_back = True
            self._changed.notify_all()

    def reread(self) -> None:
        """Make the decision that waits again, from memory as it is now and with the model's same proposals."""
        with self._changed:
            self._reread = True
            self._changed.notify_all()

    def set_delay(self, seconds: float) -> None:
        """Show each decision for `seconds` before it is carried out; 0 for no delay."""
        with self._changed:
            self._delay = max(0.0, seconds)
            self._changed.notify_all()

    def fast_forward(self, until_episode: int) -> None:
        """Run without delays and pauses until the end of episode `until_episode`."""
        with self._changed:
            self._fast_until = until_episode
            self._changed.notify_all()

    def stop(self) -> None:
        """End the session soon. Running work is interrupted if possible."""
        with self._changed:
            self._stopped = True
            callbacks = list(self._on_stop)
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    # ------------------------------------------------------------------------ from the session's thread

    @property
    def paused(self) -> bool:
        """Whether the session waits at the next gate."""
        with self._changed:
            return self._paused

    def waits(self, episode: int) -> bool:
        """Return whether the gate would hold a decision of this episode for at least `LONG` seconds."""
        with self._changed:
            fast = self._fast_until is not None and episode <= self._fast_until
            return not fast and self._override is None and (self._paused or self._delay >= LONG)

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call `callback` when `stop` is called, in the thread that calls it."""
        with self._changed:
            self._on_stop.append(callback)

    def check(self) -> None:
        """Raise Stopped if the person asked for it."""
        if self._stopped:
            raise Stopped

    def gate(self, episode: int, waiting: Callable[[bool], None]) -> str | None:
        """Wait for the delay or for a command; return the person's action, None if they gave none.

        Args:
            episode: Number of the episode, for fast-forwarding.
            waiting: Called with True when a wait for a command begins, and with False when it ends.

        Raises:
            Stopped: The person stopped the session.
            TakeBack: The person undid the last step.
            Reread: The person changed memory.
        """
        until = time.monotonic() + self._delay
        told = False
        try:
            with self._changed:
                while True:
                    if self._stopped:
                        raise Stopped
                    if self._take_back:
                        self._take_back, self._override = False, None
                        raise TakeBack
                    if self._reread:
                        self._reread = False
                        raise Reread
                    if self._override is not None:
                        action, self._override = self._override, None
                        return action
                    if self._fast_until is not None:
                        if episode <= self._fast_until:
                            return None
                        self._fast_until = None
                    if not self._paused:
                        left = min(until, time.monotonic() + self._delay) - time.monotonic()
                        if left <= 0:
                            return None
                        self._changed.wait(left)
                    elif self._single_steps > 0:
                        self._single_steps -= 1
                        return None
                    else:
                        if not told:
                            told = True
                            waiting(True)
                            continue  # `waiting` may already have led to a command
                        self._changed.wait()
                        until = time.monotonic()
        finally:
            if told:
                waiting(False)

    def wait_for_resume(self, tell: Callable[[], None] = lambda: None) -> None:
        """Wait until the person resumes, after an error that only a person can fix.

        Args:
            tell: Called before waiting begins. A `resume` during this call is not lost.

        Raises:
            Stopped: The person stopped the session.
        """
        with self._changed:
            self._paused, self._fast_until, self._single_steps = True, None, 0
        tell()
        with self._changed:
            while self._paused and self._single_steps == 0:
                if self._stopped:
                    raise Stopped
                self._changed.wait()
            self._single_steps = 0

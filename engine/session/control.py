"""The person's side of a session: commands from any thread, obeyed between deciding and stepping."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LONG = 0.2
"""Seconds from which a delay is worth being used."""


class Stopped(Exception):
    """The person asked the session to stop. Not an error."""


class TakeBack(Exception):
    """The person asked for the last step to be taken back. Not an error."""


class Control:
    """Thread-safe commands, and the gate at which the session's thread waits for them.

    Args:
        paused: Wait at the first decision.
        delay: Seconds each decision is shown before it is carried out.
    """

    def __init__(self, *, paused: bool = False, delay: float = 0.0) -> None:
        self._changed = threading.Condition()
        self._paused = paused
        self._delay = delay
        self._single_steps = 0
        self._fast_until: int | None = None
        self._override: str | None = None
        self._take_back = False
        self._stopped = False
        self._on_stop: list[Callable[[], None]] = []

    # ------------------------------------------------------------------------------ from any thread

    def pause(self) -> None:
        """Wait at the next decision; ends a fast-forward."""
        with self._changed:
            self._paused, self._fast_until = True, None
            self._changed.notify_all()

    def resume(self) -> None:
        """Go on at the usual speed."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def step_once(self) -> None:
        """Carry out one decision, then wait again; pauses if the session was running."""
        with self._changed:
            self._paused, self._fast_until = True, None
            self._single_steps += 1
            self._changed.notify_all()

    def override(self, action: str) -> None:
        """Do `action` instead of the decision now shown, or of the next one if none is."""
        with self._changed:
            self._override = action
            self._changed.notify_all()

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""
        with self._changed:
            self._paused, self._fast_until, self._single_steps = True, None, 0
            self._take_back = True
            self._changed.notify_all()

    def set_delay(self, seconds: float) -> None:
        """Show each decision for `seconds` before it is carried out; 0 is as fast as possible."""
        with self._changed:
            self._delay = max(0.0, seconds)
            self._changed.notify_all()

    def fast_forward(self, until_episode: int) -> None:
        """Neither wait nor pause until the end of episode `until_episode`."""
        with self._changed:
            self._fast_until = until_episode
            self._changed.notify_all()

    def stop(self) -> None:
        """End the session soon; what is running is interrupted where it can be."""
        with self._changed:
            self._stopped = True
            callbacks = list(self._on_stop)
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    # ------------------------------------------------------------------------ from the session's thread

    @property
    def paused(self) -> bool:
        """Whether the next gate will wait."""
        with self._changed:
            return self._paused

    def waits(self, episode: int) -> bool:
        """Return whether the gate would hold a decision of this episode for a while."""
        with self._changed:
            fast = self._fast_until is not None and episode <= self._fast_until
            return not fast and self._override is None and (self._paused or self._delay >= LONG)

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call `callback` when `stop` is called, from that thread."""
        with self._changed:
            self._on_stop.append(callback)

    def check(self) -> None:
        """Raise Stopped if the person asked for it."""
        if self._stopped:
            raise Stopped

    def gate(self, episode: int, waiting: Callable[[bool], None]) -> str | None:
        """Wait as long as the person wants, then return their action if they gave one.

        Args:
            episode: Which episode this is, for fast-forwarding.
            waiting: Told True when a wait for a command begins and False when it ends.

        Raises:
            Stopped: The person asked for it.
            TakeBack: The person wants the last step back.
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
                            continue  # whoever was told may have commanded something right away
                        self._changed.wait()
                        until = time.monotonic()
        finally:
            if told:
                waiting(False)

    def wait_for_resume(self, tell: Callable[[], None] = lambda: None) -> None:
        """Wait until the person resumes (after something went wrong that only they can mend).

        Args:
            tell: Called before waiting begins; who resumes as soon as they are told is heard.
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

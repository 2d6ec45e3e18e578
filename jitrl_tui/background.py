"""One piece of work at a time in a thread of its own: with progress, cancelled by the next piece."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from engine.errors import JitrlError

Result = TypeVar("Result")


class Cancelled(Exception):
    """The work is not wanted any more. Not an error."""


class Background:
    """Runs work in a daemon thread and hands its result to the screen's thread.

    Args:
        call: Calls a function in the screen's thread. It may be called from any thread.
    """

    def __init__(self, call: Callable[[Callable[[], None]], object]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._number = 0
        self.done, self.total = 0, 0
        """Progress of the present work; a total of 0 means that nothing is known of it."""
        self.busy = False

    def begin(
        self,
        work: Callable[[Callable[[int, int], None]], Result],
        finished: Callable[[Result], None],
        failed: Callable[[str], None],
    ) -> None:
        """Begin work, and cancel what is going on.

        Args:
            work: Called in the thread with a function that takes progress, which raises if the work is cancelled.
            finished: Called with the result in the screen's thread, unless the work was cancelled.
            failed: Called with the error in a sentence.
        """
        with self._lock:
            self._number += 1
            number = self._number
        self.done = self.total = 0
        self.busy = True

        def told(done: int, total: int) -> None:
            if number != self._number:
                raise Cancelled
            self.done, self.total = done, total

        def run() -> None:
            with self._turn:
                try:
                    told(0, 0)
                    result = work(told)
                except Cancelled:
                    return
                except (JitrlError, OSError) as error:
                    sentence = str(error)
                    self._call(lambda: self._end(number, lambda: failed(sentence)))
                    return
            self._call(lambda: self._end(number, lambda: finished(result)))

        threading.Thread(target=run, name="background", daemon=True).start()

    def cancel(self) -> None:
        """Cancel what is going on."""
        with self._lock:
            self._number += 1
        self.busy = False

    def _end(self, number: int, then: Callable[[], None]) -> None:
        if number == self._number:
            self.busy = False
            then()

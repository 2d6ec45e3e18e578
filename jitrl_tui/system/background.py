"""Work of the screens in the background. It ends with a result or a sentence, or it is cancelled."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from engine.errors import JitrlError
from jitrl_tui.system import crash, logs

Result = TypeVar("Result")
Progress = Callable[[int, int], None]
"""Takes the progress of work: how much is done, and of how much. It raises if the work was cancelled."""
STORING = "Something is being stored; try again when that is done."
_LOG = logging.getLogger("jitrl")


class Cancelled(Exception):
    """The work is not wanted any more. Not an error."""


class Background:
    """Does one piece of work at a time in a daemon thread, and hands its result to the screen's thread.

    Args:
        screen: The screen; None for results that are taken in the thread of the work.
    """

    def __init__(self, screen: Any | None) -> None:
        self._screen = screen
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._number = 0
        self._what = self._unit = ""
        self._must_end = False
        self._progress = (0, 0)
        self.busy = False

    def begin(
        self,
        work: Callable[[Progress], Result],
        finished: Callable[[Result], None],
        failed: Callable[[str], None],
        *,
        what: str = "Working",
        unit: str = "",
        must_end: bool = False,
    ) -> None:
        """Begin work, and cancel what is going on.

        Args:
            work: Called in the thread with a function that takes progress.
            finished: Called with the result in the screen's thread, unless the work was cancelled.
            failed: Called in the screen's thread with a sentence, whatever the work has raised.
            what: What is done, in a few words.
            unit: What the progress counts, such as "decisions".
            must_end: Whether it changes what is stored. Then it is not cancelled, and other work has to wait.
        """
        if self.storing:
            failed(STORING)
            return
        with self._lock:
            self._number += 1
            number = self._number
        self._what, self._unit, self._must_end, self._progress = what, unit, must_end, (0, 0)
        self.busy = True
        call = self._screen.app.call_later if self._screen is not None else _at_once

        def end(then: Callable[[], None]) -> None:
            if number == self._number:  # what was cancelled may have lost its screen, and what it worked on
                call(self._end, number, then)

        def report_progress(done: int, total: int) -> None:
            if number != self._number:
                raise Cancelled
            self._progress = done, total

        def run() -> None:
            with self._turn:
                try:
                    report_progress(0, 0)
                    result = work(report_progress)
                except Cancelled:
                    return
                except Exception as error:
                    if number == self._number:
                        sentence = _sentence(what, error)
                        end(lambda: failed(sentence))
                    return
            end(lambda: finished(result))

        threading.Thread(target=run, name="background", daemon=True).start()

    @property
    def storing(self) -> bool:
        """Whether something is being stored, which cannot be cancelled."""
        return self.busy and self._must_end

    @property
    def progress_text(self) -> str:
        """What is going on, how far it is, and the key that cancels it; "" if there is nothing to tell."""
        if not (self.busy and self._what):
            return ""
        done, total = self._progress
        count = f" {done:,} of {total:,} {self._unit}".rstrip() + "." if total else ""
        return f"{self._what}…{count}{'' if self._must_end else ' Esc cancels'}"

    def cancel(self) -> bool:
        """Cancel what is going on; return whether something was cancelled."""
        if not self.busy or self.storing:
            return False
        self.close()
        return True

    def close(self) -> None:
        """Take no result any more, because the screen is left."""
        with self._lock:
            self._number += 1
        self.busy = False

    def _end(self, number: int, then: Callable[[], None]) -> None:
        if number == self._number:
            self.busy = False
            then()


def _at_once(do: Callable[..., object], *what: object) -> bool:
    do(*what)
    return True


def _sentence(what: str, error: Exception) -> str:
    if isinstance(error, (JitrlError, OSError)):
        return str(error)
    _LOG.error("%s failed", what, exc_info=error)
    log = logs.where()
    return f"{what} failed ({crash.error_text(error)}).{f' {crash.DETAILS} {log}.' if log else ''}"

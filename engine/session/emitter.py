"""Tells what happens in a session: to who watches, to the recording, and to the folder of pages."""

from __future__ import annotations

import logging
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import EstimatorError, StorageError
from engine.records import Decision, Event, Notice, SessionEnded, SessionStarted, Waiting
from engine.redaction import clean, hide
from engine.session.recorded_steps import SessionReader
from engine.session.recording import Recorder

if TYPE_CHECKING:
    from engine.environment import Environment
    from engine.web.browser.pages import PageStore


_LOG = logging.getLogger("jitrl.session")
_LOG.addHandler(logging.NullHandler())  # Without a log file, Python would print errors on stderr.


class EventWriter:
    """Shows and records the events of a session, without secrets.

    Args:
        emit: Called with every event.
        folder: Folder of the session.
        clock: Returns Unix time in seconds.
        see: Called with every event before it is shown.

    Attributes:
        secrets: Returns the texts that must not be told, recorded or remembered.
        recorder: Writes the recording; None before it is opened and after it failed.
        begun: Whether the recording has its beginning. Nothing is recorded before that.
        reader: Has read all that is recorded.
    """

    def __init__(
        self,
        emit: Callable[[Event], None],
        folder: Path,
        clock: Callable[[], float],
        see: Callable[[Event], None] = lambda event: None,
    ) -> None:
        self.secrets: Callable[[], frozenset[str]] = frozenset
        self.recorder: Recorder | None = None
        self.begun = False
        self.reader = SessionReader()
        self._emit, self._see = emit, see
        self._folder = folder
        self._clock = clock
        self._pages: PageStore | None = None
        self._waited = 0.0
        self._unvalued = ""

    def emit(self, event: Event) -> None:
        """Show an event without recording it."""
        event = clean(event, self.secrets())
        self._log(event)
        self._show(event)

    def record(self, event: Event) -> None:
        """Record an event, then show it. If recording fails, this is reported once and play goes on."""
        self.begun = self.begun or isinstance(event, SessionStarted)
        event = clean(event, self.secrets())
        self._log(event)
        now = self._clock()
        if self.begun:
            self.reader.add(now, event)
        if self.recorder is not None and self.begun:
            try:
                self.recorder.write(event, now)
            except StorageError as error:
                self.close()
                self._show(Notice("warning", f"{error}; play goes on, but this session can't be resumed from here"))
        self._show(event)

    def _show(self, event: Event) -> None:
        self._see(event)
        self._emit(event)

    def warn(self, text: str) -> None:
        """Tell a warning."""
        self.record(Notice("warning", text))

    def unvalued(self, decision: Decision) -> None:
        """Warn of a decision that was made without memory, once for each reason."""
        if decision.tally.unvalued and decision.note != self._unvalued:
            self._unvalued = decision.note
            sentence = f"deciding without memory: {decision.note}; {EstimatorError.remedy}"
            self.record(Notice("warning", sentence, EstimatorError.__name__))

    def _log(self, event: Event) -> None:
        """Write to the log, if there is one: beginnings and ends, warnings, errors, and pauses of a model's server."""
        if isinstance(event, Notice) and event.level != "info":
            level = logging.ERROR if event.level == "error" else logging.WARNING
            details = hide(traceback.format_exc(), self.secrets()) if sys.exc_info()[0] is not None else ""
            _LOG.log(level, "%s: %s%s", self._folder.name, event.message, f"\n{details.rstrip()}" if details else "")
        elif isinstance(event, SessionStarted):
            _LOG.info(
                "%s: %s: %s, agent %s, model %s, profile %s, seed %d, %d steps remembered",
                self._folder.name, "resumed" if event.resumed else "begun", event.environment.name, event.agent,
                event.model, event.profile, event.seed, event.memory_entries,
            )  # fmt: skip
        elif isinstance(event, SessionEnded):
            _LOG.info("%s: %s after %d episodes, average score %g", self._folder.name,
                      "finished" if event.finished else "left", event.episodes, event.average)  # fmt: skip
        elif isinstance(event, Waiting):
            if event.seconds > self._waited:  # The first of a countdown.
                _LOG.warning("%s: %s: next try in %.0f s", self._folder.name, event.reason, event.seconds)
            self._waited = event.seconds if event.seconds > 1 else 0.0

    def page(self, environment: Environment, episode: int, steps: int) -> None:
        """Store the visible page after `steps` steps, if the environment shows pages, and tell of it."""
        if environment.sight is None:
            return
        if self._pages is None:
            from engine.web.browser.pages import PageStore

            self._pages = PageStore(self._folder)
        shown, trouble = self._pages.keep(environment.sight(), episode, steps)
        if trouble:
            self.warn(trouble)
        self.record(shown)

    def close(self) -> None:
        """Close the recording; calling this twice is safe."""
        if self.recorder is not None:
            self.recorder.close()
            self.recorder = None

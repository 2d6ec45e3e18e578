"""Sources of the screen's events and targets of its commands: live sessions and recordings."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import JitrlError
from engine.records import Event, Notice
from jitrl_tui.runs.view import RunView
from jitrl_tui.system import crash

if TYPE_CHECKING:
    from engine.session.control import Control
    from engine.session.loop import Session

Item = Event | RunView
"""An item of an inbox: an event to add, or a whole view that replaces the present one."""


class Inbox:
    """A queue of events for the screen. Any thread may call `put`, only the screen's calls `drain`.

    `wake` is called when an item arrives in an empty inbox, not for each item.
    """

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._items: deque[Item] = deque()
        self._lock = threading.Lock()

    def put(self, item: Item) -> None:
        """Add an event, or a view that replaces all earlier items."""
        with self._lock:
            was_empty = not self._items
            if isinstance(item, RunView):
                self._items.clear()
            self._items.append(item)
        if was_empty:
            self._wake()

    def drain(self, most: int) -> list[Item]:
        """Remove and return at most `most` items, oldest first."""
        with self._lock:
            return [self._items.popleft() for _ in range(min(most, len(self._items)))]

    def __len__(self) -> int:
        return len(self._items)


class InThread(ABC):
    """Work in a thread of its own. Its commands do not block.

    Args:
        name: Name of the thread.
        saves: Folder for the traceback of an unexpected exception.

    Attributes:
        live: Whether it is being run now, and is no recording.
        failure: The error in a sentence, "" if there was none.
        failed_as: Name of the error's class in `engine.errors`, "" if there was no such error.
        exit_code: Exit code for the command line.
    """

    live = False

    def __init__(self, name: str, saves: Path | None = None) -> None:
        self.failure = self.failed_as = ""
        self.exit_code = 0
        self._name = name
        self._saves = saves
        self._inbox: Inbox | None = None
        self._thread: threading.Thread | None = None

    def start(self, inbox: Inbox) -> None:
        """Begin the work."""
        self._inbox = inbox
        self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the thread to end; return whether it has."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    @abstractmethod
    def work(self) -> None:
        """Do the work."""

    @abstractmethod
    def stop(self) -> None:
        """End it properly. What was stored is kept."""

    def failed(self) -> None:
        """Tell of the failure."""
        self.put(Notice("error", self.failure, self.failed_as))

    def put(self, item: Any) -> None:
        """Put an item into the inbox, if there is one."""
        if self._inbox is not None:
            self._inbox.put(item)

    def _run(self) -> None:
        try:
            self.work()
            return
        except JitrlError as error:
            logging.getLogger("jitrl").error("%s failed", self._name, exc_info=error)
            self.failure, self.exit_code, self.failed_as = str(error), error.exit_code, type(error).__name__
        except BaseException as error:  # the screen reports any exception
            sentence = (
                f"Something went wrong that should not have ({crash.error_text(error)}). "
                "What was stored is intact; leave with q and start again."
            )
            self.failure, self.exit_code = f"{sentence} {crash.written_down(error, self._saves)}", 1
        self.failed()


class Source(InThread):
    """A session that is shown, live or recorded. Where it cannot follow a command, the command does nothing.

    Attributes:
        control: What takes a person's commands; None for a recording.
    """

    control: Control | None = None

    def pause(self) -> None:
        """Wait before the next action is carried out."""

    def resume(self) -> None:
        """Continue."""

    def step_once(self) -> None:
        """Carry out one action, then wait."""

    def overrule(self, question: int, action: str, *, go_on: bool = False) -> bool:
        """Take `action` in place of the decision that a question is about; 0: of the one that waits or comes next.

        With `go_on` a run that is paused continues.

        Returns:
            False if it is known at once to be too late: that decision does not wait any more.
        """
        return True

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""

    def reread(self) -> None:
        """Make the decision that waits again, from memory as it is now."""

    def set_delay(self, seconds: float) -> None:
        """Leave this much time between steps."""

    def fast_forward(self, episodes: int) -> None:
        """Go on without delay: 0 to the end of this episode, N for N episodes after it."""


class LiveSource(Source):
    """A live session in its own thread.

    Args:
        open_session: Makes the session. Its argument is called with each event. It should be fast; `run`
            loads the rest in the thread.
        saves: Folder for the traceback of an unexpected exception.
        before: Returns what is told in the thread before the session begins, "" for nothing.
        after: Called in the thread when the session has ended.
        again: Returns the command that resumes the session, "" if there is nothing to resume.
    """

    live = True
    control: Control

    def __init__(
        self,
        open_session: Callable[[Callable[[Event], None]], Session],
        *,
        saves: Path | None = None,
        before: Callable[[], str] = lambda: "",
        after: Callable[[], object] = lambda: None,
        again: Callable[[], str] = lambda: "",
    ) -> None:
        super().__init__("session", saves)
        self._before, self._after = before, after
        self.again = again
        self._session = open_session(self.put)
        self.control = self._session.control

    def pause(self) -> None:
        """Wait at the next decision."""
        self.control.pause()

    def resume(self) -> None:
        """Continue at the usual speed."""
        self.control.resume()

    def step_once(self) -> None:
        """Carry out one decision, then wait."""
        self.control.step_once()

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""
        self.control.take_back()

    def reread(self) -> None:
        """Make the decision that waits again, from memory as it is now."""
        self.control.reread()

    def set_delay(self, seconds: float) -> None:
        """Show each decision this long before it is carried out."""
        self.control.set_delay(seconds)

    def fast_forward(self, episodes: int) -> None:
        """Go on without delay: 0 to the end of this episode, N for N episodes after it."""
        self._session.fast_forward(episodes)

    def overrule(self, question: int, action: str, *, go_on: bool = False) -> bool:
        """Take `action` in place of the decision that a question is about; 0: of the one that waits or comes next."""
        from engine.session.control import PersonSaid

        if question:
            return self.control.answer(question, PersonSaid.INSTEAD, action, go_on=go_on)
        self.control.override(action, go_on=go_on)
        return True

    def stop(self) -> None:
        """Stop the session. What was played is kept."""
        self.control.stop()

    def work(self) -> None:
        """Play the session. It tells of its own errors itself."""
        try:
            if sentence := self._before():
                self.put(Notice("info", sentence))
            self._session.run()
        finally:
            self._after()
        error = getattr(self._session, "error", None)
        if error is not None:
            self.failure, self.exit_code = str(error), error.exit_code

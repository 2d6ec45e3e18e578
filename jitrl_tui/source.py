"""Sources of the screen's events and targets of its commands: live sessions and recordings."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from engine.errors import JitrlError
from engine.records import Event, Notice
from jitrl_tui import crash
from jitrl_tui.view import RunView

if TYPE_CHECKING:
    from engine.session.control import Control

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


class Source(Protocol):
    """A run that is shown. Its commands do not block."""

    live: bool
    """Whether it is a live session, whose decisions can be overruled."""

    @property
    def exit_code(self) -> int:
        """Exit code for the command line."""
        ...

    @property
    def failure(self) -> str:
        """The error in a sentence, "" if there was none."""
        ...

    def start(self, inbox: Inbox) -> None:
        """Start the run and put its events into `inbox`."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait for the source's thread to end; return whether it has."""
        ...

    def pause(self) -> None:
        """Wait before the next action is carried out."""
        ...

    def resume(self) -> None:
        """Continue."""
        ...

    def step_once(self) -> None:
        """Carry out one action, then wait."""
        ...

    def override(self, action: str) -> None:
        """Take `action` in place of the decision."""
        ...

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""
        ...

    def set_delay(self, seconds: float) -> None:
        """Leave this much time between steps."""
        ...

    def fast_forward(self, episodes: int) -> None:
        """Go on without delay: 0 to the end of this episode, N for N episodes after it."""
        ...

    def stop(self) -> None:
        """End the run properly."""
        ...


class RunnableSession(Protocol):
    """The part of `engine.session.loop.Session` that a live source uses."""

    control: Control

    def fast_forward(self, episodes: int) -> None:
        """Run without delay to the end of this episode, or of `episodes` more."""
        ...

    def run(self) -> Any:
        """Play until the session ends. This blocks."""
        ...


class LiveSource:
    """A live session in its own thread.

    Args:
        open_session: Makes the session. Its argument is called with each event. It should be fast; `run`
            loads the rest in the thread.
        saves: Folder for the traceback of an unexpected exception.
    """

    live = True

    def __init__(
        self,
        open_session: Callable[[Callable[[Event], None]], RunnableSession],
        *,
        saves: Path | None = None,
    ) -> None:
        self._inbox: Inbox | None = None
        self._session = open_session(self._emit)
        self._saves = saves
        self._thread: threading.Thread | None = None
        self.failure = ""
        self.exit_code = 0

    def start(self, inbox: Inbox) -> None:
        """Run the session in its thread."""
        self._inbox = inbox
        self._thread = threading.Thread(target=self._run, name="session", daemon=True)
        self._thread.start()

    def wait(self, seconds: float) -> bool:
        """Wait for the session's thread to end; return whether it has."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def pause(self) -> None:
        """Wait before the next action is carried out."""
        self._session.control.pause()

    def resume(self) -> None:
        """Continue."""
        self._session.control.resume()

    def step_once(self) -> None:
        """Carry out one action, then wait again."""
        self._session.control.step_once()

    def override(self, action: str) -> None:
        """Take `action` in place of the decision."""
        self._session.control.override(action)

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""
        self._session.control.take_back()

    def set_delay(self, seconds: float) -> None:
        """Leave this much time between steps."""
        self._session.control.set_delay(seconds)

    def fast_forward(self, episodes: int) -> None:
        """Go on without delay: 0 to the end of this episode, N for N episodes after it."""
        self._session.fast_forward(episodes)

    def stop(self) -> None:
        """End the session properly. Finished steps and episodes are stored."""
        self._session.control.stop()

    def _emit(self, event: Event) -> None:
        if self._inbox is not None:
            self._inbox.put(event)

    def _run(self) -> None:
        try:
            self._session.run()
            error = getattr(self._session, "error", None)  # the session has reported it itself
            if error is not None:
                self._fail(str(error), error.exit_code)
        except JitrlError as error:
            self._fail(str(error), error.exit_code)
            self._emit(Notice("error", self.failure))
        except BaseException as error:  # the screen reports any exception
            sentence = (
                f"Something went wrong that should not have ({crash.named(error)}). "
                "What was stored is intact; leave with q and start again."
            )
            self._fail(f"{sentence} {crash.written_down(error, self._saves)}", 1)
            self._emit(Notice("error", self.failure))

    def _fail(self, sentence: str, exit_code: int) -> None:
        self.failure, self.exit_code = sentence, exit_code

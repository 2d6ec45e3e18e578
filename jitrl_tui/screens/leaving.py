"""A screen that ends its source properly before it is left."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol

from textual.screen import Screen

from jitrl_tui.host import Host

PATIENCE_S = 1.5
"""Seconds after which the screen says what it waits for."""
LONGEST_S = 60.0
"""Seconds after which it is left all the same."""


class Stoppable(Protocol):
    """The part of a source that ends."""

    def stop(self) -> None:
        """End properly."""
        ...

    def wait(self, seconds: float) -> bool:
        """Wait for the end; return whether it has come."""
        ...


class LeavingScreen(Screen[int]):
    """A screen whose source is stopped, and waited for, when it is left.

    Attributes:
        leaving: What it waits for, "" as long as it is not being left.
    """

    app: Host
    leaving = ""
    waits_for = "finishing; q again leaves at once"
    """What `leaving` says if the source does not end soon."""

    def show_leaving(self) -> None:
        """Show the text of `leaving`."""
        raise NotImplementedError

    def leave(self, source: Stoppable, then: Callable[[], None]) -> None:
        """Stop the source, wait for its end, and call `then` in the app's thread; when called again, at once."""
        if self.leaving:
            then()
            return
        self.leaving = "leaving…"
        source.stop()
        self.show_leaving()
        # Python waits for the threads of Textual's workers before it ends, but not for a daemon.
        threading.Thread(target=self._wait, args=(source, then), name="leave", daemon=True).start()

    def _wait(self, source: Stoppable, then: Callable[[], None]) -> None:
        if not source.wait(PATIENCE_S):
            self.leaving = self.waits_for
            self.app.call_from_thread(self.show_leaving)
            source.wait(LONGEST_S)
        self.app.call_from_thread(then)

"""What screens of something that runs have in common: they draw what it tells, and end it properly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from textual.screen import Screen
from textual.widgets import Static

from engine import waits
from jitrl_tui.host import Host
from jitrl_tui.runs.source import Inbox, InThread
from jitrl_tui.screens.command_screen import CommandScreen
from jitrl_tui.screens.dialogs import ConfirmDialog
from jitrl_tui.widgets.layout import LEAST_HEIGHT, LEAST_WIDTH

FRAME_S, HURRIED_S = 1 / 15, 1 / 4
"""Shortest time between two drawings in seconds, usually and in fast-forward, where keys must not wait for drawings."""
KEPT = "What was played is kept, and it goes on from here next time."
"""What a question before leaving says."""


class Feed:
    """Hands what a source tells to a screen, at most once a frame.

    Args:
        screen: The screen.
        take: Called with the items that have arrived, in the screen's thread. It draws, and calls `drawn`.
        frame_s: Shortest time between two drawings, in seconds.
        batch: Largest number of items that are handed over before keys are handled again.

    Attributes:
        inbox: Takes the items, from any thread.
    """

    def __init__(
        self, screen: Screen[int], take: Callable[[list[Any]], None], *, frame_s: float = FRAME_S, batch: int = 800
    ) -> None:
        self._screen, self._take, self._batch = screen, take, batch
        self.frame_s = frame_s
        self.inbox = Inbox(self._wake)
        self._drawn_at = -1.0
        self._waits = False

    def drawn(self) -> None:
        """Note that the screen is drawn now."""
        self._drawn_at = time.monotonic()

    def _wake(self) -> None:
        """Ask the screen's thread for a look. This is called from any thread when an item arrives in an empty inbox."""
        self._screen.call_later(self._look)

    def _look(self) -> None:
        """Hand items over now, or as soon as a frame's time has passed since the last drawing."""
        if self._waits:
            return
        wait = self._drawn_at + self.frame_s - time.monotonic()
        if wait <= 0:
            self._hand_over()
        else:
            self._waits = True
            self._screen.set_timer(wait, self._hand_over)

    def _hand_over(self) -> None:
        self._waits = False
        self._take(self.inbox.drain(self._batch))
        if len(self.inbox):
            self._wake()


class Ending:
    """Ends what a screen shows before the screen is left.

    Args:
        source: What runs. It is stopped, and waited for.
        screen: The screen.
        draw: Draws `told`.
        runs: Returns whether something runs that leaving would stop, as far as the screen knows.
        waits_for: What is told if the source does not end soon.

    Attributes:
        told: What is waited for, "" as long as the screen is not being left.
    """

    def __init__(
        self,
        source: InThread,
        screen: RunningScreen,
        draw: Callable[[], None],
        runs: Callable[[], bool],
        waits_for: str = "finishing; q again leaves at once",
    ) -> None:
        self._source, self._screen, self._draw = source, screen, draw
        self._runs, self._waits_for = runs, waits_for
        self.message = ""

    @property
    def stops_something(self) -> bool:
        """Whether something runs that leaving would stop."""
        return self._source.live and not self.message and not self._source.wait(0) and self._runs()

    def ask(self, question: str, yes: str, then: Callable[[], None], key: str = "q") -> None:
        """Leave, after a question if something runs that this would stop. Asked twice, there is one question.

        Args:
            question: What will happen, in sentences.
            yes: What Enter does, in a word or two.
            then: Called in the app's thread when the source has ended.
            key: The key that asks, as people write it.
        """
        app = self._screen.app
        if not self.stops_something:
            self.leave(then)
        elif not any(isinstance(screen, ConfirmDialog) for screen in app.screen_stack):
            dialog = ConfirmDialog("leave?", question, yes, key)
            app.push_screen(dialog, lambda agreed: self.leave(then) if agreed else None)

    def stop(self) -> None:
        """Stop the source, and wait for nothing."""
        self._source.stop()

    def leave(self, then: Callable[[], None]) -> None:
        """Stop the source, wait for its end, and call `then` in the app's thread; when called again, at once."""
        if self.message:
            then()
            return
        self.message = "leaving…"
        self.stop()
        self._draw()
        # Python waits for the threads of Textual's workers before it ends, but not for a daemon.
        threading.Thread(target=self._wait, args=(self._screen.app, then), name="leave", daemon=True).start()

    def _wait(self, app: Host, then: Callable[[], None]) -> None:
        if not self._source.wait(waits.LEAVE.seconds):
            self.message = self._waits_for
            app.call_later(self._draw)
            self._source.wait(waits.LEFT.seconds)
        app.call_later(then)


class RunningScreen(CommandScreen[int]):
    """A screen of something that runs.

    Attributes:
        ending: Ends what runs before the screen is left.
        watches: Whether it is the watch screen.
    """

    ending: Ending
    watches = False

    def on_unmount(self) -> None:
        """Stop what runs, however the screen ends."""
        self.ending.stop()

    def show_unless_tiny(self, *names: str) -> None:
        """Show widgets, or in their place a notice if the window is too small for them."""
        width, height = self.app.size
        tiny = width < LEAST_WIDTH or height < LEAST_HEIGHT
        for name in names:
            self.query_one(name).display = not tiny
        self.query_one(TooSmall).show(tiny)

    def leave_properly(self) -> None:
        """End what runs, then the app, without a question."""
        self.ending.leave(self.app.leave_now)


class TooSmall(Static):
    """Says in place of everything else that the window is too small."""

    def __init__(self) -> None:
        super().__init__(id="tiny", markup=False)

    def show(self, tiny: bool) -> None:
        """Show or hide the notice."""
        width, height = self.app.size
        self.display = tiny
        if tiny:
            self.update(
                f"This window is too small:\n{width} × {height}, needed {LEAST_WIDTH} × {LEAST_HEIGHT}.\n"
                "The run goes on; q leaves."
            )

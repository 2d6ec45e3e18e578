"""The base of screens that show something that runs: they draw what it tells, and end it properly."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from textual.message import Message
from textual.screen import Screen
from textual.widgets import Static

from engine import waits
from jitrl_tui.host import Host
from jitrl_tui.keymap import Key
from jitrl_tui.screens.dialogs import ConfirmDialog
from jitrl_tui.source import Inbox, InThread
from jitrl_tui.widgets.layout import LEAST_HEIGHT, LEAST_WIDTH

FRAME_S, HURRIED_S = 1 / 15, 1 / 4
"""Shortest time between two drawings in seconds, usually and in fast-forward, where keys must not wait for drawings."""
KEPT = "What was played is kept, and it goes on from here next time."
"""What a question before leaving says."""


class RunningScreen(Screen[int]):
    """A screen that takes items from an inbox, and whose source is stopped, and waited for, when it is left.

    Args:
        source: What runs.

    Attributes:
        leaving: What it waits for, "" as long as it is not being left.
    """

    app: Host
    frame_s = FRAME_S
    """Shortest time between two drawings, in seconds."""
    batch = 800
    """Largest number of items that are processed before keys are handled again."""
    waits_for = "finishing; q again leaves at once"
    """What `leaving` says if the source does not end soon."""

    watches = False
    """Whether it is the watch screen."""
    key_table: tuple[Key, ...] = ()
    """The keys of the screen, for the command palette."""

    class Waiting(Message):
        """Items have arrived in an empty inbox."""

    def __init__(self, source: InThread) -> None:
        super().__init__()
        self.leaving = ""
        self._ending = source
        self._inbox = Inbox(self._wake)
        self._drawn_at = -1.0
        self._draw_pending = False

    def take_in(self, items: list[Any]) -> None:
        """Process items of the inbox, and draw."""
        raise NotImplementedError

    def show_leaving(self) -> None:
        """Show the text of `leaving`."""
        raise NotImplementedError

    def _arrange(self) -> None:
        """Arrange the widgets for the size of the window."""
        raise NotImplementedError

    def _draw(self) -> None:
        """Draw everything."""
        raise NotImplementedError

    # ---------------------------------------------------------------------------------------- items

    def drawn(self) -> None:
        """Note that the screen is drawn now."""
        self._drawn_at = time.monotonic()

    def _wake(self) -> None:
        """Ask for processing of the inbox. This is called from any thread when an item arrives in the empty inbox."""
        self.post_message(self.Waiting())

    def on_running_screen_waiting(self) -> None:
        """Process items now, or as soon as a frame's time has passed since the last drawing."""
        if self._draw_pending:
            return
        wait = self._drawn_at + self.frame_s - time.monotonic()
        if wait <= 0:
            self._take_in()
        else:
            self._draw_pending = True
            self.set_timer(wait, self._take_in)

    def _take_in(self) -> None:
        self._draw_pending = False
        self.take_in(self._inbox.drain(self.batch))
        if len(self._inbox):
            self._wake()

    # ----------------------------------------------------------------------------------------- size

    def on_resize(self) -> None:
        """Arrange the widgets for the new size."""
        self._arrange()
        self.call_after_refresh(self._draw)

    def show_too_small(self, tiny: bool) -> None:
        """Show or hide the notice that the window is too small, the widget `#tiny`."""
        width, height = self.app.size
        notice = self.query_one("#tiny", Static)
        notice.display = tiny
        if tiny:
            notice.update(
                f"This window is too small:\n{width} × {height}, needed {LEAST_WIDTH} × {LEAST_HEIGHT}.\n"
                "The run goes on; q leaves."
            )

    # -------------------------------------------------------------------------------------- leaving

    def goes_on(self) -> bool:
        """Return whether something runs that leaving would stop."""
        return self._ending.live and not self.leaving and not self._ending.wait(0)

    def ask_to_leave(self, question: str, yes: str, then: Callable[[], None], key: str = "q") -> None:
        """Leave, after a question if something runs that this would stop. Asked twice, there is one question.

        Args:
            question: What will happen, in sentences.
            yes: What Enter does, in a word or two.
            then: Called in the app's thread when the source has ended.
            key: The key that asks, as people write it.
        """
        if not self.goes_on():
            self.leave(then)
        elif not any(isinstance(screen, ConfirmDialog) for screen in self.app.screen_stack):
            dialog = ConfirmDialog("leave?", question, yes, key)
            self.app.push_screen(dialog, lambda agreed: agreed and self.leave(then))

    def leave(self, then: Callable[[], None]) -> None:
        """Stop the source, wait for its end, and call `then` in the app's thread; when called again, at once."""
        if self.leaving:
            then()
            return
        self.leaving = "leaving…"
        self._ending.stop()
        self.show_leaving()
        # Python waits for the threads of Textual's workers before it ends, but not for a daemon.
        threading.Thread(target=self._wait, args=(self.app, then), name="leave", daemon=True).start()

    def leave_properly(self) -> None:
        """End what runs, then the app, without a question."""
        self.leave(self.app.leave_now)

    def _wait(self, app: Host, then: Callable[[], None]) -> None:
        if not self._ending.wait(waits.LEAVE.seconds):
            self.leaving = self.waits_for
            app.call_later(self.show_leaving)
            self._ending.wait(waits.LEFT.seconds)
        app.call_later(then)

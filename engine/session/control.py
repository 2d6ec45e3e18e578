"""Commands of a person to a session. They may come from any thread and take effect between decision and step."""

from __future__ import annotations

import enum
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from engine.records import Notice, Paused, Resumed, Steered
from engine.session.orders import ALWAYS, NEVER, Orders

LONG = 0.2
"""Shortest delay, in seconds, that is worth using for preparation."""
FOREVER = 1 << 60
"""Number of an episode that never comes: a fast-forward to it ends at a breakpoint."""


class StopRequested(Exception):
    """The person asked the session to stop. Not an error."""


class TakeBack(Exception):
    """The person asked for the last step to be taken back. Not an error."""


class Reread(Exception):
    """The person changed memory or settings, and the decision is to be made again. Not an error."""


class EndEpisode(Exception):
    """The person asked for the end of the episode. Not an error."""


class PersonSaid(enum.Enum):
    """What a person said to a decision."""

    NOTHING = enum.auto()
    """It is carried out, and nobody was asked."""
    APPROVED = enum.auto()
    HANDED_OVER = enum.auto()
    """It is carried out, as the first one of those that the person handed over while it was held."""
    INSTEAD = enum.auto()
    """Another action is taken."""
    VETOED = enum.auto()
    """Its action is not taken in this state; the agent chooses again."""
    REDO = enum.auto()
    """The step that was taken back is taken again."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a person said to a decision.

    Attributes:
        action: The action of `INSTEAD` and `VETOED`; how far was handed over for `HANDED_OVER`.
    """

    said: PersonSaid = PersonSaid.NOTHING
    action: str = ""


class Control:
    """Commands, and the gate at which the session waits for them. Thread-safe.

    Args:
        paused: Whether to wait at the first decision.
        delay: Seconds for which each decision is shown before it is carried out.
        orders: When to ask, and the breakpoints.
    """

    def __init__(self, *, paused: bool = False, delay: float = 0.0, orders: Orders | None = None) -> None:
        self._changed = threading.Condition()
        self._paused = paused
        self._delay = delay
        self._orders = orders or Orders()
        self._single_steps = 0
        self._fast_until: int | None = None
        self._handed_steps = 0
        self._handed = ""
        self._overrides: deque[str] = deque()
        self._question = 0
        self._held: Paused | None = None
        self._answer: Answer | None = None
        self._mending = False
        self._take_back = self._redo = self._reread = False
        self._changes: dict[str, Any] = {}
        self._end_episode = 0
        self._stopped = False
        self._on_stop: list[Callable[[], None]] = []
        self._on_order: list[Callable[[Orders], None]] = []
        self._reports: deque[Steered | Notice] = deque()

    # ------------------------------------------------------------------------------ from any thread

    def pause(self) -> None:
        """Wait at the next decision. This ends a fast-forward."""
        with self._changed:
            self._come_back()
            self._changed.notify_all()

    def resume(self) -> None:
        """Continue at the usual speed. A session that asks still waits for the answer."""
        with self._changed:
            self._paused = False
            self._changed.notify_all()

    def step_once(self) -> None:
        """Carry out one decision, then wait. A running session is paused.

        If the session asks, this approves the decision that it asks about, and does nothing if none waits.
        """
        with self._changed:
            steps = self._single_steps
            self._come_back()
            if self._held is not None and self._held.asks:
                self._answer = Answer(PersonSaid.APPROVED)
            elif self._mending or self._orders.ask != ALWAYS:
                self._single_steps = steps + 1
            self._changed.notify_all()

    def override(self, action: str, *, go_on: bool = False) -> None:
        """Replace the decision that is shown, or the next one if none is shown, with `action`.

        Actions that are given before the decision before was replaced are for the decisions after it.

        Args:
            action: The action.
            go_on: Whether to resume with it. A `resume` after it could come when the next decision waits already, which
                would be carried out at once then.
        """
        with self._changed:
            self._paused = self._paused and not go_on
            self._overrides.append(action)
            self._changed.notify_all()

    def answer(self, question: int, said: PersonSaid, action: str = "", *, go_on: bool = False) -> bool:
        """Answer a question of the session (`Paused.question`), and resume with it if `go_on` is true.

        Returns:
            Whether it is still asked. If not, the answer has no effect.
        """
        with self._changed:
            asked = self._held is not None and question == self._held.question
            if asked:
                self._paused = self._paused and not go_on
                self._answer = Answer(said, action)
                self._changed.notify_all()
            return asked

    def take_back(self) -> None:
        """Undo the last step of this episode, then wait."""
        with self._changed:
            self._come_back()
            self._take_back = True
            self._changed.notify_all()

    def reread(self) -> None:
        """Make the decision that waits again, from memory as it is now and with the model's same proposals."""
        with self._changed:
            self._reread = True
            self._changed.notify_all()

    def change(self, changes: Mapping[str, Any]) -> None:
        """Change settings of the running session (`engine.session.levers`). A decision that waits is made again."""
        with self._changed:
            self._changes |= changes
            self._changed.notify_all()

    def redo(self) -> None:
        """Take the step again that was taken back last, then wait."""
        with self._changed:
            self._come_back()
            self._redo = True
            self._changed.notify_all()

    def end_episode(self, episode: int) -> None:
        """End an episode before its next step. Nothing happens if another one is running."""
        with self._changed:
            self._end_episode = episode
            self._changed.notify_all()

    def order(self, orders: Orders) -> None:
        """Change when the session asks, and its breakpoints. A decision that it asks about still waits."""
        with self._changed:
            self._orders = orders
            if self._held is not None and self._held.asks and orders.ask != ALWAYS:
                self._paused = True
            callbacks = list(self._on_order)
            self._changed.notify_all()
        for callback in callbacks:
            callback(orders)

    def set_delay(self, seconds: float) -> None:
        """Show each decision for `seconds` before it is carried out; 0 for no delay."""
        with self._changed:
            self._delay = max(0.0, seconds)
            self._changed.notify_all()

    def fast_forward(self, until_episode: int) -> None:
        """Run without delays, pauses and questions until the end of episode `until_episode`, or to a breakpoint."""
        with self._changed:
            self._fast_until, self._handed_steps, self._single_steps = until_episode, 0, 0
            until = "a breakpoint" if until_episode >= FOREVER else f"the end of episode {until_episode}"
            self._handed = f"handed over until {until}"
            self._changed.notify_all()

    def hand_over(self, steps: int) -> None:
        """Run so many steps without delays, pauses and questions, or to a breakpoint, then wait."""
        with self._changed:
            self._fast_until, self._handed_steps, self._single_steps = None, max(0, steps), 0
            self._handed = f"handed over for {steps} step{'s' if steps != 1 else ''}"
            self._changed.notify_all()

    def stop(self) -> None:
        """End the session soon. Running work is interrupted if possible."""
        with self._changed:
            self._stopped = True
            callbacks = list(self._on_stop)
            self._changed.notify_all()
        for callback in callbacks:
            callback()

    def report(self, event: Steered | Notice) -> None:
        """Let the session tell what another process did, as soon as it is between two steps."""
        with self._changed:
            self._reports.append(event)
            self._changed.notify_all()

    @property
    def held(self) -> Paused | None:
        """What the session waits for at the gate, None if it does not wait."""
        with self._changed:
            return self._held

    # ------------------------------------------------------------------------ from the session's thread

    def reports(self) -> list[Steered | Notice]:
        """Return what was reported and not told yet."""
        with self._changed:
            found = list(self._reports)
            self._reports.clear()
        return found

    def changes(self) -> dict[str, Any]:
        """Return the settings that were changed and not taken over yet, by name."""
        with self._changed:
            found, self._changes = self._changes, {}
        return found

    @property
    def orders(self) -> Orders:
        """When the session asks, and its breakpoints."""
        with self._changed:
            return self._orders

    @property
    def paused(self) -> bool:
        """Whether the session waits at the next gate."""
        with self._changed:
            return self._paused

    def handed_over(self, episode: int) -> str:
        """Return how far the person handed over, "" if the next decision of this episode is not handed over."""
        with self._changed:
            return self._handed if self._hurries(episode) else ""

    def waits(self, episode: int, hold: str = "") -> bool:
        """Return whether the gate would hold a decision of this episode for at least `LONG` seconds."""
        with self._changed:
            if self._overrides or (self._hurries(episode) and not hold):
                return False
            return bool(hold) or self._paused or self._delay >= LONG or self._orders.ask == ALWAYS

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Call `callback` when `stop` is called, in the thread that calls it."""
        with self._changed:
            self._on_stop.append(callback)

    def on_order(self, callback: Callable[[Orders], None]) -> None:
        """Call `callback` with new orders when `order` is called, in the thread that calls it."""
        with self._changed:
            self._on_order.append(callback)

    def check(self) -> None:
        """Raise Stopped if the person asked for it."""
        if self._stopped:
            raise StopRequested

    def turn(self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """Wait until the next step may be decided: at once, unless sessions play in turn.

        Args:
            waiting: Returns the context in which others are waited for.

        Raises:
            Stopped: The person stopped the session.
        """
        self.check()

    def gate(self, episode: int, tell: Callable[[Paused | Resumed | Steered | Notice], None], hold: str = "") -> Answer:
        """Wait for the delay or for a command; return what the person said.

        Args:
            episode: Number of the episode, for fast-forwarding.
            tell: Called with Paused when a wait for a command begins, with Resumed when it ends, and with what was
                reported.
            hold: Why a breakpoint holds this decision, "" if none does. It ends a fast-forward.

        Raises:
            Stopped: The person stopped the session.
            TakeBack: The person undid the last step.
            Reread: The person changed memory, or settings that a decision which waits is not made with.
            EndEpisode: The person ended the episode.
        """
        until = time.monotonic() + self._delay
        try:
            with self._changed:
                self._question += 1
                self._answer = None
                if hold:
                    paused = self._paused
                    self._come_back()
                    self._paused = paused or self._orders.ask == NEVER
                while True:
                    while self._reports:
                        tell(self._reports.popleft())
                    command = self._command(episode)
                    if command is not None:
                        return command
                    if self._hurries(episode):
                        return self._hurry()
                    asks = self._orders.ask == ALWAYS or bool(hold and self._orders.ask != NEVER)
                    if self._changes and (asks or self._paused):
                        raise Reread
                    if not asks and not self._paused:
                        left = min(until, time.monotonic() + self._delay) - time.monotonic()
                        if left <= 0:
                            return Answer(PersonSaid.APPROVED if hold else PersonSaid.NOTHING)
                        self._changed.wait(left)
                    elif not asks and self._single_steps > 0:
                        self._single_steps -= 1
                        return Answer(PersonSaid.APPROVED if self._held else PersonSaid.NOTHING)
                    else:
                        self._single_steps = 0
                        now = Paused(hold, self._question, asks)
                        if self._held != now:
                            self._held = now
                            tell(now)
                            continue  # `tell` may already have led to a command
                        self._changed.wait()
                        until = time.monotonic()
        finally:
            with self._changed:
                held, self._held = self._held, None
            if held is not None:
                tell(Resumed())

    def wait_for_resume(self, tell: Callable[[], None] = lambda: None) -> None:
        """Wait until the person resumes, after an error that only a person can fix.

        Args:
            tell: Called before waiting begins. A `resume` during this call is not lost.

        Raises:
            Stopped: The person stopped the session.
        """
        with self._changed:
            self._come_back()
            self._mending = True
        tell()
        with self._changed:
            try:
                while self._paused and self._single_steps == 0:
                    if self._stopped:
                        raise StopRequested
                    self._changed.wait()
            finally:
                self._single_steps, self._mending = 0, False

    # ------------------------------------------------------------------------------- with the lock held

    def _come_back(self) -> None:
        """Pause, and end what was handed over."""
        self._paused, self._fast_until, self._handed_steps, self._single_steps = True, None, 0, 0

    def _command(self, episode: int) -> Answer | None:
        """Return or raise what the person said, None if they said nothing."""
        if self._stopped:
            raise StopRequested
        if self._take_back:
            self._take_back = False
            self._overrides.clear()
            raise TakeBack
        if self._reread:
            self._reread = False
            raise Reread
        ended, self._end_episode = self._end_episode, 0
        if ended == episode:
            raise EndEpisode
        if self._redo:
            self._redo = False
            return Answer(PersonSaid.REDO)
        if self._answer is not None:
            return self._answer
        if self._overrides:
            return Answer(PersonSaid.INSTEAD, self._overrides.popleft())
        return None

    def _hurries(self, episode: int) -> bool:
        """Return whether a decision of this episode is handed over."""
        return self._handed_steps > 0 or (self._fast_until is not None and episode <= self._fast_until)

    def _hurry(self) -> Answer:
        """Count a decision that is handed over; after the last step, wait again."""
        if self._handed_steps > 0:
            self._handed_steps -= 1
            self._paused = self._paused or self._handed_steps == 0
        return Answer(PersonSaid.HANDED_OVER, self._handed) if self._held is not None else Answer()
